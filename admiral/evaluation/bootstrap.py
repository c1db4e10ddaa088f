"""Resampling claims: how sure a figure is, and whether two runs differ.

Claims are drawn, never hops or sentences: they are what the figures are means of. All is seeded, so
the same files give the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from admiral.evaluation.measures import Floats, Group, Measure

SAMPLES = 10_000
_LEVEL = 95
_CELLS = 4_000_000  # numbers in memory at a time


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two runs over the same claims.

    Attributes
    ----------
    low, high
        95% interval of ``second - first``, by the paired bootstrap.
    p
        Two-sided, of the paired randomisation test: how often runs that are alike would differ so
        much, if for each claim it were chance which answer is whose.
    """

    first: float
    second: float
    claims: int
    low: float
    high: float
    p: float


def intervals(
    measures: Sequence[Measure], group: Group, seed: int = 0, samples: int = SAMPLES
) -> list[tuple[float, float]]:
    """Return the 95% percentile interval of each measure over the claims of a group."""
    stacked = _Stacked(measures, group)
    drawn = [stacked.values(w) for w in _weights(stacked.claims, seed, samples)]
    return _percentiles(np.vstack(drawn))


def compare(
    first: Sequence[Measure],
    second: Sequence[Measure],
    group: Group,
    seed: int = 0,
    samples: int = SAMPLES,
) -> list[Difference]:
    """Return the paired comparison of two runs, measure by measure.

    Parameters
    ----------
    first, second
        The same measures of the two runs, claims in the same order.
    group
        The claims to compare them on.
    """
    one, other = _Stacked(first, group), _Stacked(second, group)
    drawn = [other.values(w) - one.values(w) for w in _weights(one.claims, seed, samples)]
    limits = _percentiles(np.vstack(drawn))
    everything = np.ones((1, one.claims))
    before, after = one.values(everything)[0], other.values(everything)[0]
    extreme = np.zeros(len(first))
    for swapped in _swaps(one.claims, seed, samples):
        changed = other.values_with(one, swapped) - one.values_with(other, swapped)
        extreme += (np.abs(changed) >= np.abs(after - before) - 1e-12).sum(0)
    # Where either run has no figure there is nothing that chance could do.
    p = np.where(np.isnan(after - before), np.nan, (extreme + 1) / (samples + 1))
    return [
        Difference(
            float(before[i]), float(after[i]), m.count(group.members), *limits[i], float(p[i])
        )
        for i, m in enumerate(first)
    ]


class _Stacked:
    """The columns of several measures over one group, side by side: (claims, columns)."""

    def __init__(self, measures: Sequence[Measure], group: Group) -> None:
        self._measures = measures
        columns = np.hstack([one.columns[group.members] for one in measures])
        self._counted = (~np.isnan(columns)).astype(np.float64)
        self._filled = np.nan_to_num(columns)
        self.claims = len(columns)

    def values(self, weights: Floats) -> Floats:
        """Return (samples, measures) for weights of the claims, (samples, claims)."""
        return self._combined(weights @ self._filled, weights @ self._counted)

    def values_with(self, other: _Stacked, swapped: Floats) -> Floats:
        """Return the measures with the other run's values for some claims, (samples, claims)."""
        sums = self._filled.sum(0) + swapped @ (other._filled - self._filled)
        counts = self._counted.sum(0) + swapped @ (other._counted - self._counted)
        return self._combined(sums, counts)

    def _combined(self, sums: Floats, counts: Floats) -> Floats:
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        ends = np.cumsum([one.columns.shape[1] for one in self._measures])
        parts = np.split(means, ends[:-1], axis=1)
        return np.stack([m.combine(p) for m, p in zip(self._measures, parts, strict=True)], 1)


def _weights(claims: int, seed: int, samples: int) -> Iterator[Floats]:
    """Yield how often each claim is drawn, (samples, claims), a block of samples at a time."""
    rng = np.random.default_rng([seed, 0])
    for size in _blocks(claims, samples):
        drawn = rng.integers(0, claims, (size, claims)) + np.arange(size)[:, None] * claims
        counts = np.bincount(drawn.ravel(), minlength=size * claims)
        yield counts.reshape(size, claims).astype(np.float64)


def _swaps(claims: int, seed: int, samples: int) -> Iterator[Floats]:
    rng = np.random.default_rng([seed, 1])
    for size in _blocks(claims, samples):
        yield rng.integers(0, 2, (size, claims)).astype(np.float64)


def _blocks(claims: int, samples: int) -> Iterator[int]:
    size = max(_CELLS // max(claims, 1), 1)
    for start in range(0, samples, size):
        yield min(size, samples - start)


def _percentiles(drawn: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the interval of each column; samples in which no claim counts are passed over."""
    outside = (100 - _LEVEL) / 2
    found = []
    for column in drawn.T:
        defined = column[~np.isnan(column)]
        low, high = (
            np.percentile(defined, [outside, 100 - outside]) if len(defined) else (np.nan,) * 2
        )
        found.append((float(low), float(high)))
    return found
