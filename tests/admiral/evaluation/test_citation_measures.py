"""Measures of scores against obvious definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_file import WiceCitation
from admiral.citations.citation_records import Citation, CitedClaim
from admiral.errors import AdmiralError
from admiral.evaluation.citation_evaluation import (
    auroc,
    auroc_interval,
    evaluate_citations,
    lowest_share,
    precision_at_recall,
)
from admiral.sources import Source

_LABELLED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30)


@given(_LABELLED)
def test_auroc_counts_pairs(pairs):
    positives = [score for score, label in pairs if label]
    negatives = [score for score, label in pairs if not label]
    value = auroc(positives, negatives)
    if not positives or not negatives:
        assert math.isnan(value)
        return
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    assert value == pytest.approx(wins / len(positives) / len(negatives))


def test_intervals_hold_the_middle_95_of_100_resamples():
    """Half of the claims are positive: the AUROC of a coin varies as statistics say."""
    claims = 400
    rng = np.random.default_rng(5)
    value, low, high = auroc_interval(rng.random(claims // 2), rng.random(claims // 2))
    # The standard error of the U statistic, and the quantiles of the normal distribution.
    half = claims / 2
    error = math.sqrt((claims + 1) / (12 * half * half))
    below, above = value - low, high - value
    assert below / error == pytest.approx(1.96, rel=0.1)  # 1.64 for 90 of 100
    assert above / error == pytest.approx(1.96, rel=0.1)


def test_precision_at_recall():
    bad = [True, False, True, False, False, True, False]
    scores = [float(n) for n in range(7)]
    assert precision_at_recall(scores, bad, 0.15) == 1.0
    assert precision_at_recall(scores, bad, 0.5) == pytest.approx(2 / 3)
    assert precision_at_recall(scores, bad, 1.0) == pytest.approx(3 / 6)
    assert math.isnan(precision_at_recall(scores, [False] * 7))
    assert lowest_share(scores, bad, 0.4) == pytest.approx(2 / 3)


def _record(score, decision):
    return {
        "decision": decision,
        "flagged": decision in ("flag", "replace"),
        "existing": [{"score": score}],
        "suggestions": [],
    }


def _gold(id, label):
    claim = CitedClaim(id, "A claim.", citations=(Citation(f"wice:{id}"),))
    return WiceCitation(claim, Source(f"wice:{id}", "", "text"), label)


def test_unread_sources_count_in_no_measure():
    gold = [_gold("1", "supported"), _gold("2", "not_supported"), _gold("3", "not_supported")]
    verdicts = {
        "1": _record(1.0, "keep"),
        "2": _record(-1.0, "flag"),
        "3": _record(None, "not_checked"),
    }
    result = evaluate_citations(gold, verdicts)
    assert (result.claims, result.not_scored) == (3, 1)
    assert result.measures["AUROC, supported > not"][0] == 1.0
    assert result.measures["balanced accuracy of flags, not v rest"][0] == 1.0
    assert result.decisions["not_checked"]["not_supported"] == 1
    with pytest.raises(AdmiralError, match="claim '4'"):
        evaluate_citations([*gold, _gold("4", "supported")], verdicts)
