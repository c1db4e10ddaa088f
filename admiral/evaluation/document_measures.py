"""Measures of documents that all data sets share.

A claim counts if it has gold evidence. Where there are alternative sets of evidence, one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from admiral.evaluation.measures import Measure, per_claim
from admiral.evaluation.overlap import best_overlap, exact_match, recall_at
from admiral.evaluation.pairing import Pair, counted

RANKING = "documents of the ranking"
EVIDENCE = "documents of the evidence"


def ranking_measures(pairs: Sequence[Pair], ks: Sequence[int]) -> list[Measure]:
    """Return recall@k for each `k`, and exact match.

    Recall@k is the share of claims all of whose gold documents are among the first k; exact match
    the share of those whose gold documents, as many as they are, come first.
    """

    def recall(k: int) -> Callable[[Pair], float]:
        return lambda p: recall_at(p.title_sets, p.documents, k)

    def exact(pair: Pair) -> float:
        return exact_match(pair.title_sets, pair.documents)

    recalls = [_of_gold(RANKING, f"recall@{k}", pairs, recall(k)) for k in ks]
    return [*recalls, _of_gold(RANKING, "exact match", pairs, exact)]


def evidence_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return precision, recall, F1 and exact match of the documents that the evidence is from.

    Each claim is measured against the set that it agrees with best.
    """

    def part(number: int) -> Callable[[Pair], float]:
        return lambda p: best_overlap(p.title_sets, _documents(p))[number]

    measures = [
        _of_gold(EVIDENCE, name, pairs, part(number))
        for number, name in enumerate(("precision", "recall", "F1"))
    ]
    exact = _of_gold(EVIDENCE, "exact match", pairs, lambda p: set(_documents(p)) in p.title_sets)
    return [*measures, exact]


def short_rankings(pairs: Sequence[Pair], ks: Sequence[int]) -> list[str]:
    """Return a note about rankings that hold fewer documents than the largest k."""
    k = max(ks)
    short = sum(pair.answer is not None and len(pair.documents) < k for pair in pairs)
    if not short:
        return []
    return [f"{counted(short, 'ranking')} of fewer than {k} documents; what is there is counted"]


def _documents(pair: Pair) -> tuple[str, ...]:
    return pair.answer.evidence_documents if pair.answer else ()


def _of_gold(
    section: str, name: str, pairs: Sequence[Pair], value: Callable[[Pair], float]
) -> Measure:
    return per_claim(section, name, pairs, lambda p: value(p) if p.gold.evidence else None)
