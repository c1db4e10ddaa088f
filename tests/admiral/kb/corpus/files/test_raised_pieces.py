"""Pieces of raised and lowered text are written on one line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.files import joined_text, written


@pytest.mark.parametrize(
    ("before", "raised", "text"),
    [
        ("about 10", "9", "about 10^9"),
        ("3×10", "−4", "3×10^−4"),
        ("25 km", "2", "25 km^2"),
        ("25 miles", "2", "25 miles^2"),
        ("8 in", "2", "8 in^2"),
        ("x", "2", "x^2"),
        ("2", "n", "2^n"),
        ("the 3", "rd", "the 3rd"),
        ("the river", "4", "the river"),
        ("It rains.", "4", "It rains."),
        ("It rains.", "4, 5", "It rains."),
        ("since 1804", "4", "since 1804"),
        ("it", "4", "it"),
        ("it", "[4]", "it"),
        ("it", "*", "it"),
        ("as ", "14", "as "),
        ("Brand", "TM", "Brand™"),
    ],
)
def test_raised_text(before, raised, text):
    assert joined_text([(before, ""), (raised, "raised")]) == text
    assert joined_text([(before, ""), *((c, "raised") for c in raised)]) == text


def test_a_raised_number_may_begin_a_word():
    assert joined_text([("as ", ""), ("14", "raised"), ("C", "")]) == "as 14C"
    assert written("as ", "14", "raised") == "14"
    assert written("the river", "4", "raised") == ""


def test_lowered_text_and_fractions():
    assert joined_text([("H", ""), ("2", "lowered"), ("O", "")]) == "H2O"
    assert joined_text([("101", ""), ("2", "lowered")]) == "101_2"
    assert joined_text([("7", ""), ("3", "raised"), ("/", ""), ("4", "lowered")]) == "7 3/4"


@given(
    st.lists(
        st.tuples(st.text("a1 .,/", max_size=4), st.sampled_from(("", "raised", "lowered"))),
        max_size=6,
    )
)
def test_no_number_is_longer_than_in_its_piece(pieces):
    longest = 0
    merged = []
    for text, position in pieces:
        if merged and merged[-1][1] == position:
            merged[-1][0] += text
        else:
            merged.append([text, position])
    numbers = {n for text, _ in merged for n in re.findall(r"\d+", text)}
    longest = max(map(len, numbers), default=0)
    plain_only = all(position == "" or not text for text, position in pieces)
    if not plain_only and all(text for text, _ in merged):
        found = re.findall(r"\d+", joined_text(pieces))
        assert max(map(len, found), default=0) <= longest
