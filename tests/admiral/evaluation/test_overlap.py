"""Overlap functions against hand-computed values and slow definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.evaluation.measures import best_overlap, exact_match, multiset_f1, recall_at_k

SETS = [frozenset("AB"), frozenset("C")]
titles = st.lists(st.sampled_from("ABCD"), unique=True)
sets = st.lists(st.frozensets(st.sampled_from("ABCD"), min_size=1), max_size=3)


def test_recall_needs_one_complete_set():
    assert recall_at_k(SETS, "ADB", 3)
    assert not recall_at_k(SETS, "ADB", 2)
    assert recall_at_k(SETS, "DC", 2)
    assert not recall_at_k(SETS, "DC", 1)
    assert recall_at_k(SETS, "C", 100)
    assert not recall_at_k([], "ABC", 3)


def test_multiset_f1_counts_repetitions():
    assert multiset_f1("AAB", "AB") == pytest.approx(0.8)
    assert multiset_f1("AB", "AAB") == pytest.approx(0.8)
    assert multiset_f1("", "") == 1
    assert multiset_f1("A", "") == multiset_f1("", "A") == 0


@given(sets, titles, st.integers(1, 5))
def test_recall_and_exact_match_agree_with_counting(gold, ranking, k):
    whole = any(sum(title in one for title in ranking[:k]) == len(one) for one in gold)
    assert recall_at_k(gold, ranking, k) == whole
    first = any(sorted(ranking[: len(one)]) == sorted(one) for one in gold)
    assert exact_match(gold, ranking) == first


@given(sets, titles)
def test_best_overlap_agrees_with_its_definition(gold, found):
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
