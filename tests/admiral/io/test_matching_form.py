"""Spellings that look the same have one form, and digits never join."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.matching_form import matching_form, matching_form_with_offsets

TEXTS = st.text(
    st.sampled_from("aé1 e\u0301⁶₂½ﬁ’–\u00ad\u200b\u2060ＡＢ'-´\ufe0fｶﾞ각ᄀ\u1161") | st.characters()
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("L’Été", "L'Été"),
        ("E\u0301te\u200b\u0301", "Été"),
        ("sea‐lion − 5–6", "sea-lion - 5-6"),
        ("co\u00adfﬁn \u2060ＡＢ１", "coffin AB1"),
        ("a\u00a0b", "a b"),
        ("10⁻⁶ m², 5½ and ½, 3₂", "10^-6 m2, 5 1⁄2 and 1⁄2, 3_2"),
    ],
)
def test_forms(text, form):
    assert matching_form(text) == form


@given(TEXTS)
def test_the_form_is_idempotent(text):
    form = matching_form(text)
    assert matching_form(form) == form


@given(TEXTS)
def test_offsets_ascend_and_lie_in_the_text(text):
    form, offsets = matching_form_with_offsets(text)
    assert len(offsets) == len(form) + 1
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)
    assert all(0 <= offset <= len(text) for offset in offsets)


@given(st.text(st.sampled_from("12⁶₂½ a"), max_size=12))
def test_raised_numbers_join_no_digits(text):
    longest = max(map(len, re.findall("[12]+|[⁶]+|[₂]+", text)), default=0)
    found = re.findall("[0-9]+", matching_form(text))
    assert max(map(len, found), default=0) <= max(longest, "½" in text)
