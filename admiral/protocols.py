"""The four stages of the method as protocols; any object with these methods may stand in.

All methods take and return batches: position ``i`` of the result answers position ``i`` of the
input, and a batch gives the same answers as its members one at a time. Where claims travel in
batches, several threads may call them. Scores are finite numbers of any kind; what a stage scores
minus infinity is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from admiral.records import Document, DocumentSet, ScoredTitle, Sentence
from proofs import Judgement


class Bm25Index(Protocol):
    """A BM25 index over the titles and texts of a knowledge base."""

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each query, best first; ties are broken by row."""
        ...

    def close(self) -> None:
        """Release files and threads; the index may not be used afterwards."""
        ...


class FirstStage(Protocol):
    """Stage 1: candidate documents from the claim alone."""

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each claim, best first."""
        ...


class SentenceReranker(Protocol):
    """Stage 2: score every sentence of the candidate documents."""

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with scores, best first.

        `evidence` holds what was already chosen for each claim at earlier hops (empty at hop 1).
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
        """Return document sets of size ``hop + 1`` (hop 0: single documents from the claim).

        Each claim is at a hop of its own.

        An empty list is a dead end: no legal set exists for that claim.
        """
        ...
