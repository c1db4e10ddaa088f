"""Measures of classifiers against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.verification.verifier_loss import calibration_error, macro_f1, measure, roc_area

LABELS = ("entailment", "neutral", "contradiction")


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_the_area_is_the_share_of_ordered_pairs(rows: list[tuple[int, bool]]) -> None:
    positive = [score for score, is_positive in rows if is_positive]
    negative = [score for score, is_positive in rows if not is_positive]
    area = roc_area(np.array([s for s, _ in rows]), np.array([p for _, p in rows], dtype=bool))
    if not positive or not negative:
        assert area is None
        return
    wins = [(p > n) + (p == n) / 2 for p in positive for n in negative]
    assert area == pytest.approx(np.mean(wins))


def test_f1_and_calibration() -> None:
    assert macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1])) == pytest.approx(2 / 3)
    assert macro_f1(np.array([0, 0]), np.array([0, 2])) == pytest.approx(2 / 3)
    confidence, correct = np.array([0.8, 0.8, 1.0]), np.array([True, False, True])
    assert calibration_error(confidence, correct) == pytest.approx((1.6 - 1) / 3)


def test_a_constant_answer_scores_low() -> None:
    constant = np.tile([0.8, 0.1, 0.1], (6, 1))
    values = measure([*LABELS, *LABELS], constant)
    assert values["auc"] == 0.5
    assert values["macro_f1"] == pytest.approx(1 / 6)


def test_pairs_that_are_only_known_not_to_be_entailed_are_measured_with_two_classes() -> None:
    rows = np.array([[0.6, 0.2, 0.2], [0.4, 0.3, 0.3], [0.45, 0.15, 0.4]])
    values = measure(["entailment", "not_entailment", "contradiction"], rows)
    assert values["accuracy"] == values["macro_f1"] == values["auc"] == 1
    assert "auc" not in measure(["neutral"], rows[:1])
