"""Counts of a claim's words, by hand and compared with a slow search."""

import re

from hypothesis import given

from proofs.judges.claim_wording import ClaimWording
from proofs.logic.words import split_words
from tests.proofs.hostile_texts import claims


def test_counts_of_an_example() -> None:
    wording = ClaimWording.count(
        "The director of The Hurt Locker, who was born in California, is not the older sister of "
        "Ada Quill. Both also acted."
    )
    assert (wording.sharing, wording.contrast, wording.relative) == (2, 2, 1)
    assert (wording.definite, wording.sentences) == (2, 2)
    assert wording.names == (("hurt", "locker"), ("california",), ("ada", "quill"))


def test_names_continue_over_connectors_and_end_with_the_sentence() -> None:
    assert ClaimWording.count("He saw the Bay of Bengal. Ada sang.").names == (
        ("bay", "of", "bengal"),
        ("ada",),
    )
    assert ClaimWording.count("In 1990 the Bank of").names == (("bank",),)
    assert ClaimWording.count("").names == ()
    assert ClaimWording.count("and 1990").names == ()


@given(claims)
def test_names_occur_in_the_claim(claim: str) -> None:
    wording = ClaimWording.count(claim)
    norms = [word.norm for word in split_words(claim) if word.norm]
    for name in wording.names:
        starts = range(len(norms) - len(name) + 1)
        assert any(tuple(norms[at : at + len(name)]) == name for at in starts)
    assert wording.relative == len(
        [norm for norm in norms if re.fullmatch("who|whose|which|that|where", norm)]
    )
