"""Candidates of the first stage and of later hops that the mention graph leads to."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_files import graph_folder
from admiral.graph.graph_ranking import GraphRanker
from admiral.graph.mention_graph import MentionGraph
from admiral.kb import KnowledgeBase
from admiral.kb.store.manifest import GRAPH_REQUEST
from admiral.records import Proximity, Sentence
from admiral.retrieval.document_ranking import MIN_PROXIMITY

logger = logging.getLogger(__name__)

# Weight of the first document of the evidence among the seeds of a walk; a claim's entity weighs
# less than 1.
_EVIDENCE_WEIGHT = 1.0
# The next hop needs the walk from the evidence again.
_CACHED_WALKS = 64


class _Walk:
    """The documents that a walk reaches, ascending rows, with their scores and arrivals."""

    def __init__(self, rows: np.ndarray, scores: np.ndarray, arrivals: np.ndarray) -> None:
        self.rows, self._scores, self._arrivals = rows, scores, arrivals

    def best(self) -> list[int]:
        """Return all rows, best first."""
        best: list[int] = self.rows[np.argsort(-self._scores, kind="stable")].tolist()
        return best

    def log_arrivals(self, rows: np.ndarray) -> list[float]:
        """Return the log of the arrivals at each row."""
        if not len(self.rows):
            return [MIN_PROXIMITY] * len(rows)
        at = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        arrived = np.where(self.rows[at] == rows, self._arrivals[at], 0.0)
        logs: list[float] = np.log(np.maximum(arrived, math.exp(MIN_PROXIMITY))).tolist()
        return logs


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
        best = [row for row in self._walk(claim, known).best() if row not in read]
        return [self._kb.title(row) for row in best[:k]]

    def _proximity(
        self, claim: str, evidence: Sequence[Sentence], titles: Sequence[str]
    ) -> dict[str, Proximity]:
        found = {title: row for title in titles if (row := self._kb.row(title)) is not None}
        rows = np.array(list(found.values()), dtype=np.int64)
        known = self._rows_of(evidence)
        values = zip(
            self._walk(claim, known).log_arrivals(rows),
            self._shares_mentioned(rows, np.array(known, dtype=np.int64)),
            strict=True,
        )
        return {title: Proximity(*each) for title, each in zip(found, values, strict=True)}

    def _shares_mentioned(self, rows: np.ndarray, known: np.ndarray) -> list[float]:
        """Return the share of the known documents that each row mentions, itself excluded."""
        own, frames = self._graph.frames_of(rows)
        mentions = self._graph.entities_in(frames)
        index, targets = own[mentions.requests], mentions.values
        counts = np.isin(targets, known) & (targets != rows[index])
        pairs = np.unique(np.stack([index[counts], targets[counts]]), axis=1)
        shares = np.bincount(pairs[0], minlength=len(rows)) / max(len(known), 1)
        return [float(share) for share in shares]

    def _rows_of(self, evidence: Sequence[Sentence]) -> tuple[int, ...]:
        """Return the rows of the documents of evidence, each once, in order."""
        titles = dict.fromkeys(sentence.title for sentence in evidence)
        return tuple(row for row in map(self._kb.row, titles) if row is not None)

    def _walk_from(self, claim: str, known: tuple[int, ...]) -> _Walk:
        seeds = self._ranker.seeds(claim)
        for position, row in enumerate(known, start=1):
            seeds[row] = seeds.get(row, 0.0) + _EVIDENCE_WEIGHT / position
        ranks = self._ranker.pagerank(seeds)
        return _Walk(ranks.rows, ranks.scores, ranks.arrivals)


def graph_to_use(kb: KnowledgeBase, setting: str | bool) -> GraphCandidates | None:
    """Open the graph of a knowledge base as the setting `graph` says; None to do without.

    With ``auto``, a graph that cannot be used is reported as a warning. So is a missing one, but
    only if the build of the knowledge base asked for it.

    Raises
    ------
    AdmiralError
        If the setting is ``true`` and there is no graph, or it is of another version of the
        knowledge base, or damaged; the message names the command that builds it.
    """
    wanted = graph_folder(kb.path).exists() or GRAPH_REQUEST in kb.settings
    if setting == "false" or (setting == "auto" and not wanted):
        return None
    try:
        return GraphCandidates(kb, MentionGraph.open(kb))
    except AdmiralError as error:
        if setting != "auto":
            raise
        logger.warning("%s Until then, retrieval does without the graph.", error)
        return None
