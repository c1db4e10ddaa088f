"""Counts of a claim's words, by hand and beside a slow look at each word."""

import re

from hypothesis import given

from proofs.judges.claim_wording import Wording
from proofs.logic.words import pieces
from tests.proofs.hostile import claims


def test_words_are_counted() -> None:
    found = Wording.of(
        "The director of The Hurt Locker, who was born in California, is not the older sister of "
        "Ada Quill. Both also acted."
    )
    assert (found.sharing, found.setting_apart, found.relative) == (2, 2, 1)
    assert (found.definite, found.sentences) == (2, 2)
    assert found.names == (("hurt", "locker"), ("california",), ("ada", "quill"))


def test_names_go_on_over_small_words_and_end_with_the_sentence() -> None:
    assert Wording.of("He saw the Bay of Bengal. Ada sang.").names == (
        ("bay", "of", "bengal"),
        ("ada",),
    )
    assert Wording.of("In 1990 the Bank of").names == (("bank",),)
    assert Wording.of("").names == () and Wording.of("and 1990").names == ()


@given(claims)
def test_names_stand_in_the_claim(claim: str) -> None:
    found = Wording.of(claim)
    norms = [word.norm for word in pieces(claim) if word.norm]
    for name in found.names:
        starts = range(len(norms) - len(name) + 1)
        assert any(tuple(norms[at : at + len(name)]) == name for at in starts)
    assert found.relative == len(
        [norm for norm in norms if re.fullmatch("who|whose|which|that|where", norm)]
    )
