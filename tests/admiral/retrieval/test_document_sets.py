"""Set scores (equations 1 and 2) against the obvious sum of probabilities."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.document_sets import ScoredSequence, document_sets, log_sum_exp

TITLES = st.sampled_from(["a", "b", "c", "d"])
SEQUENCES = st.lists(
    st.builds(
        ScoredSequence,
        kept=st.lists(TITLES, max_size=2, unique=True).map(tuple),
        title=TITLES,
        score=st.floats(-30, 0),
    ),
    max_size=20,
)


@given(SEQUENCES)
def test_a_set_has_the_sum_of_the_probabilities_of_its_sequences(
    sequences: list[ScoredSequence],
) -> None:
    sums: dict[frozenset[str], float] = {}
    for one in sequences:
        if one.title not in one.kept:
            key = frozenset((*one.kept, one.title))
            sums[key] = sums.get(key, 0.0) + math.exp(one.score)
    found = document_sets(sequences)
    assert {frozenset(s.titles) for s in found} == set(sums)
    assert len(found) == len(sums)
    for one_set in found:
        assert math.exp(one_set.score) == pytest.approx(sums[frozenset(one_set.titles)])
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)


def test_titles_are_in_the_order_of_the_most_probable_sequence() -> None:
    sequences = [
        ScoredSequence(("a", "b"), "c", -5.0),
        ScoredSequence(("c", "b"), "a", -1.0),
        ScoredSequence(("a",), "a", -0.1),
    ]
    (only,) = document_sets(sequences)
    assert only.titles == ("c", "b", "a")
    assert only.score == pytest.approx(math.log(math.exp(-5) + math.exp(-1)))


def test_log_sum_exp_does_not_overflow() -> None:
    assert log_sum_exp([]) == -math.inf
    assert log_sum_exp([-math.inf, -math.inf]) == -math.inf
    assert log_sum_exp([1e4, 1e4]) == pytest.approx(1e4 + math.log(2))
