"""Means, confidence intervals and p-values against slow reference implementations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from admiral.evaluation.bootstrap import _bootstrap_weights, confidence_intervals, paired_comparison
from admiral.evaluation.measures import Group, Measure, harmonic_mean_measure

numbers = st.one_of(st.just(float("nan")), st.integers(0, 4).map(lambda n: n / 4))
nan = float("nan")


def measure(*values):
    return Measure("s", "m", np.array(values, dtype=np.float64).reshape(-1, 1))


def everyone(count):
    return Group("all", np.ones(count, dtype=bool))


def slow(columns, rows):
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
def test_value_is_the_mean_over_counted_claims(columns):
    one = Measure("s", "m", columns)
    members = np.arange(len(columns)) % 2 == 0
    for group in (members, ~members, members | True):
        expected = slow(columns, np.flatnonzero(group).tolist())
        assert one.value(group) == pytest.approx(expected, nan_ok=True)
        assert one.count(group) == (~np.isnan(columns[group, 0])).sum()


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 2)), elements=numbers))
def test_intervals_are_percentiles_of_resampled_means(columns):
    group = everyone(len(columns))
    ((low, high),) = confidence_intervals(
        [Measure("s", "m", columns)], group, seed=3, n_resamples=60
    )
    drawn = []
    for block in _bootstrap_weights(len(columns), 3, 60):
        for counts in block:
            assert counts.sum() == len(columns)
            drawn.append(slow(columns, np.repeat(np.arange(len(columns)), counts.astype(int))))
    kept = [value for value in drawn if not np.isnan(value)]
    expected = np.percentile(kept, [2.5, 97.5]) if kept else (nan, nan)
    assert (low, high) == pytest.approx(tuple(expected), nan_ok=True)


def test_identical_runs_have_p_value_1():
    one = measure(0, 1, 1, nan)
    (found,) = paired_comparison([one], [one], everyone(4))
    assert (found.first, found.second, found.n_claims) == (2 / 3, 2 / 3, 3)
    assert (found.low, found.high, found.p_value) == (0, 0, 1)


@pytest.mark.parametrize("two_columns", [False, True])
def test_p_value_matches_the_exact_randomisation_test(two_columns):
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
    (found,) = paired_comparison(
        [Measure("s", "m", before)], [Measure("s", "m", after)], everyone(8)
    )
    assert found.p_value == pytest.approx(extreme / 256, abs=0.02)
    assert found.second - found.first == pytest.approx(slow(after, rows) - slow(before, rows))
    assert found.low <= found.second - found.first <= found.high


def test_harmonic_mean_is_taken_of_the_means():
    both = harmonic_mean_measure("s", "f", measure(1, 0), measure(1, 1))
    assert both.value(np.array([True, True])) == pytest.approx(2 / 3)
    assert harmonic_mean_measure("s", "f", measure(0), measure(0)).value(np.array([True])) == 0
    assert np.isnan(
        harmonic_mean_measure("s", "f", measure(nan), measure(nan)).value(np.array([True]))
    )
