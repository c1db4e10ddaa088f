"""Pairs of claims without gold sentences."""

from __future__ import annotations

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.records import Document
from training.data.evidence_corpora import PassageCorpus
from training.data.page_pairs import page_pairs
from training.data.verification_pairs import Pair

CORPUS = PassageCorpus(
    [
        Document("Rome", ("Old.", "It has hills.", "It is a capital.", "Big.", "It has trams.")),
        Document("Oslo", ("It is cold.",)),
    ]
)


def pairs(label: Label | None, *titles: str) -> list[Pair]:
    sets = tuple(((title, None),) for title in titles)
    claim = GoldClaim("1", "The capital has seven hills and trams.", label, sets)
    return list(page_pairs(claim, CORPUS, "s", random.Random(0)))


def test_the_closest_sentences_of_a_known_page_are_the_evidence() -> None:
    pair, _ = pairs(Label.REFUTES, "Bern", "Rome")
    assert (pair.label, pair.weight, pair.relevance) == ("contradiction", 0.5, True)
    assert "Big." not in pair.evidence
    for text in ("It has hills.", "It is a capital.", "It has trams."):
        assert text in pair.evidence


def test_the_evidence_is_repeated_among_sentences_of_other_documents() -> None:
    _, pair = pairs(Label.REFUTES, "Bern", "Rome")
    assert (pair.label, pair.weight, pair.relevance) == ("contradiction", 0.5, True)
    assert "Oslo: It is cold." in pair.evidence
    assert [text in pair.evidence for text in CORPUS.document("Rome").sentences].count(True) == 2


def test_without_enough_information_the_evidence_is_what_retrieval_finds() -> None:
    (pair,) = pairs(Label.NOT_ENOUGH_INFO)
    assert (pair.label, pair.relevance) == ("neutral", None)
    assert "Rome: " in pair.evidence
    assert "Oslo: It is cold." in pair.evidence


@pytest.mark.parametrize(
    ("label", "titles"), [(None, ("Rome",)), (Label.SUPPORTS, ()), (Label.SUPPORTS, ("Bern",))]
)
def test_other_claims_give_no_pair(label: Label | None, titles: tuple[str, ...]) -> None:
    assert not pairs(label, *titles)


def test_claims_with_gold_sentences_are_left_to_others() -> None:
    claim = GoldClaim("1", "A claim.", Label.SUPPORTS, ((("Rome", 0),),))
    assert not list(page_pairs(claim, CORPUS, "s", random.Random(0)))
