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

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

import numpy as np

from admiral.graph.mention_graph import MentionGraph, mention_weights, sentences_at
from admiral.kb import KnowledgeBase
from admiral.records import Proximity, ScoredTitle, Sentence
from admiral.retrieval.document_ranking import MIN_PROXIMITY
from admiral.retrieval.first_stage import find_names

#: Number of documents that an ambiguous name stands for at most.
MAX_READINGS = 4
_CACHED_NAMES = 2**17


@dataclass(frozen=True, slots=True)
class Entity:
    """A document that a text names."""

    row: int
    title: str
    # number of documents that the name stands for, 1 to `MAX_READINGS`; the fewest, if several
    # names stand for the document
    readings: int
    # number of the first name in the text that stands for it, from 0. Entities with the same number
    # are readings of one name.
    name: int


class EntityLinker:
    """Find the documents that texts name by the longest title, without context.

    A name with several possible titles ("Alien") stands for all of them, at most `MAX_READINGS`:
    the exact title first, then titles that add a qualifier. `readings`: number of documents that a
    name stands for at most; 1 for its best reading only.
    """

    def __init__(
        self, kb: KnowledgeBase, *, aliases: bool = True, readings: int = MAX_READINGS
    ) -> None:
        # It has the methods of a knowledge base that finding names takes.
        self._names = cast(KnowledgeBase, _CachedNames(kb))
        self._aliases, self._readings = aliases, readings

    def mentions(self, text: str) -> list[tuple[int, ...]]:
        """Return the rows that each name in a text stands for, from left to right."""
        mentions = find_names(self._names, text, aliases=self._aliases)
        rows = ((self._names.row(t) for t in m.titles[: self._readings]) for m in mentions)
        return [tuple(row for row in each if row is not None) for each in rows]

    def entities(self, text: str) -> list[Entity]:
        """Return the documents that a text names, each once, in the order of their first name."""
        numbers: dict[tuple[int, ...], int] = {}
        entities: dict[int, Entity] = {}
        for rows in self.mentions(text):
            name = numbers.setdefault(rows, len(numbers))
            for row in rows:
                known = entities.get(row)
                if known is None:
                    entities[row] = Entity(row, self._names.title(row), len(rows), name)
                elif len(rows) < known.readings:
                    entities[row] = Entity(row, known.title, len(rows), known.name)
        return list(entities.values())


class _CachedNames:
    """Titles and aliases of a knowledge base; the lookups of frequent names are cached."""

    def __init__(self, kb: KnowledgeBase) -> None:
        def completions(prefix: str) -> tuple[tuple[str, int], ...]:
            return tuple(islice(kb.complete(prefix), MAX_READINGS))

        self.row = lru_cache(_CACHED_NAMES)(kb.row)
        self.title = lru_cache(_CACHED_NAMES)(kb.title)
        self.aliases_beginning = kb.aliases_beginning
        self.has_aliases_with = lru_cache(_CACHED_NAMES)(kb.has_aliases_with)
        self._completions = lru_cache(_CACHED_NAMES)(completions)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        return iter(self._completions(prefix))


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


# Weight of the first document of the evidence among the seeds of a walk; a claim's entity weighs
# less than 1.
_EVIDENCE_WEIGHT = 1.0
# The next hop needs the walk from the evidence again.
_CACHED_WALKS = 64


class GraphCandidates:
    """Find documents by personalised PageRank around claims and their evidence."""

    def __init__(self, kb: KnowledgeBase, graph: MentionGraph) -> None:
        self._kb, self._graph, self._ranker = kb, graph, GraphRanker(kb, graph)
        self._walk = lru_cache(_CACHED_WALKS)(self._walk_from)

    def rank(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], k: int
    ) -> list[list[str]]:
        """Return the titles of the best `k` documents for each claim and its evidence.

        A walk starts at the seeds of the claim (`GraphRanker.seeds`) and at the documents of the
        evidence: that at position `r` weighs 1 / `r`. The latter are left out of the ranking.
        """
        return [self._rank(*each, k) for each in zip(claims, evidence, strict=True)]

    def proximity(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[dict[str, Proximity]]:
        """Return the proximity of the given titles, for each claim and its evidence.

        The walk is that of `rank`. Titles that the knowledge base lacks are left out.
        """
        return [self._proximity(*each) for each in zip(claims, evidence, titles, strict=True)]

    def _rank(self, claim: str, evidence: Sequence[Sentence], k: int) -> list[str]:
        known = self._rows_of(evidence)
        read = set(known)
        ranks = self._walk(claim, known)
        order = np.argsort(-ranks.scores, kind="stable")
        best = (row for row in ranks.rows[order].tolist() if row not in read)
        return [self._kb.title(row) for row in islice(best, k)]

    def _proximity(
        self, claim: str, evidence: Sequence[Sentence], titles: Sequence[str]
    ) -> dict[str, Proximity]:
        found = {title: row for title in titles if (row := self._kb.row(title)) is not None}
        rows = np.array(list(found.values()), dtype=np.int64)
        known = self._rows_of(evidence)
        ranks = self._walk(claim, known)
        arrivals = np.maximum(_values_at(ranks.rows, ranks.arrivals, rows), math.exp(MIN_PROXIMITY))
        shares = self._shares_mentioned(rows, np.array(known, dtype=np.int64))
        values = zip(found, np.log(arrivals).tolist(), shares, strict=True)
        return {title: Proximity(*each) for title, *each in values}

    def _shares_mentioned(self, rows: np.ndarray, known: np.ndarray) -> list[float]:
        own, frames = self._graph.frames_of(rows)
        mentions = self._graph.entities_in(frames)
        index, targets = own[mentions.requests], mentions.values
        counts = np.isin(targets, known) & (targets != rows[index])
        pairs = np.unique(np.stack([index[counts], targets[counts]]), axis=1)
        shares = np.bincount(pairs[0], minlength=len(rows)) / max(len(known), 1)
        return [float(share) for share in shares]

    def _rows_of(self, evidence: Sequence[Sentence]) -> tuple[int, ...]:
        titles = dict.fromkeys(sentence.title for sentence in evidence)
        return tuple(row for row in map(self._kb.row, titles) if row is not None)

    def _walk_from(self, claim: str, known: tuple[int, ...]) -> PageRank:
        seeds = self._ranker.seeds(claim)
        for position, row in enumerate(known, start=1):
            seeds[row] = seeds.get(row, 0.0) + _EVIDENCE_WEIGHT / position
        return self._ranker.pagerank(seeds)
