"""Document-level measures that all tasks share.

A claim counts if it has gold evidence. Where the gold file gives alternative evidence sets, finding
one of them is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ir_measures
import numpy as np

from admiral.evaluation.measures import (
    Measure,
    best_overlap,
    covers_any_set,
    exact_match,
    mean_measure,
    recall_at_k,
)
from admiral.evaluation.pairing import Pair, count_noun

RANKING_SECTION = "documents of the ranking"
EVIDENCE_SECTION = "documents of the evidence"
IR_MEASURES_SECTION = "ranking (ir-measures)"


def ranking_measures(pairs: Sequence[Pair], ks: Sequence[int]) -> list[Measure]:
    """Return all-gold recall@k for each `k`, exact match, and R@k for each `k`, of the ranking.

    recall@k is the share of claims whose gold documents are all among the first k (the measure of
    the paper's results tables), so a claim scores 0 or 1. Exact match is the share of claims whose
    n gold documents are the first n of the ranking. R@k is recall as in TREC and in question
    answering: the share of a claim's gold documents among the first k, of all its sets.
    """

    def recall(k: int) -> Callable[[Pair], float]:
        return lambda pair: recall_at_k(pair.title_sets, pair.documents, k)

    def exact(pair: Pair) -> float:
        return exact_match(pair.title_sets, pair.documents)

    return [
        *(_over_gold(RANKING_SECTION, f"recall@{k}", pairs, recall(k)) for k in ks),
        _over_gold(RANKING_SECTION, "exact match", pairs, exact),
        *ir_measures_scores(RANKING_SECTION, [f"R@{k}" for k in ks], pairs),
    ]


def evidence_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return measures of the documents that evidence was taken from.

    These are precision, recall, F1, exact match, and whether the evidence is complete, that is, has
    a sentence of every gold document. Each value is the mean over claims (macro average). Where
    there are alternative gold sets, precision, recall and F1 are those of the set with the highest
    F1.
    """

    def component(number: int) -> Callable[[Pair], float]:
        return lambda pair: best_overlap(pair.title_sets, _evidence_documents(pair))[number]

    measures = [
        _over_gold(EVIDENCE_SECTION, name, pairs, component(number))
        for number, name in enumerate(("precision", "recall", "F1"))
    ]
    exact = _over_gold(
        EVIDENCE_SECTION,
        "exact match",
        pairs,
        lambda pair: set(_evidence_documents(pair)) in pair.title_sets,
    )
    complete = _over_gold(
        EVIDENCE_SECTION,
        "evidence complete",
        pairs,
        lambda pair: covers_any_set(pair.title_sets, _evidence_documents(pair)),
    )
    return [*measures, exact, complete]


def ir_measures_scores(section: str, names: Sequence[str], pairs: Sequence[Pair]) -> list[Measure]:
    """Return measures as ir-measures computes them.

    A document is relevant if it is in any gold set of the claim, or by its grade in qrels. Claims
    without gold documents do not count, while queries of qrels without a relevant one count as 0,
    as for trec_eval. `names`: names that ir-measures knows, such as ``nDCG@10``; the mean of AP is
    MAP, that of RR is MRR.
    """
    if not names:
        return []
    metrics = [ir_measures.parse_measure(name) for name in names]
    with_gold = [pair for pair in pairs if pair.gold.evidence or pair.gold.grades]
    qrels = {pair.gold.id: _relevance(pair) for pair in with_gold}
    # ir-measures ranks by score, so the rank becomes a descending score.
    run = {p.gold.id: {t: -float(rank) for rank, t in enumerate(p.documents)} for p in with_gold}
    rows = {pair.gold.id: row for row, pair in enumerate(pairs)}
    columns = {str(metric): np.full((len(pairs), 1), np.nan) for metric in metrics}
    if with_gold:
        for score in ir_measures.iter_calc(metrics, qrels, run):
            columns[str(score.measure)][rows[score.query_id]] = score.value
    return [Measure(section, name, column) for name, column in columns.items()]


def _relevance(pair: Pair) -> Mapping[str, int]:
    relevant = frozenset[str]().union(*pair.title_sets)
    return dict(pair.gold.grades) or dict.fromkeys(relevant, 1)


def short_ranking_notes(pairs: Sequence[Pair], ks: Sequence[int]) -> list[str]:
    """Return a note if some rankings hold fewer documents than the largest k."""
    k = max(ks)
    short = sum(pair.prediction is not None and len(pair.documents) < k for pair in pairs)
    if not short:
        return []
    return [f"{count_noun(short, 'ranking')} of fewer than {k} documents; what is there is counted"]


def _evidence_documents(pair: Pair) -> tuple[str, ...]:
    return pair.prediction.evidence_documents if pair.prediction else ()


def _over_gold(
    section: str, name: str, pairs: Sequence[Pair], value: Callable[[Pair], float]
) -> Measure:
    return mean_measure(
        section, name, pairs, lambda pair: value(pair) if pair.gold.evidence else None
    )
