"""Measures as per-claim values, averaged over groups of claims; overlaps with gold documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from admiral.evaluation.pairing import Pair, count_noun

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """The value of every claim under one measure."""

    section: str  # heading that the measure is shown under, such as ``labels``
    name: str
    # (claims, 1) for a mean over claims, or (claims, 2) for the harmonic mean of two means; NaN for
    # claims that do not count
    columns: FloatArray

    def combine(self, means: FloatArray) -> FloatArray:
        """Return the value of the measure, (...), for the means of its columns, (..., columns)."""
        if means.shape[-1] == 1:
            return means[..., 0]
        first, second = means[..., 0], means[..., 1]
        total = first + second
        product = 2 * first * second
        return np.divide(
            product, total, out=np.where(np.isnan(total), np.nan, 0.0), where=total > 0
        )

    def value(self, members: NDArray[np.bool_]) -> float:
        """Return the value for a group of claims, (claims,); NaN if none of them counts."""
        rows = self.columns[members]
        counts = ~np.isnan(rows)
        totals = counts.sum(0)
        sums = np.where(counts, rows, 0.0).sum(0)
        means = np.divide(sums, totals, out=np.full(totals.shape, np.nan), where=totals > 0)
        return float(self.combine(means))

    def count(self, members: NDArray[np.bool_]) -> int:
        """Return the number of claims of a group, (claims,), that count."""
        return int((~np.isnan(self.columns[members, 0])).sum())


@dataclass(frozen=True, slots=True)
class Group:
    """A named group of claims."""

    name: str
    members: NDArray[np.bool_]  # boolean mask over all claims, (claims,)


def mean_measure(
    section: str, name: str, pairs: Sequence[Pair], value: Callable[[Pair], float | None]
) -> Measure:
    """Return the measure that is the mean of `value`, which is None for claims not counted."""
    values = [value(pair) for pair in pairs]
    column = [np.nan if v is None else float(v) for v in values]
    return Measure(section, name, np.array(column, dtype=np.float64).reshape(-1, 1))


def harmonic_mean_measure(section: str, name: str, first: Measure, second: Measure) -> Measure:
    """Return the harmonic mean of two measures' means (not the mean of harmonic means)."""
    return Measure(section, name, np.hstack([first.columns, second.columns]))


def group_by_hops(pairs: Sequence[Pair], noun: str) -> list[Group]:
    """Group the claims: all, then by number of hops, such as ``2 hops`` if `noun` is ``hop``."""
    hops = np.array([pair.gold.hops for pair in pairs], dtype=np.int64)
    groups = [Group("all", np.ones(len(pairs), dtype=bool))]
    for number in sorted(set(hops.tolist()) - {0}):
        groups.append(Group(count_noun(number, noun), hops == number))
    return groups


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
