"""JSON records of what graph retrieval finds, for the command line and the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from admiral.kb import KnowledgeBase
from admiral.records import ScoredTitle, Sentence


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


def sentences_at(kb: KnowledgeBase, places: Sequence[tuple[int, int]]) -> list[Sentence]:
    """Return the sentences at pairs of a row and a number."""
    return [
        Sentence(document.title, number, document.sentences[number])
        for row, number in places
        for document in [kb.document_at(row)]
    ]
