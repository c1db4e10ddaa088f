"""Networks compared with numpy, and errors in their files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.network import HiddenUnit, network_score, read_units

NAMES = ("a", "b", "c")
NUMBERS = st.floats(-5, 5)
ROWS = st.lists(NUMBERS, min_size=3, max_size=3)
UNITS = st.builds(
    HiddenUnit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(NAMES, row, strict=True)))
)


@given(st.lists(UNITS, min_size=1, max_size=4), ROWS)
def test_network_score_equals_numpy(units: list[HiddenUnit], row: list[float]) -> None:
    weights = np.array([list(unit.weights.values()) for unit in units])
    votes, biases = (np.array([getattr(unit, name) for unit in units]) for name in ("vote", "bias"))
    score = network_score(units, dict(zip(NAMES, row, strict=True)))
    assert np.isclose(score, votes @ np.tanh(weights @ np.array(row) + biases), atol=1e-12)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "'units': expected a list"),
        ({}, "'units': expected a list"),
        ([7], r"'units\[0\]': expected an object"),
        ([{"vote": 1, "bias": 0}], r"'units\[0\].weights': is missing"),
        ([{"vote": 1, "bias": 0, "weights": {"a": 1, "b": 2}}], r"\.weights\.c': is missing"),
        ([{"vote": 1, "bias": 0, "weights": dict.fromkeys("abcd", 1)}], r"\.weights\.d': is unk"),
        ([{"vote": "1", "bias": 0, "weights": dict.fromkeys("abc", 1)}], r"\.vote': expected a n"),
    ],
)
def test_bad_units_raise_with_the_field(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_units(Path("w.json"), record, NAMES)
