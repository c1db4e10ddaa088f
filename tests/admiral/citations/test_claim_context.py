"""What models read of a claim: the order of its pieces, and what is cut where it is too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.claim_context import claim_in_context, fit_pieces
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


@given(_WORDS, _WORDS, _WORDS, _WORDS.filter(bool), st.integers(1, 40))
def test_truncation(title, section, before, claim, limit):
    """Nothing is cut that fits; the end of the claim always stays, and shares are kept."""
    kept = fit_pieces(title, section, before, claim, limit=limit, cost=len)
    pieces = (title, section, before, claim)
    costs = [sum(map(len, piece)) for piece in kept]
    whole = [sum(map(len, piece)) for piece in pieces]
    if sum(whole) <= limit:
        assert kept == pieces
        return
    assert kept[3][-1] == claim[-1]
    assert sum(costs) <= max(limit, len(claim[-1]))
    # Title and section lose their end, and keep at most a fifth; the others lose their beginning.
    for at in (0, 1):
        assert kept[at] == pieces[at][: len(kept[at])]
        assert costs[at] <= limit // 5
    for at in (2, 3):
        assert kept[at] == pieces[at][len(pieces[at]) - len(kept[at]) :]
    if kept[3] != claim:  # the claim is cut only where nothing else is left to cut
        following = claim[-len(kept[3]) - 1]
        assert costs[3] + len(following) > limit
