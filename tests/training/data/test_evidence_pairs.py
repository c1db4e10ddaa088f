"""Pairs of gold claims: complete evidence, evidence without a part, and other documents."""

from __future__ import annotations

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.records import Document
from training.data.evidence_corpora import PassageCorpus
from training.data.evidence_pairs import PairSettings, evidence_pairs
from training.data.verification_pairs import Pair

DOCUMENTS = [
    Document("Rome", ("Rome is in Italy.", "It has seven hills.", "Rome is old.")),
    Document("Italy", ("Italy is in Europe.", "Its capital is Rome.")),
    Document("Oslo", ("Oslo is in Norway.", "It is cold.", "It has trams.")),
]
CORPUS = PassageCorpus(DOCUMENTS)
ONE = (("Rome", 1),)
TWO = (("Rome", 0), ("Italy", 0))


def pairs(label: Label | None, *evidence: tuple[tuple[str, int], ...], seed: int = 0) -> list[Pair]:
    claim = GoldClaim("1", "A claim.", label, evidence)
    return list(evidence_pairs(claim, CORPUS, "s", PairSettings(), random.Random(seed)))


@pytest.mark.parametrize("seed", range(10))
def test_the_label_depends_on_what_is_missing(seed: int) -> None:
    whole, part, other = pairs(Label.SUPPORTS, TWO, seed=seed)
    assert (whole.label, whole.relevance) == ("entailment", True)
    assert "Rome is in Italy." in whole.evidence
    assert "Italy is in Europe." in whole.evidence
    assert (part.label, part.relevance) == ("neutral", True)
    assert ("Rome is in Italy." in part.evidence) != ("Italy is in Europe." in part.evidence)
    assert (other.label, other.relevance) == ("neutral", False)
    assert other.evidence.startswith("Oslo: ")
    whole, part, _ = pairs(Label.REFUTES, TWO, seed=seed)
    assert (whole.label, part.label) == ("contradiction", "not_entailment")
    whole, part, _ = pairs(Label.REFUTES, ONE, seed=seed)
    assert (part.label, part.relevance) == ("neutral", False)
    assert "seven hills" not in part.evidence
    whole, part, _ = pairs(Label.NOT_SUPPORTED, TWO, seed=seed)
    assert whole.label == part.label == "not_entailment"


@pytest.mark.parametrize("seed", range(10))
def test_sentences_of_alternative_sets_are_never_missing_evidence(seed: int) -> None:
    _, part, _ = pairs(Label.SUPPORTS, ONE, (("Rome", 2),), seed=seed)
    assert part.evidence == "Rome: Rome is in Italy."


def test_claims_without_label_or_sentences_give_no_pairs() -> None:
    assert not pairs(None, ONE)
    assert not pairs(Label.SUPPORTS)
    assert not pairs(Label.SUPPORTS, (("Bern", 0),))
