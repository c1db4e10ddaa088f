"""Scores as probabilities and percentiles."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_weights import CitationWeights
from admiral.errors import AdmiralError
from training.citations import fit_calibration

_SCORES = st.lists(st.floats(-100, 100), min_size=2, max_size=40)


@given(_SCORES, st.floats(-150, 150), st.floats(-150, 150))
def test_percentiles_grow_with_scores(scores, first, second):
    calibration = fit_calibration(scores, [s > 0 for s in scores], "these")
    low, high = sorted((first, second))
    assert 0 <= calibration.percentile(low) <= calibration.percentile(high) <= 100
    assert calibration.percentile(min(scores)) == 0
    assert calibration.percentile(max(scores) + 1) == 100
    for value in (low, high):
        assert 0 <= calibration.probability(value) <= 1


def test_platt_scaling_finds_the_minimum():
    """No neighbour of the fitted parameters has a smaller loss."""
    scores = [-2.0, -1.5, -0.2, 0.1, 0.4, 1.0, 1.2, 3.0]
    labels = [False, False, True, False, True, False, True, True]
    high, low = 5 / 6, 1 / 6

    def loss(slope, intercept):
        total = 0.0
        for score, label in zip(scores, labels, strict=True):
            p, target = 1 / (1 + math.exp(-slope * score - intercept)), high if label else low
            total -= target * math.log(p) + (1 - target) * math.log(1 - p)
        return total

    fitted = fit_calibration(scores, labels, "these")
    slope, intercept = fitted.slope, fitted.intercept
    best = loss(slope, intercept)
    for step in (-1e-2, 1e-2):
        assert loss(slope + step, intercept) >= best
        assert loss(slope, intercept + step) >= best


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"slope"', '"slop"', "calibrations.mixed.slope"),
        ('"mixed"', '"mixes"', "mixed"),
        ('"deviation": 0', '"deviation": -0', "deviation"),
        ('"threshold": ', '"threshold": "x", "y": ', "missing"),
        ("{", "[", "not a file of weights"),
    ],
)
def test_damaged_weights(tmp_path, old, new, field):
    path = tmp_path / "weights.json"
    text = CitationWeights.bundled().to_json()
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(AdmiralError, match=field):
        CitationWeights.read(path)
