"""Hit rate against volume: how many claims the graph finds all gold evidence of, in how much text.

The rules are those of the paper on GraphRetrieve (`admiral.graph.subgraph`). A claim is a hit if
all sentences of one of its evidence sets were retrieved, or at the level of documents, a sentence
of each of its documents. Beside the methods of the paper stand rankings cut at several numbers of
documents, with all sentences of these documents.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import fmean, median
from typing import Any

import numpy as np

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.graph import ClaimSubgraph, GraphRanker, MentionGraph, SubgraphOptions
from admiral.io.progress import track_claims
from admiral.kb import KnowledgeBase

#: Default cuts of the rankings, in documents.
CUTS = (5, 10, 20, 50, 100)
_SETS = {
    "entity": ("entity", SubgraphOptions()),
    "mention": ("mention", SubgraphOptions()),
    "entity+mention": ("entity+mention", SubgraphOptions()),
    "graph": ("graph", SubgraphOptions(owner=False)),
    "graph, paths": ("graph", SubgraphOptions(owner=False, variant="paths")),
    "graph, 1 hop": ("graph", SubgraphOptions(owner=False, hops=1)),
    "graph + owner": ("graph", SubgraphOptions()),
    "graph + owner, paths": ("graph", SubgraphOptions(variant="paths")),
    "graph + owner, 1 hop": ("graph", SubgraphOptions(hops=1)),
}


@dataclass(frozen=True, slots=True)
class _Retrieved:
    """The result of a method for a claim."""

    hops: int
    sentences: int
    documents: int
    # whether all sentences of an evidence set were retrieved; None if the gold names no sentences
    sentence_hit: bool | None
    # share of the gold documents that were retrieved, of the set of which most were
    document_recall: float
    # processor time, without the search for mentions in the claim or, for PageRank, by BM25
    seconds: float


@dataclass(frozen=True, slots=True)
class GraphEvaluation:
    """The evaluation of all methods over the same claims."""

    records: list[dict[str, Any]]  # one for each method and group of claims: all, then by hops
    claims: int
    left_out: Counter[str]  # number of claims by reason


def evaluate_graph(
    kb: KnowledgeBase,
    graph: MentionGraph,
    claims: Sequence[GoldClaim],
    *,
    min_entities: int = 2,
    max_mentions: int = 1000,
    cuts: Sequence[int] = CUTS,
    rankings_only: bool = False,
    quiet: bool = True,
) -> GraphEvaluation:
    """Evaluate GraphRetrieve, its baselines and the rankings.

    `min_entities`: claims that name fewer documents are left out; the paper has 2. `max_mentions`:
    claims that name a document with more mentions are left out; the paper has 1,000. 0 for no
    limit.
    """
    methods = _Methods(kb, graph, sorted(set(cuts)), rankings_only=rankings_only)
    selection = ClaimSubgraph(kb, graph, max_mentions=max_mentions)
    retrieved: dict[str, list[_Retrieved]] = {}
    left_out = Counter[str]()
    for claim in track_claims(claims, done=0, total=len(claims), quiet=quiet):
        entities = selection.entities(claim.claim)
        if not claim.evidence:
            left_out["no gold evidence"] += 1
        elif all(any(kb.row(t) is None for t in titles) for titles in claim.title_sets):
            left_out["gold documents that the knowledge base does not have"] += 1
        elif len({entity.name for entity in entities}) < min_entities:
            left_out[f"names fewer than {min_entities} documents"] += 1
        elif selection.common(entities):
            left_out[f"names a document with more than {max_mentions:,} mentions"] += 1
        else:
            for method, record in methods.retrieve(claim):
                retrieved.setdefault(method, []).append(record)
    if not retrieved:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise AdmiralError(f"no claim is left to evaluate ({reasons}). Loosen the selection")
    hops = sorted({record.hops for record in next(iter(retrieved.values()))})
    groups = {"all": hops, **{f"{number}-hop": [number] for number in hops}}
    records = [
        {"group": group, "method": method, **_means([r for r in own if r.hops in members])}
        for group, members in groups.items()
        for method, own in retrieved.items()
    ]
    return GraphEvaluation(records, len(claims) - left_out.total(), left_out)


class _Methods:
    """The methods over one knowledge base."""

    def __init__(
        self, kb: KnowledgeBase, graph: MentionGraph, cuts: Sequence[int], *, rankings_only: bool
    ) -> None:
        self._kb, self._graph, self._cuts = kb, graph, cuts
        self._ranker = GraphRanker(kb, graph)
        self._sets: dict[str, tuple[str, ClaimSubgraph]] = {}
        if not rankings_only:
            self._sets = {
                name: (method, ClaimSubgraph(kb, graph, options))
                for name, (method, options) in _SETS.items()
            }
            best = ClaimSubgraph(kb, graph, readings=1)
            self._sets["graph + owner, best readings"] = ("graph", best)

    def retrieve(self, claim: GoldClaim) -> Iterator[tuple[str, _Retrieved]]:
        """Yield what each method retrieves for a claim."""
        for name, (method, subgraph) in self._sets.items():
            entities = subgraph.entities(claim.claim)
            frames, seconds = _timed(partial(subgraph.retrieve, entities, method))
            documents = {row for row, _ in self._graph.sentences(frames)}
            yield name, self._record(claim, frames, documents, seconds)
        rankings = {"pagerank": partial(self._pagerank, self._ranker.seeds(claim.claim))}
        if self._kb.settings["bm25"] != "none":
            rankings["BM25"] = partial(self._bm25, claim.claim)
        for name, rank in rankings.items():
            rows, seconds = _timed(rank)
            for cut in self._cuts:
                frames = self._graph.frames_of(rows[:cut])[1]
                documents = set(rows[:cut].tolist())
                yield f"{name}@{cut}", self._record(claim, frames, documents, seconds)

    def _pagerank(self, seeds: dict[int, float]) -> np.ndarray:
        ranks = self._ranker.pagerank(seeds)
        return ranks.rows[np.argsort(-ranks.scores, kind="stable")[: self._cuts[-1]]]

    def _bm25(self, text: str) -> np.ndarray:
        (found,) = self._kb.search([text], self._cuts[-1])
        return np.array([self._kb.row(scored.title) for scored in found], dtype=np.int64)

    def _record(
        self, claim: GoldClaim, frames: np.ndarray, documents: set[int], seconds: float
    ) -> _Retrieved:
        sentences = set(self._graph.sentences(frames))
        sets = [[(self._kb.row(title), number) for title, number in one] for one in claim.evidence]
        has_sentences = any(all(number is not None for _, number in one) for one in sets)
        gold = [{row for row, _ in one} for one in sets]
        return _Retrieved(
            claim.hops,
            len(sentences),
            len(documents),
            any(sentences.issuperset(one) for one in sets) if has_sentences else None,
            max(len(rows & documents) / len(rows) for rows in gold),
            seconds,
        )


def _timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    began = time.thread_time()
    return work(), time.thread_time() - began


def _means(records: Sequence[_Retrieved]) -> dict[str, Any]:
    hits = [record.sentence_hit for record in records if record.sentence_hit is not None]
    return {
        "claims": len(records),
        "sentences": round(fmean(record.sentences for record in records), 1),
        "median_sentences": median(record.sentences for record in records),
        "documents": round(fmean(record.documents for record in records), 1),
        "sentence_hit_rate": round(fmean(hits), 4) if hits else None,
        "document_hit_rate": round(fmean(r.document_recall == 1 for r in records), 4),
        "document_recall": round(fmean(r.document_recall for r in records), 4),
        "median_ms": round(1000 * median(record.seconds for record in records), 2),
    }


def format_hits(records: Sequence[dict[str, Any]]) -> str:
    """Return the records of an evaluation as a table for each group."""
    heads = {
        **{"sentences": "sentences", "documents": "documents", "sentence_hit_rate": "hit, sent."},
        **{"document_hit_rate": "hit, doc.", "document_recall": "recall", "median_ms": "ms"},
    }
    width = max(len(str(record["method"])) for record in records)
    lines: list[str] = []
    for group, members in groupby(records, key=itemgetter("group")):
        rows = list(members)
        title = f"{group} ({rows[0]['claims']})"
        lines += ["", f"{title:<{width}}" + "".join(f"{head:>12}" for head in heads.values())]
        for record in rows:
            cells = ("-" if record[name] is None else record[name] for name in heads)
            lines.append(f"{record['method']:<{width}}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines[1:]) + "\n"
