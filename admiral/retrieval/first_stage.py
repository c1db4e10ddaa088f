"""Stage 1: candidate documents from the claim alone (paper, section 4: BM25 and GENRE)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from admiral.protocols import Bm25Index, HopRetriever
from admiral.records import DocumentSet, ScoredTitle
from admiral.retrieval.mentions import MentionFinder

# The usual constant of reciprocal rank fusion (Cormack et al., 2009).
_FUSION = 60
# How probable it is that a claim that names a title is about it. On HoVer's development claims
# anything from 0.5 to 0.9 does equally well.
_NAMED = 0.75


class Bm25FirstStage:
    """Candidates by BM25 over titles and texts."""

    def __init__(self, index: Bm25Index) -> None:
        self._index = index

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each claim with their BM25 scores, best first."""
        return self._index.search(claims, k)


class FusedFirstStage:
    """BM25 together with titles that the claim names, and titles generated from it (hop 0).

    Each document of BM25 votes by its reciprocal rank; a named or generated title has the vote of a
    first place times its probability, so that an unsure model moves nothing.

    Parameters
    ----------
    index
        The BM25 index.
    generator
        The hop retriever, asked for hop 0; None to do without.
    mentions
        Finds the titles that a claim names; None to do without.
    """

    def __init__(
        self,
        index: Bm25Index,
        generator: HopRetriever | None = None,
        mentions: MentionFinder | None = None,
    ) -> None:
        self._index, self._generator, self._mentions = index, generator, mentions

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each claim with their fused scores, best first."""
        found = self._index.search(claims, k)
        generated: Sequence[Sequence[DocumentSet]] = [()] * len(claims)
        if self._generator is not None:
            generated = self._generator.expand(claims, [() for _ in claims], [0] * len(claims))
        named: Sequence[Sequence[str]] = [()] * len(claims)
        if self._mentions is not None:
            named = [self._mentions.in_text(claim) for claim in claims]
        return [
            fuse([c.title for c in bm25], [*_named(titles), *_probable(sets)])[:k]
            for bm25, titles, sets in zip(found, named, generated, strict=True)
        ]


def fuse(ranking: Sequence[str], titles: Iterable[tuple[str, float]]) -> list[ScoredTitle]:
    """Merge a ranking and titles with probabilities; ties go to the title that was met first."""
    scores = {title: 1.0 / (_FUSION + rank) for rank, title in enumerate(ranking, start=1)}
    for title, probability in titles:
        scores[title] = scores.get(title, 0.0) + probability / (_FUSION + 1)
    return [ScoredTitle(t, s) for t, s in sorted(scores.items(), key=lambda item: -item[1])]


def _probable(generated: Sequence[DocumentSet]) -> list[tuple[str, float]]:
    return [(found.titles[-1], math.exp(found.score)) for found in generated]


def _named(named: Sequence[str]) -> list[tuple[str, float]]:
    return [(title, _NAMED) for title in named]
