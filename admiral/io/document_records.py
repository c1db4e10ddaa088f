"""JSON records of documents, results and judgements, for commands and the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from admiral.records import (
    Document,
    ScoredTitle,
    Sentence,
    comparisons_json,
    probabilities_json,
)
from proofs import Judgement
from proofs.judges.judgement import form_warning


def document_record(document: Document) -> dict[str, Any]:
    """Return a document; fields that it does not have are left out."""
    record: dict[str, Any] = {"title": document.title, "sentences": document.sentences}
    for field in ("id", "links", "source", "sections"):
        if value := getattr(document, field):
            record[field] = value
    return record


def search_record(
    rank: int, scored: ScoredTitle, document: Document, sentence: Sentence | None
) -> dict[str, Any]:
    """Return a document that BM25 has found, with its rank and the sentence that matches best."""
    return {
        "rank": rank,
        "title": scored.title,
        **({"id": document.id} if document.id else {}),
        "score": round(scored.score, 6),
        "sentence_id": None if sentence is None else sentence.index,
        "text": None if sentence is None else sentence.text,
        **({"source": document.source} if document.source else {}),
    }


def ranking_record(
    documents: Sequence[ScoredTitle], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Return a ranking of documents and of sentences."""
    ranked = [{"title": d.title, "score": round(d.score, 9)} for d in documents]
    return {"documents": ranked, "sentences": [graph_sentence(each) for each in sentences]}


def set_record(summary: Mapping[str, Any], sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return the sizes of a set and the sentences of it that are shown."""
    return {**summary, "shown": [graph_sentence(each) for each in sentences]}


def graph_sentence(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence, with its score unless that is 0."""
    record: dict[str, Any] = {
        "title": sentence.title,
        "sentence_id": sentence.index,
        "text": sentence.text,
    }
    return {**record, "score": round(sentence.score, 9)} if sentence.score else record


def judgement_record(
    claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement
) -> dict[str, Any]:
    """Return the judgement of a claim with the (title, sentence) pairs that it was proved from."""
    proof, verdict, missing = judgement.proof, judgement.verdict, judgement.missing
    record: dict[str, Any] = {
        "claim": claim,
        "evidence": [{"title": title, "text": text} for title, text in evidence],
        "sufficient": judgement.sufficient,
        "verdict": None if verdict is None else verdict.value,
        "missing": None if missing is None else list(missing),
        "proof": None if proof is None else proof.to_json(),
    }
    if judgement.probability is not None and judgement.verdicts is not None:
        record["probability"] = round(judgement.probability, 6)
        record["verdict_probabilities"] = probabilities_json(judgement.verdicts)
    if warning := form_warning(claim):
        record["warnings"] = [warning]
    return {**record, **comparisons_json(judgement.comparisons)}
