"""Stage 1: candidate documents from the claim alone (paper, section 4: BM25 and GENRE)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from admiral.protocols import Bm25Index, GraphSearch, HopRetriever
from admiral.records import DocumentSet, ScoredTitle

# The usual constant of reciprocal rank fusion (Cormack et al., 2009).
_RRF_K = 60
# The assumed probability that a claim is about a document that it mentions. On HoVer's development
# claims, all values from 0.5 to 0.9 work equally well.
_MENTION_PROBABILITY = 0.75
# Number of documents of the graph that vote, and the weight of the first of them.
_GRAPH_DOCUMENTS = 100
_GRAPH_WEIGHT = 1.0


class Bm25FirstStage:
    """Find candidates by BM25 over titles and texts."""

    def __init__(self, index: Bm25Index) -> None:
        self._index = index

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim with their BM25 scores; ignore the mentions."""
        return self._index.search(claims, k)


class FusedFirstStage:
    """Fuse BM25 with the titles that a claim mentions and the titles generated from it (hop 0).

    Reciprocal rank fusion, extended by probabilities: each document that BM25 returns scores
    ``1 / (60 + rank)``, and each mentioned or generated title adds the score of rank 1 times its
    probability. Titles that the model is unsure about thus hardly change the ranking. With a graph,
    the documents close to the claim vote like those of BM25.

    - `generator`: the hop retriever that generates titles from the claim alone (hop 0); None to
      skip this.
    - `graph`: ranks documents by their proximity to the claim; None to skip this.
    """

    def __init__(
        self,
        index: Bm25Index,
        generator: HopRetriever | None = None,
        graph: GraphSearch | None = None,
    ) -> None:
        self._index, self._generator, self._graph = index, generator, graph

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim with their fused scores."""
        rankings = self._index.search(claims, k)
        generated: Sequence[Sequence[DocumentSet]] = [()] * len(claims)
        if self._generator is not None:
            generated = self._generator.expand(claims, [() for _ in claims], [0] * len(claims))
        close: Sequence[Sequence[str]] = [()] * len(claims)
        if self._graph is not None:
            close = self._graph.rank(claims, [() for _ in claims], _GRAPH_DOCUMENTS)
        return [
            fuse(
                [hit.title for hit in ranking],
                [
                    *((title, _MENTION_PROBABILITY) for title in titles),
                    *((s.titles[-1], math.exp(s.score)) for s in document_sets),
                    *(
                        (title, _GRAPH_WEIGHT * (_RRF_K + 1) / (_RRF_K + r))
                        for r, title in enumerate(in_graph, 1)
                    ),
                ],
            )[:k]
            for ranking, titles, document_sets, in_graph in zip(
                rankings, mentions, generated, close, strict=True
            )
        ]


def fuse(ranking: Sequence[str], probabilities: Iterable[tuple[str, float]]) -> list[ScoredTitle]:
    """Fuse a ranking with (title, probability) pairs; see `FusedFirstStage` for the formula.

    Best first. Ties keep the order in which the titles first occur.
    """
    scores = {title: 1.0 / (_RRF_K + rank) for rank, title in enumerate(ranking, start=1)}
    for title, probability in probabilities:
        scores[title] = scores.get(title, 0.0) + probability / (_RRF_K + 1)
    return [ScoredTitle(t, s) for t, s in sorted(scores.items(), key=lambda item: -item[1])]
