"""The stages of the method as protocols: any object with these methods can replace a stage.

Methods take and return batches: item ``i`` of the result belongs to item ``i`` of the input.
Several threads may call a stage at the same time. Scores are finite numbers on any scale; entries
with a score of minus infinity are left out. A stage may state the limits of its input
(`claim_limits`, `max_evidence`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from admiral.records import Claim, Document, DocumentSet, Proximity, ScoredTitle, Sentence
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


class FirstStage(Protocol):
    """Stage 1: find candidate documents from the claim alone."""

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim, best first.

        `mentions`: the titles that each claim mentions, left to right.
        `k`: maximum number of titles per claim.
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


class Graph(Protocol):
    """Find documents that are close to claims and evidence in a graph of documents."""

    def rank(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], k: int
    ) -> list[list[str]]:
        """Return the titles of the best `k` documents for each claim, none of its evidence."""
        ...

    def proximity(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[dict[str, Proximity]]:
        """Return the proximity of the given titles, for each claim and its evidence."""
        ...


def claim_limits(stage: object) -> Mapping[str, int]:
    """Return how many tokens of a claim each model of a stage reads, by its name in warnings."""
    limits: Mapping[str, int] = getattr(stage, "claim_limits", {})
    return limits


def max_evidence(stage: object) -> int | None:
    """Return how many evidence sentences a stage accepts; None for any number."""
    limit: int | None = getattr(stage, "max_evidence", None)
    return limit
