"""Stage 1: candidate documents from the claim alone (paper, section 4: BM25 and GENRE)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from admiral.protocols import Bm25Index, HopRetriever
from admiral.records import DocumentSet, ScoredTitle

# The usual constant of reciprocal rank fusion (Cormack et al., 2009).
_FUSION = 60


class Bm25FirstStage:
    """Candidates by BM25 over titles and texts."""

    def __init__(self, index: Bm25Index) -> None:
        self._index = index

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each claim with their BM25 scores, best first."""
        return self._index.search(claims, k)


class FusedFirstStage:
    """BM25 together with titles that the retriever generates from the claim alone (hop 0).

    Each document of BM25 votes by its reciprocal rank; a generated title has the vote of a first
    place times its probability, so that an unsure model moves nothing.

    Parameters
    ----------
    index
        The BM25 index.
    generator
        The hop retriever, asked for hop 0.
    """

    def __init__(self, index: Bm25Index, generator: HopRetriever) -> None:
        self._index, self._generator = index, generator

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each claim with their fused scores, best first."""
        found = self._index.search(claims, k)
        generated = self._generator.expand(claims, [() for _ in claims], 0)
        return [
            fuse([c.title for c in bm25], titles)[:k]
            for bm25, titles in zip(found, generated, strict=True)
        ]


def fuse(ranking: Sequence[str], generated: Sequence[DocumentSet]) -> list[ScoredTitle]:
    """Merge a ranking and generated titles; ties go to the title that was met first."""
    scores = {title: 1.0 / (_FUSION + rank) for rank, title in enumerate(ranking, start=1)}
    for found in generated:
        title = found.titles[-1]
        scores[title] = scores.get(title, 0.0) + math.exp(found.score) / (_FUSION + 1)
    return [ScoredTitle(t, s) for t, s in sorted(scores.items(), key=lambda item: -item[1])]
