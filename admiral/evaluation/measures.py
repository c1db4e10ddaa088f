"""Measures as per-claim values, averaged over groups of claims, with intervals and paired tests.

Claims are the sampling unit (not hops or sentences), because every measure is a mean over claims.
All resampling is seeded: the same files give the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from admiral.evaluation.predictions import Pair, count_noun

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


N_RESAMPLES = 10_000
_CONFIDENCE = 95  # percent
_MAX_CELLS = 4_000_000  # numbers held in memory at a time


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One measure of two runs over the same claims."""

    first: float
    second: float
    n_claims: int  # number of claims that count towards the measure
    # low, high: 95% confidence interval of ``second - first`` (paired percentile bootstrap)
    low: float
    high: float
    # Two-sided p-value of the paired randomisation test: the probability of a difference at least
    # this large if the predictions of the two runs were swapped at random for each claim
    p_value: float


def confidence_intervals(
    measures: Sequence[Measure], group: Group, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> list[tuple[float, float]]:
    """Return the 95% percentile bootstrap interval of each measure over a group of claims.

    Returns lower and upper limit of each measure; NaN where no claim counts.
    """
    stacked = _StackedColumns(measures, group)
    values = [
        stacked.values(weights)
        for weights in _bootstrap_weights(stacked.n_claims, seed, n_resamples)
    ]
    return _percentile_intervals(np.vstack(values))


def paired_comparison(
    first: Sequence[Measure],
    second: Sequence[Measure],
    group: Group,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> list[PairedDifference]:
    """Compare two runs measure by measure: paired bootstrap and paired randomisation test.

    `first`, `second`: the same measures of the two runs, with the claims in the same order. Returns
    one for each measure. The p-values are not corrected for multiple comparisons.
    """
    columns_1, columns_2 = _StackedColumns(first, group), _StackedColumns(second, group)
    n_claims = columns_1.n_claims
    differences = [
        columns_2.values(weights) - columns_1.values(weights)
        for weights in _bootstrap_weights(n_claims, seed, n_resamples)
    ]
    limits = _percentile_intervals(np.vstack(differences))
    all_claims = np.ones((1, n_claims))
    values_1, values_2 = columns_1.values(all_claims)[0], columns_2.values(all_claims)[0]
    observed = np.abs(values_2 - values_1)
    extreme = np.zeros(len(first))
    for swapped in _random_swaps(n_claims, seed, n_resamples):
        difference = columns_2.values_after_swap(columns_1, swapped)
        difference -= columns_1.values_after_swap(columns_2, swapped)
        extreme += (np.abs(difference) >= observed - 1e-12).sum(0)
    # The observed assignment counts as one of the swaps, so that p is never 0. There is no p-value
    # where a run has no value.
    p_values = np.where(np.isnan(observed), np.nan, (extreme + 1) / (n_resamples + 1))
    return [
        PairedDifference(
            float(values_1[i]),
            float(values_2[i]),
            measure.count(group.members),
            *limits[i],
            float(p_values[i]),
        )
        for i, measure in enumerate(first)
    ]


class _StackedColumns:
    """The columns of several measures over one group, side by side: (claims, columns)."""

    def __init__(self, measures: Sequence[Measure], group: Group) -> None:
        self._measures = measures
        columns = np.hstack([measure.columns[group.members] for measure in measures])
        self._counts = (~np.isnan(columns)).astype(np.float64)
        self._filled = np.nan_to_num(columns)
        self.n_claims = len(columns)

    def values(self, weights: FloatArray) -> FloatArray:
        """Return the measures (samples, measures) under claim weights (samples, claims)."""
        return self._combine(weights @ self._filled, weights @ self._counts)

    def values_after_swap(self, other: _StackedColumns, swapped: FloatArray) -> FloatArray:
        """Return the measures with the other run's values where `swapped` (samples, claims) is 1.

        The result has the shape (samples, measures).
        """
        sums = self._filled.sum(0) + swapped @ (other._filled - self._filled)
        counts = self._counts.sum(0) + swapped @ (other._counts - self._counts)
        return self._combine(sums, counts)

    def _combine(self, sums: FloatArray, counts: FloatArray) -> FloatArray:
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        ends = np.cumsum([measure.columns.shape[1] for measure in self._measures])
        parts = np.split(means, ends[:-1], axis=1)
        return np.stack([m.combine(p) for m, p in zip(self._measures, parts, strict=True)], 1)


def _bootstrap_weights(n_claims: int, seed: int, n_resamples: int) -> Iterator[FloatArray]:
    """Yield how often each claim is drawn (samples, claims), one block of samples at a time."""
    rng = np.random.default_rng([seed, 0])
    for size in _block_sizes(n_claims, n_resamples):
        drawn = rng.integers(0, n_claims, (size, n_claims)) + np.arange(size)[:, None] * n_claims
        counts = np.bincount(drawn.ravel(), minlength=size * n_claims)
        yield counts.reshape(size, n_claims).astype(np.float64)


def _random_swaps(n_claims: int, seed: int, n_resamples: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng([seed, 1])
    for size in _block_sizes(n_claims, n_resamples):
        yield rng.integers(0, 2, (size, n_claims)).astype(np.float64)


def _block_sizes(n_claims: int, n_resamples: int) -> Iterator[int]:
    size = max(_MAX_CELLS // max(n_claims, 1), 1)
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def _percentile_intervals(samples: NDArray[np.float64]) -> list[tuple[float, float]]:
    tail = (100 - _CONFIDENCE) / 2
    intervals = []
    for column in samples.T:
        defined = column[~np.isnan(column)]
        low, high = np.percentile(defined, [tail, 100 - tail]) if len(defined) else (np.nan,) * 2
        intervals.append((float(low), float(high)))
    return intervals
