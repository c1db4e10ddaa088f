"""Examples of choosing sentences: what is chosen before, what is missing, and hard candidates."""

from __future__ import annotations

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.records import Document
from training.data.evidence_corpora import PassageCorpus
from training.data.examples import UNLABELLED, Example
from training.data.selection_examples import selection_examples

DOCUMENTS = [
    Document("Rome", ("Rome is in Italy.", "It has seven hills.", "Rome is old.")),
    Document("Italy", ("Italy is in Europe.", "Its capital is Rome.")),
    Document("Oslo", ("Oslo is in Norway.", "It is a cold capital in Europe.", "It has trams.")),
]
GOLD = {("Rome", "Rome is in Italy."), ("Italy", "Italy is in Europe.")}


def examples(claim: GoldClaim, seed: int) -> list[Example]:
    return list(selection_examples(claim, PassageCorpus(DOCUMENTS), "s", random.Random(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_gold_sentences_are_relevant_and_what_is_known_comes_first(seed: int) -> None:
    claim = GoldClaim("1", "Rome is in Europe.", Label.SUPPORTS, ((("Rome", 0), ("Italy", 0)),))
    found = examples(claim, seed)
    assert len(found) in (2, 3)
    known = []
    for example in found:
        assert (example.label, example.weight, example.group) == (UNLABELLED, 1.0, "1")
        labels = dict(zip(example.evidence, example.sentences, strict=True))
        assert len(labels) == len(example.evidence)
        assert {one for one, label in labels.items() if label == "relevant"} <= GOLD
        assert all(label == "neutral" for one, label in labels.items() if one not in GOLD)
        known.append(sum(one in GOLD for one in example.evidence))
    # With nothing known, one to all of the gold sentences are candidates; later, the missing one.
    assert 1 <= known[0] <= 2 and known[1] == 2


def test_without_gold_sentences_the_closest_one_counts_less() -> None:
    claim = GoldClaim("1", "Oslo is a cold capital.", Label.SUPPORTS, ((("Oslo", None),),))
    for example in examples(claim, 0):
        labels = dict(zip(example.evidence, example.sentences, strict=True))
        assert labels["Oslo", "It is a cold capital in Europe."] == "relevant"
        assert example.weight == 0.5


def test_claims_without_gold_documents_here_have_none() -> None:
    assert examples(GoldClaim("1", "A.", Label.SUPPORTS, ((("Paris", 0),),)), 0) == []
    assert examples(GoldClaim("1", "A.", Label.SUPPORTS, ((("Paris", None),),)), 0) == []
    assert examples(GoldClaim("1", "A.", Label.NOT_ENOUGH_INFO, ()), 0) == []
