"""Values of single words and of several words together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.lexicons.values import excludes, merge_values, same_value, value
from tests.proofs.hostile_texts import NASTY
from tests.proofs.spelled_numbers import UNITS, spelled


@given(st.integers(0, 10**12 - 1))
def test_spelled_numbers_merge_into_digits(number):
    (digits,) = merge_values(spelled(number).split())
    assert value(digits) in (("number", str(number)), ("year", str(number)))
    assert same_value(digits, f"{number:,}")


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_ordinals_are_equal_or_exclude_each_other(left, right):
    assert same_value(f"{left}th", f"{right}th") is (left == right)
    assert excludes(f"{left}th", f"{right}th") is (left != right)


@given(st.lists(st.sampled_from(NASTY) | st.text(max_size=4), max_size=6))
def test_merging_keeps_other_words(norms):
    plain = [norm for norm in norms if not any(c.isdigit() for c in norm)]
    assert [n for n in merge_values(plain) if n not in UNITS] == [
        n for n in plain if n not in UNITS
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two three", "two|three"),
        ("five and six", "five|and|six"),
        ("hundred and one", "hundred|and|one"),
        ("two hundred and", "200|and"),
        ("nineteen seventy", "nineteen|seventy"),
        ("1.5 million span_trie", "1500000|span_trie"),
        ("28 december 1973", "28th|december|1973"),
        ("the united states of america", "the|united states|of|america"),
    ],
)
def test_merge_values_examples(text, expected):
    assert "|".join(merge_values(text.split())) == expected
