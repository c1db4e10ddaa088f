"""The stages of the method as protocols: any object with these methods can replace a stage.

Unless noted otherwise, methods take and return batches: item ``i`` of the result belongs to item
``i`` of the input, and a claim gets the same result in any batch. Several threads may call a stage
at the same time. Scores are finite numbers on any scale; entries with a score of minus infinity are
left out.

A stage may state the limits of its input by the attributes `claim_limits` and `max_evidence`, see
`LimitsClaims` and `LimitsEvidence`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np

from admiral.records import (
    Claim,
    Document,
    DocumentSet,
    Proximity,
    RankedDocument,
    ScoredTitle,
    Sentence,
)
from proofs import Judgement

#: Receives the name of a stage, its seconds, and the number of claims that shared it.
OnTiming = Callable[[str, float, int], None]

#: Receives what a stage that begins does, and the claims that share it.
OnStage = Callable[[str, Sequence[Claim]], object]

# One for each thread, because each thread advances a share of a batch.
_observer: ContextVar[tuple[OnTiming, int] | None] = ContextVar("admiral_timing", default=None)


@contextmanager
def timing_stages(on_timing: OnTiming | None, claims: int) -> Iterator[None]:
    """Report the stages that the calling thread runs during the block."""
    token = _observer.set(None if on_timing is None else (on_timing, claims))
    try:
        yield
    finally:
        _observer.reset(token)


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Measure the block as a stage; one that raises an error is not reported."""
    observer = _observer.get()
    started = time.perf_counter()
    yield
    if observer is not None:
        on_timing, claims = observer
        on_timing(stage, time.perf_counter() - started, claims)


class Documents(Protocol):
    """Documents by title, such as a knowledge base."""

    def document(self, title: str) -> Document:
        """Return the document with this title."""
        ...


class Bm25Index(Protocol):
    """A BM25 index over the titles and texts of a knowledge base."""

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each query, best first; ties are broken by row."""
        ...

    def close(self) -> None:
        """Release files and threads; the index must not be used afterwards."""
        ...


class MentionFinder(Protocol):
    """Find the documents that texts mention. The methods take one text, or one claim's evidence."""

    def in_text(self, text: str) -> list[str]:
        """Return the titles that a text mentions, in order, each once."""
        ...

    def in_evidence(self, evidence: Sequence[Sentence]) -> list[str]:
        """Return the titles that evidence mentions, the most important first, each once."""
        ...


class GraphSearch(Protocol):
    """Find documents that are close to claims and evidence in a graph of documents."""

    def rank(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], k: int
    ) -> list[list[str]]:
        """Return the titles of the best `k` documents for each claim, none of its evidence."""
        ...


class GraphProximity(Protocol):
    """Stage 4: measure how close documents are to claims and evidence in a graph of documents."""

    def proximity(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[dict[str, Proximity]]:
        """Return the proximity of the given titles, for each claim and its evidence."""
        ...


class FirstStage(Protocol):
    """Stage 1: find candidate documents from the claim alone."""

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim, best first.

        `mentions`: the titles that each claim mentions, as `MentionFinder.in_text` returns them.
        `k`: maximum number of titles per claim.
        """
        ...


class DocumentReader(Protocol):
    """Stage 2: choose what a hop reads of each document."""

    def read(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[list[Document]]:
        """Return the documents for each claim; sentences that are not read are blank.

        `evidence`: the sentences that earlier hops have chosen for each claim; none at hop 1.
        `titles`: the titles of the documents to read for each claim, each once.
        """
        ...


class SentenceReranker(Protocol):
    """Stage 2: score every sentence of the candidate documents."""

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with scores, best first.

        Sentences that are left out do not become evidence; at least one has to be returned for each
        claim that has documents. `documents`: the documents to read for each claim. Blank sentences
        are skipped. `evidence`: the sentences that earlier hops have chosen for each claim; none at
        hop 1.
        """
        ...


class SentenceVectors(Protocol):
    """Vectors of sentences that are stored with their documents, such as in a knowledge base."""

    def unit_vectors(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """Return float32, (sentences, width); zero for a sentence whose vector is not stored."""
        ...


class SufficiencyJudge(Protocol):
    """Stage 3: decide whether the evidence is enough to verify the claim, and say why."""

    def judge(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[Judgement]:
        """Judge each claim against its evidence, a sequence of (title, sentence) pairs."""
        ...


class HopRetriever(Protocol):
    """Stage 4: find the next documents, scored jointly with the evidence chosen so far."""

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return document sets of size ``hop + 1`` for each claim, best first.

        `evidence`: the evidence of each claim's last hop. `hops`: how many hops each claim has
        completed. Hop 0 generates single documents from the claim. Returns for each claim, its
        document sets; none if the search has reached a dead end.
        """
        ...


class DocumentScorer(Protocol):
    """Stage 5: score documents by their `FEATURES` (`admiral.retrieval.document_ranking`)."""

    def score(self, features: Sequence[float]) -> float:
        """Return the relevance of a document; higher is more relevant."""
        ...

    def rank(
        self, documents: Sequence[RankedDocument], features: Mapping[str, Sequence[float]]
    ) -> list[RankedDocument]:
        """Return ranked documents in a new order with new scores.

        `documents`: the documents in the order of `admiral.retrieval.document_ranking`. `features`:
        the features of each document, by title.
        """
        ...


@runtime_checkable
class LimitsClaims(Protocol):
    """A stage with models that read only the beginning of a long claim."""

    @property
    def claim_limits(self) -> Mapping[str, int]:
        """Number of tokens of a claim that each model reads, by its name in warnings."""
        ...


@runtime_checkable
class LimitsEvidence(Protocol):
    """A stage that accepts a limited number of evidence sentences."""

    @property
    def max_evidence(self) -> int | None:
        """Number of evidence sentences; None for any number."""
        ...


def claim_limits(stage: object) -> Mapping[str, int]:
    """Return the claim limits of a stage; empty if it states none."""
    return stage.claim_limits if isinstance(stage, LimitsClaims) else {}


def max_evidence(stage: object) -> int | None:
    """Return the number of evidence sentences that a stage accepts; None if it states no limit."""
    return stage.max_evidence if isinstance(stage, LimitsEvidence) else None


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a system; use `dataclasses.replace` to try another one."""

    first_stage: FirstStage
    reranker: SentenceReranker
    judge: SufficiencyJudge  # decides whether the evidence is sufficient
    hop_retriever: HopRetriever  # finds the documents of the next hop
    # finds the documents that claims and evidence mention; None to ignore mentions
    mention_finder: MentionFinder | None = None
    # scores documents by their features, for the choice of evidence and the final ranking; None to
    # choose evidence by sentences alone and to rank by `admiral.retrieval.document_ranking`
    document_scorer: DocumentScorer | None = None
    # chooses the sentences of long documents that a hop reads; None to read whole documents
    document_reader: DocumentReader | None = None
    # finds documents that are close to the evidence, for the next hop to read; None to do without
    graph: GraphSearch | None = None
    # measures how close documents are to the claim and the evidence, for the features of the
    # document scorer; None to do without
    graph_proximity: GraphProximity | None = None

    @property
    def claim_limits(self) -> Mapping[str, int]:
        """The claim limits of all stages."""
        limits: dict[str, int] = {}
        for field in fields(self):
            limits.update(claim_limits(getattr(self, field.name)))
        return limits

    @property
    def max_evidence(self) -> int | None:
        """The number of evidence sentences that every stage accepts; None for any number."""
        limits = [max_evidence(getattr(self, field.name)) for field in fields(self)]
        return min((limit for limit in limits if limit is not None), default=None)
