"""What models read of a claim: the order of its pieces, and what is cut where it is too long."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.claim_texts import claim_in_context
from tests.admiral.citations.cited_pages import CLAIM, claim

_WORDS = st.lists(st.text("abc", min_size=1, max_size=6), max_size=12)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("claim", CLAIM.claim),
        ("sentence", f"Belmar: Transport Bridges: The older one is of stone. {CLAIM.claim}"),
        ("all", f"Belmar: Transport Bridges: {CLAIM.before} {CLAIM.claim}"),
    ],
)
def test_forms(form, expected):
    assert claim_in_context(CLAIM, form) == expected


def test_a_claim_without_context_is_the_claim():
    for form in ("claim", "sentence", "all"):
        assert claim_in_context(claim(" One\nword  "), form) == "One word"


def test_what_is_next_to_the_claim_stays():
    text = claim_in_context(CLAIM, "all", max_tokens=20)
    assert text.endswith(CLAIM.claim)
    assert "stone." in text.split()
    assert "Belmar has two" not in text


def test_a_long_claim_loses_its_beginning_and_all_context():
    assert claim_in_context(CLAIM, "all", max_tokens=3) == "by Ada Lane."


@given(_WORDS, _WORDS, _WORDS.filter(bool), st.integers(1, 40))
def test_nothing_is_cut_that_fits(title, before, words, limit):
    own = claim(" ".join(words), page=" ".join(title))
    own = replace(own, before=" ".join(before))
    text = claim_in_context(own, "all", max_tokens=limit, cost=len)
    whole = claim_in_context(own, "all", max_tokens=10_000)
    size = len(text.replace(" ", "").replace(":", ""))
    assert text.split()[-1] == words[-1]
    assert size <= max(limit, len(words[-1]))
    if len(whole.replace(" ", "").replace(":", "")) <= limit:
        assert text == whole
