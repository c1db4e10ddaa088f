"""The division of claims into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.source_scorers import MAX_PARTS, content_words, subclaims
from tests.proofs.helpers import texts


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        ("It was closed.", ["It was closed."]),
        (
            "The bridge was closed for repairs in 1978, and it reopened with a new deck in 1981.",
            [
                "The bridge was closed for repairs in 1978",
                "and it reopened with a new deck in 1981.",
            ],
        ),
        (
            "He lives in Belmar with his family; the house was built by Ida Morton.",
            ["He lives in Belmar with his family", "the house was built by Ida Morton."],
        ),
        ("", []),
        ("the", ["the"]),
    ],
)
def test_parts(claim, parts):
    assert [part.text for part in subclaims(claim)] == parts


@given(texts() | st.text("ab ,;.(1)", max_size=700))
def test_parts_are_in_order_and_keep_all_content_words(claim):
    parts = subclaims(claim)
    assert len(parts) <= MAX_PARTS
    assert bool(parts) == bool(claim.strip(" ,;") and claim.strip())
    end = 0
    for part in parts:
        start = claim.index(part.text, end)
        assert not content_words(claim[end:start])
        end = start + len(part.text)
    if parts:
        assert not content_words(claim[end:])
        assert sum(part.share for part in parts) == pytest.approx(1)
