"""The typed records that travel between the stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from admiral.errors import AdmiralError
from proofs import Proof

T = TypeVar("T")

Stopped = Literal["sufficient", "max_hops", "dead_end"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to be verified; `id` is unique within a run."""

    id: str
    text: str


def given_claim(claim: str | Claim, number: int) -> Claim:
    """Return a claim that a program gives; one that is text has its place, `number`, for an id.

    Raises
    ------
    AdmiralError
        If it is neither.
    """
    if isinstance(claim, str):
        return Claim(str(number), claim)
    if isinstance(claim, Claim):
        return claim
    raise AdmiralError(f"claim {number}: is of type {type(claim).__name__}; give a text or a Claim")


def several(claims: T) -> T:
    """Return claims as they are; `AdmiralError` for one text, which is no list of its letters."""
    if isinstance(claims, str):
        raise AdmiralError("claims: is a single text; give a list of claims, or use retrieve")
    return claims


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the knowledge base.

    Attributes
    ----------
    title
        Unique within a knowledge base.
    sentences
        In the order of the source; may be empty.
    links
        For each sentence, the titles that it links to; empty where the corpus has no hyperlinks.
    """

    title: str
    sentences: tuple[str, ...]
    links: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document with its score; higher is more relevant.

    That is the reranker's; of evidence it counts what is known of the document, too.
    """

    title: str
    index: int
    text: str
    score: float = 0.0

    @property
    def key(self) -> tuple[str, int]:
        """The pair (title, sentence index) that identifies the sentence in its knowledge base."""
        return self.title, self.index


@dataclass(frozen=True, slots=True)
class ScoredTitle:
    """A document named by its title, with a stage's score (higher is better)."""

    title: str
    score: float


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """A set of documents scored jointly.

    `titles` are in the order in which they were found: those of the chosen sentences first, the
    generated one last. `score` is a natural log probability (paper, equations 1 and 2) from hop 2
    on and the first stage's score at hop 1.
    """

    titles: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Hop:
    """What one hop did: its document sets, the sentences kept, the proof and the decision.

    `read` holds the documents whose sentences were scored, that of the best sentence first.
    """

    number: int
    document_sets: tuple[DocumentSet, ...]
    evidence: tuple[Sentence, ...]
    proof: Proof | None
    sufficient: bool
    seconds: float
    read: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The parts of the claim that the evidence does not cover yet; None without a proof."""
        return None if self.proof is None else self.proof.missing


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document of the final ranking and the hop that spoke for it most (0: the first stage)."""

    title: str
    score: float
    hop: int


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The answer for one claim.

    Attributes
    ----------
    documents
        Best first, without repetition.
    evidence
        The last hop's sentences, best first.
    hops
        Every hop in order.
    stopped
        ``sufficient`` (the judge was content), ``max_hops``, or ``dead_end`` (nothing to go on).
    warnings
        What the reader should know, such as a claim that is longer than a stage can read.
    """

    claim: Claim
    documents: tuple[RankedDocument, ...]
    evidence: tuple[Sentence, ...]
    hops: tuple[Hop, ...]
    stopped: Stopped
    warnings: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the record that the command line writes (one JSON object per claim)."""
        record: dict[str, Any] = {
            "id": self.claim.id,
            "claim": self.claim.text,
            "documents": [
                {"title": d.title, "score": round(d.score, 6), "hop": d.hop} for d in self.documents
            ],
            "evidence": [
                {
                    "title": s.title,
                    "sentence_id": s.index,
                    "text": s.text,
                    "score": round(s.score, 6),
                }
                for s in self.evidence
            ],
            "hops": [_hop_json(hop) for hop in self.hops],
            "stopped": self.stopped,
        }
        if self.warnings:
            record["warnings"] = list(self.warnings)
        return record


def _hop_json(hop: Hop) -> Mapping[str, Any]:
    return {
        "number": hop.number,
        "document_sets": [
            {"titles": list(s.titles), "score": round(s.score, 6)} for s in hop.document_sets
        ],
        "read": list(hop.read),
        "evidence": [[s.title, s.index] for s in hop.evidence],
        "proof": None if hop.proof is None else hop.proof.to_json(),
        "sufficient": hop.sufficient,
        "missing": None if hop.missing is None else list(hop.missing),
        "seconds": round(hop.seconds, 4),
    }
