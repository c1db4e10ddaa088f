"""Recall, MRR and nDCG as ir-measures computes them, over the documents of all gold sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admiral.evaluation.measures import Measure
from admiral.evaluation.pairing import Pair

SECTION = "ranking (ir-measures)"
MISSING = (
    "Recall, MRR and nDCG need the package ir-measures: pip install 'admiral-retrieval[scorers]'"
)
_DEPTH = 10


def standard_measures(pairs: Sequence[Pair], ks: Sequence[int]) -> list[Measure]:
    """Return R@k for each k, RR and nDCG@10; empty where ir-measures is not installed.

    A document is relevant if it is in any of the sets. Claims without gold evidence do not count.
    """
    try:
        import ir_measures
    except ImportError:
        return []
    wanted = [*(ir_measures.R @ k for k in ks), ir_measures.RR, ir_measures.nDCG @ _DEPTH]
    counted = [pair for pair in pairs if pair.gold.evidence]
    relevant = {p.gold.id: dict.fromkeys(frozenset().union(*p.title_sets), 1) for p in counted}
    # Evaluation tools sort by score.
    run = {p.gold.id: {t: -float(at) for at, t in enumerate(p.documents)} for p in counted}
    rows = {pair.gold.id: number for number, pair in enumerate(pairs)}
    columns = {str(one): np.full((len(pairs), 1), np.nan) for one in wanted}
    if counted:
        for metric in ir_measures.iter_calc(wanted, relevant, run):
            columns[str(metric.measure)][rows[metric.query_id]] = metric.value
    return [Measure(SECTION, name, column) for name, column in columns.items()]
