"""What a measure is: a number for each claim, of which groups of claims have the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from admiral.evaluation.pairing import Pair, counted

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """The value of each claim under one measure.

    Attributes
    ----------
    section
        What is measured: ``documents``, ``sentences``, ``labels``, ...
    columns
        (claims, 1), or (claims, 2) for a measure that is the harmonic mean of two means; NaN for
        claims that do not count.
    """

    section: str
    name: str
    columns: Floats

    def combine(self, means: Floats) -> Floats:
        """Return the measure for means of its columns, (..., columns)."""
        if means.shape[-1] == 1:
            return means[..., 0]
        first, second = means[..., 0], means[..., 1]
        total = first + second
        product = 2 * first * second
        return np.divide(
            product, total, out=np.where(np.isnan(total), np.nan, 0.0), where=total > 0
        )

    def value(self, members: NDArray[np.bool_]) -> float:
        """Return the measure for a group of claims; NaN if none of them counts."""
        rows = self.columns[members]
        counted = ~np.isnan(rows)
        number = counted.sum(0)
        sums = np.where(counted, rows, 0.0).sum(0)
        means = np.divide(sums, number, out=np.full(number.shape, np.nan), where=number > 0)
        return float(self.combine(means))

    def count(self, members: NDArray[np.bool_]) -> int:
        """Return how many claims of a group count."""
        return int((~np.isnan(self.columns[members, 0])).sum())


@dataclass(frozen=True, slots=True)
class Group:
    """Claims whose figures are shown together; `members` is (claims,)."""

    name: str
    members: NDArray[np.bool_]


def per_claim(
    section: str, name: str, pairs: Sequence[Pair], value: Callable[[Pair], float | None]
) -> Measure:
    """Return the measure that is the mean of `value`, None for claims that do not count."""
    values = [value(pair) for pair in pairs]
    column = [np.nan if one is None else float(one) for one in values]
    return Measure(section, name, np.array(column, dtype=np.float64).reshape(-1, 1))


def harmonic(section: str, name: str, first: Measure, second: Measure) -> Measure:
    """Return the harmonic mean of two measures (not the mean of the claims' harmonic means)."""
    return Measure(section, name, np.hstack([first.columns, second.columns]))


def groups_of(pairs: Sequence[Pair], noun: str) -> list[Group]:
    """Return all claims, and those of each number of hops that occurs, such as ``2 hops``."""
    hops = np.array([pair.gold.hops for pair in pairs], dtype=np.int64)
    found = [Group("all", np.ones(len(pairs), dtype=bool))]
    for number in sorted({int(one) for one in hops} - {0}):
        found.append(Group(counted(number, noun), hops == number))
    return found
