"""Rank documents and sentences for a claim by personalised PageRank on the mention graph.

A step leads from a document to one that it mentions or that mentions it, through the sentence of
the mention. An edge weighs as much as its mention (`mention_weights`) times the inverse frequency
of its target, so that common entities attract little but are never dropped.

Pushing (Andersen, Chung and Lang, "Local Graph Partitioning using PageRank Vectors", 2006) starts
with the mass of the seeds as residual. A push turns the share `restart` of a document's residual
into its score and spreads the rest over its edges. Documents are pushed while their residual
exceeds `tolerance` per edge, so at most ``1 / (restart * tolerance)`` edges are visited, whatever
the size of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.entity_linking import EntityLinker
from admiral.graph.mention_graph import MentionGraph, mention_weights, sentences_at
from admiral.kb import KnowledgeBase
from admiral.records import ScoredTitle, Sentence


class PageRank(NamedTuple):
    """Scores of the documents and sentences that were reached."""

    # rows, scores: documents, ascending, and their scores. The scores and `residual` sum to 1; each
    # score is at most the exact one, and all of them together are less by `residual`.
    rows: np.ndarray
    scores: np.ndarray
    # the parts of the scores that are due to other documents: without what a seed would have if
    # nothing led to it. 0 for a seed that nothing leads to.
    arrivals: np.ndarray
    # frames, flows: sentences, ascending, and the mass that was spread through each of them
    frames: np.ndarray
    flows: np.ndarray
    residual: float  # mass that was not pushed
    edges: int


def inverse_frequency(frequency: np.ndarray) -> np.ndarray:
    """Return the weights of entities, ``1 / log2(2 + frequency)``, by their number of mentions."""
    weights: np.ndarray = 1 / np.log2(2.0 + frequency)
    return weights


def personalised_pagerank(
    graph: MentionGraph,
    seeds: dict[int, float],
    *,
    restart: float = 0.5,
    tolerance: float = 1e-5,
    link_weight: float = 1.0,
) -> PageRank:
    """Return the approximate personalised PageRank of the documents around the seeds.

    - `seeds`: positive weights of rows. They are scaled to sum to 1.
    - `restart`: probability that the walk returns to the seeds at each step, above 0 and below 1.
    - `tolerance`: largest residual per edge that is not pushed, above 0.
    - `link_weight`: weight of hyperlinks; a mention weighs one over its number of readings.
    """
    rows = np.array(sorted(seeds), dtype=np.int64)
    residual = np.array([seeds[row] for row in rows.tolist()], dtype=np.float64)
    residual /= max(residual.sum(), np.finfo(np.float64).tiny)
    starts, own = rows, restart * residual
    scored: list[tuple[np.ndarray, np.ndarray]] = []
    flowed: list[tuple[np.ndarray, np.ndarray]] = []
    visited = 0
    while len(rows):
        active = residual > tolerance * np.maximum(_edge_counts(graph, rows), 1)
        if not active.any():
            break
        pushed, mass = rows[active], residual[active]
        edges = _edges(graph, pushed, link_weight)
        visited += len(edges.source)
        totals = np.bincount(edges.source, edges.weights, minlength=len(pushed))
        dead_end = totals == 0  # the walk ends there
        scored.append((pushed, np.where(dead_end, mass, restart * mass)))
        own[np.isin(starts, pushed[dead_end])] /= restart
        spread = (1 - restart) * mass / np.where(dead_end, 1.0, totals)
        flow = spread[edges.source] * edges.weights
        flowed.append((edges.frames, flow))
        rows, residual = _sum_by(
            np.concatenate([rows[~active], edges.targets]),
            np.concatenate([residual[~active], flow]),
        )
    # A push of the rest would give its documents at least this much.
    scored.append((rows, restart * residual))
    documents, scores = _sum_by(*map(np.concatenate, zip(*scored, strict=True)))
    frames, flows = _sum_by(
        np.concatenate([np.empty(0, np.int64), *(frames for frames, _ in flowed)]),
        np.concatenate([np.empty(0), *(flows for _, flows in flowed)]),
    )
    arrivals = scores.copy()
    arrivals[documents.searchsorted(starts)] -= own
    rest = float((1 - restart) * residual.sum())
    return PageRank(documents, scores, np.maximum(arrivals, 0.0), frames, flows, rest, visited)


class _Edges(NamedTuple):
    """Edges of documents: the position of the source, the target, its frame and the weight."""

    source: np.ndarray
    targets: np.ndarray
    frames: np.ndarray
    weights: np.ndarray


def _edge_counts(graph: MentionGraph, rows: np.ndarray) -> np.ndarray:
    counts: np.ndarray = graph.mentions_within(rows) + graph.frequency(rows)
    return counts


def _edges(graph: MentionGraph, rows: np.ndarray, link_weight: float) -> _Edges:
    """Return the edges of documents, in both directions, without loops."""
    own, frames = graph.frames_of(rows)
    outgoing, incoming = graph.entities_in(frames), graph.mentions_of(rows)
    source = np.concatenate([own[outgoing.requests], incoming.requests])
    targets = np.concatenate([outgoing.values, graph.page_of(incoming.values)])
    through = np.concatenate([frames[outgoing.requests], incoming.values])
    kinds = np.concatenate([outgoing.kinds, incoming.kinds])
    leads_on = targets != rows[source]
    source, targets, through = source[leads_on], targets[leads_on], through[leads_on]
    weights = mention_weights(kinds[leads_on], link_weight)
    weights = weights * inverse_frequency(graph.frequency(targets))
    return _Edges(source, targets, through, weights)


def _sum_by(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, ascending, and the sum of the values of each."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    sums = np.bincount(inverse, values, minlength=len(distinct))
    return distinct, sums.astype(np.float64, copy=False)  # of no values, the sums are integers


@dataclass(frozen=True, slots=True)
class PageRankParameters:
    """Parameters of the ranking.

    The defaults of `restart`, `bm25_documents` and `bm25_weight` were chosen on claims of HoVer
    (docs/graph.md).
    """

    restart: float = 0.3  # probability that the walk returns to the seeds at each step
    # largest residual per edge that is left unpushed; smaller is more exact and slower
    tolerance: float = 1e-5
    bm25_documents: int = 20  # number of documents that BM25 adds to the seeds; 0 for none
    # weight of the first of them; the document at rank `r` has the weight ``bm25_weight / r``. An
    # entity of the claim weighs its inverse frequency over its number of readings.
    bm25_weight: float = 0.1
    # weight of hyperlinks; a mention weighs one over its number of readings
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
    """Ranking of the documents and sentences that a claim leads to."""

    documents: tuple[ScoredTitle, ...]
    # sentences of all documents, best first; their text is empty unless it was asked for
    sentences: tuple[Sentence, ...]
    edges: int


class GraphRanker:
    """Rank documents and sentences of a knowledge base by their proximity to a claim.

    `kb`: the open knowledge base. Without a BM25 index, the entities of the claim are the only
    seeds.
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
        sentences = sentences_at(self._kb, places)
        ranked = zip(sentences, scores[order].tolist(), strict=True)
        return tuple(replace(sentence, score=score) for sentence, score in ranked)


def _values_at(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the value of each wanted key, 0 for those that are not among the ascending keys."""
    if not len(keys):
        return np.zeros(len(wanted))
    positions = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[positions] == wanted, values[positions], 0.0)
