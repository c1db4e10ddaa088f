from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.evaluation.overlap import (
    best_overlap,
    counted_f1,
    exact_match,
    recall_at,
)

SETS = [frozenset("AB"), frozenset("C")]
titles = st.lists(st.sampled_from("ABCD"), unique=True)
sets = st.lists(st.frozensets(st.sampled_from("ABCD"), min_size=1), max_size=3)


def test_one_whole_set_is_enough() -> None:
    assert recall_at(SETS, "ADB", 3) and not recall_at(SETS, "ADB", 2)
    assert recall_at(SETS, "DC", 2) and not recall_at(SETS, "DC", 1)
    assert recall_at(SETS, "C", 100) and not recall_at([], "ABC", 3)


def test_exact_match_asks_for_as_many_as_are_needed() -> None:
    assert exact_match(SETS, "BAD") and exact_match(SETS, "CAB")
    assert not exact_match(SETS, "ADB") and not exact_match(SETS, "A") and not exact_match([], "A")


def test_overlap_is_with_the_best_set() -> None:
    assert best_overlap(SETS, ["A", "D"]) == pytest.approx((0.5, 0.5, 0.5))
    assert best_overlap(SETS, ["A", "C"]) == pytest.approx((0.5, 1.0, 2 / 3))
    assert best_overlap(SETS, []) == best_overlap(SETS, ["D"]) == (0, 0, 0)


def test_f1_counts_repetitions() -> None:
    assert counted_f1("AAB", "AB") == pytest.approx(0.8)
    assert counted_f1("AB", "AAB") == pytest.approx(0.8)
    assert counted_f1("", "") == 1 and counted_f1("A", "") == counted_f1("", "A") == 0


@given(sets, titles, st.integers(1, 5))
def test_recall_and_match_agree_with_counting(
    gold: list[frozenset[str]], ranking: list[str], k: int
) -> None:
    whole = any(sum(title in one for title in ranking[:k]) == len(one) for one in gold)
    assert recall_at(gold, ranking, k) == whole
    first = any(sorted(ranking[: len(one)]) == sorted(one) for one in gold)
    assert exact_match(gold, ranking) == first


@given(sets, titles)
def test_overlap_agrees_with_its_definition(gold: list[frozenset[str]], found: list[str]) -> None:
    overlap = best_overlap(gold, found)
    scores = []
    for one in gold:
        right = [title for title in found if title in one]
        precision, recall = len(right) / max(len(found), 1), len(right) / len(one)
        scores.append(2 * precision * recall / (precision + recall) if right else 0.0)
    assert overlap.f1 == pytest.approx(max(scores, default=0.0))
    if overlap.f1:
        mean = 2 / (1 / overlap.precision + 1 / overlap.recall)
        assert overlap.f1 == pytest.approx(mean)
