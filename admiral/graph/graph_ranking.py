"""Rank documents and sentences for a claim by personalised PageRank on the mention graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.entity_linking import EntityLinker
from admiral.graph.mention_graph import MentionGraph
from admiral.graph.personalised_pagerank import (
    PageRank,
    inverse_frequency,
    personalised_pagerank,
)
from admiral.kb import KnowledgeBase
from admiral.records import ScoredTitle, Sentence


@dataclass(frozen=True, slots=True)
class PageRankParameters:
    """Parameters of the ranking.

    The defaults of `restart`, `bm25_documents` and `bm25_weight` were chosen on claims of HoVer
    (docs/graph.md).

    Attributes
    ----------
    restart
        Probability that the walk returns to the seeds at each step.
    tolerance
        Largest residual per edge that is left unpushed; smaller is more exact and slower.
    bm25_documents
        Number of documents that BM25 adds to the seeds; 0 for none.
    bm25_weight
        Weight of the first of them; the document at rank `r` has the weight ``bm25_weight / r``. An
        entity of the claim weighs its inverse frequency over its number of readings.
    link_weight
        Weight of hyperlinks; a mention weighs one over its number of readings.
    """

    restart: float = 0.3
    tolerance: float = 1e-5
    bm25_documents: int = 20
    bm25_weight: float = 0.1
    link_weight: float = 1.0

    def __post_init__(self) -> None:
        for name, valid, range in (
            ("restart", 0 < self.restart < 1, "between 0 and 1"),
            ("tolerance", 1e-9 <= self.tolerance <= 1, "between 1e-9 and 1"),
            ("bm25_documents", self.bm25_documents >= 0, "0 or more"),
            ("bm25_weight", 0 <= self.bm25_weight < np.inf, "0 or more"),
            ("link_weight", 0 <= self.link_weight < np.inf, "0 or more"),
        ):
            if not valid:
                raise AdmiralError(f"{name}: {getattr(self, name)} is not {range}. Correct it")


DEFAULT_PARAMETERS = PageRankParameters()


@dataclass(frozen=True, slots=True)
class GraphRanking:
    """Ranking of the documents and sentences that a claim leads to.

    Attributes
    ----------
    documents
        Best first.
    sentences
        Sentences of all documents, best first; their text is empty unless it was asked for.
    edges
        Number of edges of the graph that were visited.
    """

    documents: tuple[ScoredTitle, ...]
    sentences: tuple[Sentence, ...]
    edges: int


class GraphRanker:
    """Rank documents and sentences of a knowledge base by their proximity to a claim.

    Parameters
    ----------
    kb
        The open knowledge base. Without a BM25 index, the entities of the claim are the only seeds.
    graph
        Its graph.
    parameters
        Parameters of the ranking.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        graph: MentionGraph,
        parameters: PageRankParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self._kb, self._graph, self._parameters = kb, graph, parameters
        self._linker = EntityLinker(kb, aliases=graph.settings["aliases"])
        self._has_bm25 = kb.settings["bm25"] != "none"

    def rank(self, claim: str, k: int) -> GraphRanking:
        """Return the best `k` documents and `k` sentences for a claim.

        The score of a document is its PageRank. That of a sentence is the mass that the walk
        carried through it, plus its equal share of the score of its document.
        """
        ranks = self.pagerank(self.seeds(claim))
        order = np.argsort(-ranks.scores, kind="stable")[:k]
        documents = tuple(
            ScoredTitle(self._kb.title(row), score)
            for row, score in zip(
                ranks.rows[order].tolist(), ranks.scores[order].tolist(), strict=True
            )
        )
        return GraphRanking(documents, self._sentences(ranks, k), ranks.edges)

    def seeds(self, claim: str) -> dict[int, float]:
        """Return the weights of the documents that the walk starts from, by row.

        These are the documents that the claim names and the first ones that BM25 finds. A claim
        that names nothing has the latter alone.
        """
        entities = self._linker.entities(claim)
        rows = np.array([entity.row for entity in entities], dtype=np.int64)
        weights = inverse_frequency(self._graph.frequency(rows)).tolist()
        seeds = {e.row: weight / e.readings for e, weight in zip(entities, weights, strict=True)}
        if self._has_bm25 and self._parameters.bm25_documents and self._parameters.bm25_weight:
            (found,) = self._kb.search([claim], self._parameters.bm25_documents)
            for rank, scored in enumerate(found, 1):
                row = self._kb.row(scored.title)
                assert row is not None
                seeds[row] = seeds.get(row, 0.0) + self._parameters.bm25_weight / rank
        return seeds

    def pagerank(self, seeds: dict[int, float]) -> PageRank:
        """Return the PageRank around weighted rows, such as those of `seeds`."""
        return personalised_pagerank(
            self._graph,
            seeds,
            restart=self._parameters.restart,
            tolerance=self._parameters.tolerance,
            link_weight=self._parameters.link_weight,
        )

    def _sentences(self, ranks: PageRank, k: int) -> tuple[Sentence, ...]:
        index, frames = self._graph.frames_of(ranks.rows)
        lengths = np.bincount(index, minlength=len(ranks.rows))
        shares = ranks.scores[index] / lengths[index]
        scores = shares + _values_at(ranks.frames, ranks.flows, frames)
        order = np.argsort(-scores, kind="stable")[:k]
        places = self._graph.sentences(frames[order])
        return tuple(
            Sentence(document.title, number, document.sentences[number], score)
            for (row, number), score in zip(places, scores[order].tolist(), strict=True)
            for document in [self._kb.document_at(row)]
        )


def _values_at(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the value of each wanted key, 0 for those that are not among the ascending keys."""
    if not len(keys):
        return np.zeros(len(wanted))
    positions = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[positions] == wanted, values[positions], 0.0)
