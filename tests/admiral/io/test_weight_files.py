"""Files of fitted weights."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.weight_files import fields, numbers, read_weights

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
