"""Candidates of the first stage and of later hops that the mention graph leads to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admiral.graph.graph_ranking import GraphRanker
from admiral.graph.mention_graph import MentionGraph
from admiral.kb import KnowledgeBase
from admiral.records import Sentence

# Weight of the first document of the evidence among the seeds of a walk; a claim's entity weighs
# less than 1.
_EVIDENCE_WEIGHT = 1.0


class GraphCandidates:
    """Find documents by personalised PageRank around claims and their evidence.

    Parameters
    ----------
    kb
        The open knowledge base.
    graph
        Its graph.
    """

    def __init__(self, kb: KnowledgeBase, graph: MentionGraph) -> None:
        self._kb, self._ranker = kb, GraphRanker(kb, graph)

    def rank(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], k: int
    ) -> list[list[str]]:
        """Return the titles of the best `k` documents for each claim and its evidence.

        A walk starts at the seeds of the claim (`GraphRanker.seeds`) and at the documents of the
        evidence: that at position `r` weighs 1 / `r`. The latter are left out of the ranking.
        """
        return [self._rank(*each, k) for each in zip(claims, evidence, strict=True)]

    def _rank(self, claim: str, evidence: Sequence[Sentence], k: int) -> list[str]:
        seeds = self._ranker.seeds(claim)
        titles = dict.fromkeys(sentence.title for sentence in evidence)
        known = [row for row in map(self._kb.row, titles) if row is not None]
        for position, row in enumerate(known, start=1):
            seeds[row] = seeds.get(row, 0.0) + _EVIDENCE_WEIGHT / position
        if not seeds:
            return []
        ranks = self._ranker.pagerank(seeds)
        best = ranks.rows[np.argsort(-ranks.scores, kind="stable")].tolist()
        read = set(known)
        return [self._kb.title(row) for row in [row for row in best if row not in read][:k]]


def open_graph_candidates(kb: KnowledgeBase) -> GraphCandidates:
    """Open the graph of a knowledge base.

    Raises
    ------
    AdmiralError
        If there is no graph, or it is of another version of the knowledge base, or damaged; the
        message names the command that builds it.
    """
    return GraphCandidates(kb, MentionGraph.open(kb))
