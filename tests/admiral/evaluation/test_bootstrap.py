"""Means, intervals and tests beside slow ones that draw claim by claim."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from admiral.evaluation.bootstrap import _weights, compare, intervals
from admiral.evaluation.measures import Group, Measure, harmonic

numbers = st.one_of(st.just(float("nan")), st.integers(0, 4).map(lambda n: n / 4))
nan = float("nan")


def measure(*values: float) -> Measure:
    return Measure("s", "m", np.array(values, dtype=np.float64).reshape(-1, 1))


def everyone(count: int) -> Group:
    return Group("all", np.ones(count, dtype=bool))


def slow(columns: np.ndarray, rows: list[int]) -> float:
    means = []
    for column in columns.T:
        kept = [column[row] for row in rows if not np.isnan(column[row])]
        if not kept:
            return nan
        means.append(sum(kept) / len(kept))
    if len(means) == 1:
        return means[0]
    return 2 * means[0] * means[1] / sum(means) if sum(means) else 0.0


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 2)), elements=numbers))
def test_values_are_means_of_the_claims_that_count(columns: np.ndarray) -> None:
    one = Measure("s", "m", columns)
    members = np.arange(len(columns)) % 2 == 0
    for group in (members, ~members, members | True):
        expected = slow(columns, np.flatnonzero(group).tolist())
        assert one.value(group) == pytest.approx(expected, nan_ok=True)
        assert one.count(group) == (~np.isnan(columns[group, 0])).sum()


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 2)), elements=numbers))
def test_intervals_are_percentiles_of_resampled_values(columns: np.ndarray) -> None:
    group = everyone(len(columns))
    ((low, high),) = intervals([Measure("s", "m", columns)], group, seed=3, samples=60)
    drawn = []
    for block in _weights(len(columns), 3, 60):
        for counts in block:
            assert counts.sum() == len(columns)
            drawn.append(slow(columns, np.repeat(np.arange(len(columns)), counts.astype(int))))
    kept = [value for value in drawn if not np.isnan(value)]
    expected = np.percentile(kept, [2.5, 97.5]) if kept else (nan, nan)
    assert (low, high) == pytest.approx(tuple(expected), nan_ok=True)


def test_intervals_cover_the_value_and_are_seeded() -> None:
    values = np.random.default_rng(0).random(400)
    measures = [measure(*values), measure(*(values > 0.5))]
    found = intervals(measures, everyone(400))
    for (low, high), one in zip(found, measures, strict=True):
        spread = one.columns.std() / 20
        value = one.value(np.ones(400, dtype=bool))
        assert low < value < high and high - low == pytest.approx(2 * 1.96 * spread, rel=0.05)
    assert intervals(measures, everyone(400)) == found
    assert intervals(measures, everyone(400), seed=1) != found


def test_a_group_is_resampled_by_itself() -> None:
    members = np.array([True, True, False, False])
    assert intervals([measure(1, 1, 0, 0)], Group("g", members)) == [(1.0, 1.0)]


def test_equal_runs_do_not_differ() -> None:
    one = measure(0, 1, 1, nan)
    (found,) = compare([one], [one], everyone(4))
    assert (found.first, found.second, found.claims) == (2 / 3, 2 / 3, 3)
    assert (found.low, found.high, found.p) == (0, 0, 1)


def test_what_has_no_figure_has_no_p() -> None:
    (found,) = compare([measure(nan, nan)], [measure(nan, nan)], everyone(2))
    assert np.isnan([found.first, found.second, found.p]).all()


@pytest.mark.parametrize("two_columns", [False, True])
def test_p_is_the_share_of_exchanges_that_differ_as_much(two_columns: bool) -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 3, (2, 8, 2)) / 2.0
    second[:, 0] = np.maximum(second[:, 0], first[:, 0])
    width = 2 if two_columns else 1
    before, after = first[:, :width], second[:, :width]
    rows = list(range(8))
    observed = abs(slow(after, rows) - slow(before, rows))
    extreme = 0
    for swapped in product([False, True], repeat=8):
        chosen = np.array(swapped)[:, None]
        one, other = np.where(chosen, after, before), np.where(chosen, before, after)
        extreme += abs(slow(other, rows) - slow(one, rows)) >= observed - 1e-12
    (found,) = compare([Measure("s", "m", before)], [Measure("s", "m", after)], everyone(8))
    assert found.p == pytest.approx(extreme / 256, abs=0.02)
    assert found.second - found.first == pytest.approx(slow(after, rows) - slow(before, rows))
    assert found.low <= found.second - found.first <= found.high


def test_a_clear_difference_is_told_from_chance() -> None:
    rng = np.random.default_rng(1)
    before = rng.random(200) < 0.5
    better, noise = before | (rng.random(200) < 0.3), rng.random(200) < 0.5
    group = everyone(200)
    assert compare([measure(*before)], [measure(*better)], group)[0].p < 0.001
    assert compare([measure(*before)], [measure(*noise)], group)[0].p > 0.01


def test_harmonic_is_of_the_means() -> None:
    both = harmonic("s", "f", measure(1, 0), measure(1, 1))
    assert both.value(np.array([True, True])) == pytest.approx(2 / 3)
    assert harmonic("s", "f", measure(0), measure(0)).value(np.array([True])) == 0
    assert np.isnan(harmonic("s", "f", measure(nan), measure(nan)).value(np.array([True])))
