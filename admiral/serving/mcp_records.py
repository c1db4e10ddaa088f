"""What the tools of the MCP server return; short enough for the context of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from admiral.records import RetrievalResult, Sentence, judgement_json
from admiral.serving.judgement_models import ConflictRecord, ProofStepRecord, VerdictRecord
from admiral.serving.request_models import Text
from proofs import Judgement

_LONGEST_TEXT = 1_000


class GivenEvidence(BaseModel):
    """A sentence to prove a claim from."""

    title: str = Field("", description="Title of its document.")
    text: Text = Field(description="The sentence.")


class NumberedSentence(BaseModel):
    """A sentence of a document."""

    sentence_id: int = Field(description="Number of the sentence, from 0.")
    text: str


class EvidenceSentence(NumberedSentence):
    """A sentence of the evidence, or one that matches a query best."""

    title: str = Field(description="Title of its document, for read_document.")


class Step(ProofStepRecord):
    """A step of a proof, also in words."""

    words: str = Field(description="The step as a sentence.")


class ProofRecord(BaseModel):
    """What given evidence proves; the words of a program, which may be wrong."""

    verdict: VerdictRecord | None = Field(description="Null if the text is no claim.")
    sufficient: bool = Field(description="Whether the evidence is enough for a verdict.")
    proof: list[Step] = Field(description="The steps of the proof.")
    missing: list[str] = Field(description="Questions that the evidence leaves open.")
    comparisons: list[str] = Field(description="Values compared exactly, which decided.")
    conflict: ConflictRecord | None = Field(description="Sentences that contradict each other.")
    warnings: list[str] = Field(description="Why there is no verdict, or what was not read.")


class EvidencePage(ProofRecord):
    """The evidence for a claim, and a part of the ranking of documents."""

    claim: str
    stopped: str = Field(description="sufficient, max_hops or dead_end.")
    evidence: list[EvidenceSentence]
    documents: list[str] = Field(description="Titles, best first.")
    next_cursor: str | None = Field(description="For more documents; null at the end.")


class SearchPage(BaseModel):
    """Documents, each with the sentence that matches best."""

    documents: list[EvidenceSentence]
    next_cursor: str | None = Field(description="For more documents; null at the end.")


class DocumentPage(BaseModel):
    """Sentences of a document."""

    title: str
    source: str = Field(description="File or address that it was read from, if known.")
    total_sentences: int
    sentences: list[NumberedSentence]
    next_cursor: str | None = Field(description="For more sentences; null at the end.")


class CitationCheck(BaseModel):
    """Whether a source supports a claim."""

    decision: str = Field(description="keep, flag, or not_checked: the source says nothing.")
    finding: str | None = Field(
        description="supported, partly, contradicted or not_found; null if it was not checked."
    )
    summary: str = Field(description="The decision and its reason.")
    status: str = Field(description="scored, or why the source was not checked.")
    probability: float | None = Field(description="Estimated probability of full support.")
    passage: str = Field(description="The passage that supports the claim best.")
    missing: list[str] = Field(description="What of the claim the source surely lacks.")
    denied_by: str = Field(description="The sentence that denies the claim; empty without one.")


def evidence_page(
    result: RetrievalResult, start: int, limit: int, next_cursor: str | None
) -> EvidencePage:
    """Return a page of a result, with the documents from `start` on."""
    judged = result.judgement or Judgement(False, None)
    pairs = [(sentence.title, sentence.text) for sentence in result.evidence]
    return EvidencePage(
        **judgement_fields(judged, pairs),
        claim=result.claim.text,
        warnings=list(result.warnings),
        stopped=result.stopped,
        evidence=[evidence_sentence(sentence) for sentence in result.evidence],
        documents=[each.title for each in result.documents[start : start + limit]],
        next_cursor=next_cursor,
    )


def evidence_sentence(sentence: Sentence) -> EvidenceSentence:
    """Return a sentence; a long one is cut."""
    text = shortened(sentence.text)
    return EvidenceSentence(title=sentence.title, sentence_id=sentence.index, text=text)


def judgement_fields(judgement: Judgement, evidence: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a `ProofRecord` that a judgement has, without warnings."""
    record, proof = judgement_json(judgement), judgement.proof
    words = [] if proof is None else proof.in_words(evidence)
    questions = [] if proof is None else proof.questions()
    steps = zip(record["proof"] or (), words, strict=True)
    return {
        "verdict": record["verdict"],
        "sufficient": judgement.sufficient,
        "proof": [{**step, "words": sentence} for step, sentence in steps],
        "missing": [question or span for span, question in questions],
        "comparisons": [one.reason for one in judgement.comparisons],
        "conflict": record.get("conflict"),
    }


def shortened(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
