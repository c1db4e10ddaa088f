"""Files of fitted weights, and the scores of small networks."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.fitted_weights import (
    HiddenUnit,
    fields,
    network_score,
    numbers,
    read_units,
    read_weights,
)

FINE = st.integers(-1_000_000, 1_000_000) | st.floats(-1e6, 1e6)
HERE = Path("weights.json")


@given(st.dictionaries(st.text(), FINE))
def test_numbers_are_read_as_floats(record):
    values = numbers(HERE, "", record, tuple(record))
    assert values == record
    assert all(isinstance(value, float) for value in values.values())


@given(
    st.dictionaries(st.sampled_from("abcd"), FINE, min_size=1),
    st.sampled_from([None, "7", True, [], 1_000_001, -1e7, 10**400, float("nan"), float("-inf")]),
)
def test_bad_number_raises_with_the_field(record, wrong):
    name = max(record)
    with pytest.raises(ValueError, match=rf"^weights.json: field 'x.{name}': expected a number"):
        numbers(HERE, "x", record | {name: wrong}, tuple(record))


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))
def test_fields_must_match_exactly(actual, expected):
    record = dict.fromkeys(actual, 1)
    if actual == expected:
        assert fields(HERE, "", record, sorted(expected)) == record
        return
    first = min(actual ^ expected)
    message = f"field '{first}': is {'missing' if first in expected else 'unknown'}; fit it anew"
    with pytest.raises(ValueError, match=re.escape(message)):
        fields(HERE, "", record, sorted(expected))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff{}", b"[" * 10**5, None])
def test_bad_file_raises(tmp_path, content):
    path = tmp_path / "weights.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"weights\.json: not a file of weights .*; fit it anew$"):
        read_weights(path, ("a",))
    path.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"weights\.json: expected an object; fit it anew$"):
        read_weights(path, ("a",))
    path.write_text('{"a": 2}')
    assert read_weights(path, ("a",)) == {"a": 2}


NAMES = ("a", "b", "c")
NUMBERS = st.floats(-5, 5)
ROWS = st.lists(NUMBERS, min_size=3, max_size=3)
UNITS = st.builds(
    HiddenUnit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(NAMES, row, strict=True)))
)


@given(st.lists(UNITS, min_size=1, max_size=4), ROWS)
def test_network_score_equals_numpy(units, row):
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
def test_bad_units_raise_with_the_field(record, message):
    with pytest.raises(ValueError, match=message):
        read_units(Path("w.json"), record, NAMES)
