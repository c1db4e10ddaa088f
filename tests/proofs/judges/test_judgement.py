"""Texts that state nothing have no verdict, whatever the verifier says of them."""

from __future__ import annotations

import pytest

from proofs.judges.judgement import form_warning
from proofs.judges.verifier_judge import VerifierJudge
from tests.proofs.verifier.fixed_verifier import FixedVerifier


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Was Ada born in Kallby?", "question"),
        ("Emmy Awards?", "question"),
        ('Who wrote "Emma?"', "question"),
        ("I think that Ada is the best painter.", "opinion"),
        ("In my opinion, Oslo is too cold.", "opinion"),
        ("Seth Meyers", "name"),
        ("The Lord of the Rings", "name"),
    ],
)
def test_what_states_nothing_is_named(text: str, says: str) -> None:
    assert says in (form_warning(text) or "")
    (judgement,) = VerifierJudge(FixedVerifier((0.9, 0.05, 0.05))).judge(
        [text], [[("Ada", f"Ada wrote of this: {text}")]]
    )
    assert (judgement.verdict, judgement.proof, judgement.verdicts) == (None, None, None)
    assert judgement.sufficient  # a search for it may stop


@pytest.mark.parametrize(
    "text",
    [
        "Dogs bark.",
        "Rome Burns.",
        "Seth Meyers was born in Illinois",
        "Who's Who is a book.",
        "The film Why? was released in 2001.",
        "Ada thinks that Oslo is cold.",
        "1984 is a novel",
        "dogs bark",
        "",
    ],
)
def test_claims_are_not(text: str) -> None:
    assert form_warning(text) is None
