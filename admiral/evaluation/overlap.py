"""Overlap of predicted with gold titles or sentences: recall@k, exact match, precision, F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence, Set
from typing import NamedTuple, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def covers_any_set(gold_sets: Sequence[Set[Item]], items: Collection[Item]) -> bool:
    """Return whether `items` include every member of at least one of the alternative sets."""
    return any(gold <= set(items) for gold in gold_sets)


def recall_at_k(gold_sets: Sequence[Set[str]], ranking: Sequence[str], k: int) -> bool:
    """Return whether the first `k` documents include all of one gold set (the paper's recall@k)."""
    return covers_any_set(gold_sets, ranking[:k])


def exact_match(gold_sets: Sequence[Set[str]], ranking: Sequence[str]) -> bool:
    """Return whether the ranking begins with the n documents of a gold set, in any order."""
    return any(gold == set(ranking[: len(gold)]) for gold in gold_sets)


def best_overlap(gold_sets: Sequence[Set[Item]], items: Collection[Item]) -> Overlap:
    """Return precision, recall and F1 against the gold set with the highest F1.

    All three are 0 if nothing is shared with any gold set.
    """
    distinct = set(items)
    overlaps = [Overlap(0.0, 0.0, 0.0)]
    for gold in gold_sets:
        shared = len(gold & distinct)
        if shared:
            precision, recall = shared / len(distinct), shared / len(gold)
            overlaps.append(Overlap(precision, recall, 2 * shared / (len(distinct) + len(gold))))
    return max(overlaps, key=lambda overlap: overlap.f1)


def multiset_f1(gold: Sequence[Item], items: Sequence[Item]) -> float:
    """Return the F1 of two lists as multisets, as in HoVer's evaluation script.

    Repetitions count; the F1 of two empty lists is 1.
    """
    if not gold or not items:
        return float(not gold and not items)
    shared = sum((Counter(gold) & Counter(items)).values())
    return 2 * shared / (len(gold) + len(items))
