"""Confidence intervals and paired significance tests by resampling claims.

Claims are the sampling unit (not hops or sentences), because every measure is a mean over claims.
All resampling is seeded: the same files give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from admiral.evaluation.measures import FloatArray, Group, Measure

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
    """Return the interval of each column, ignoring samples in which no claim counts."""
    tail = (100 - _CONFIDENCE) / 2
    intervals = []
    for column in samples.T:
        defined = column[~np.isnan(column)]
        low, high = np.percentile(defined, [tail, 100 - tail]) if len(defined) else (np.nan,) * 2
        intervals.append((float(low), float(high)))
    return intervals
