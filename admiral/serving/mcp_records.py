"""What the tools of the MCP server return; short enough for the context of a model."""

from __future__ import annotations

from pydantic import BaseModel, Field

from admiral.records import RetrievalResult, Sentence
from admiral.serving.request_models import Text
from proofs import Proof

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


class ProofRecord(BaseModel):
    """What given evidence proves; the words of a program, which may be wrong."""

    verdict: str | None = Field(description="SUPPORTS, REFUTES or NOT ENOUGH INFO.")
    probability: float | None = Field(description="Probability of the verdict, if estimated.")
    sufficient: bool = Field(description="Whether the evidence covers the claim.")
    proof: list[str] = Field(description="The steps in words, with the titles of the documents.")
    missing: list[str] = Field(description="Questions that the evidence leaves open.")
    comparisons: list[str] = Field(description="Values compared exactly, which decided.")
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
    status: str = Field(description="scored, or why the source was not checked.")
    probability: float | None = Field(description="Estimated probability of full support.")
    passage: str = Field(description="The passage that supports the claim best.")
    missing: list[str] = Field(description="Words of the claim that the source does not cover.")


def evidence_page(
    result: RetrievalResult, start: int, limit: int, next_cursor: str | None
) -> EvidencePage:
    """Return a page of a result, with the documents from `start` on."""
    last = result.hops[-1] if result.hops else None
    verdict, verdicts = result.verdict, result.verdicts
    return EvidencePage(
        claim=result.claim.text,
        verdict=None if verdict is None else verdict.value,
        probability=None if verdicts is None or verdict is None else round(verdicts[verdict], 4),
        sufficient=last is not None and last.sufficient,
        proof=proof_words(last.proof if last else None, sentence_pairs(result.evidence)),
        missing=open_questions(last.proof if last else None),
        comparisons=[one.reason for one in last.comparisons] if last else [],
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


def sentence_pairs(evidence: tuple[Sentence, ...]) -> list[tuple[str, str]]:
    """Return the pairs of title and text."""
    return [(sentence.title, sentence.text) for sentence in evidence]


def proof_words(proof: Proof | None, evidence: list[tuple[str, str]]) -> list[str]:
    """Return the steps of a proof in words; none without a proof."""
    return [] if proof is None else proof.in_words(evidence)


def open_questions(proof: Proof | None) -> list[str]:
    """Return what a proof leaves open, as questions where there are any."""
    return [] if proof is None else [question or span for span, question in proof.questions()]


def shortened(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
