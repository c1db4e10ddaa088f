"""Examples of passages: what decides a claim, and the sentences around it."""

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.records import Document
from training.data.evidence_corpora import GivenDocuments
from training.data.examples import Example
from training.data.passages import inference_passages, passage_examples

BRIDGE = (
    "The Orrin Bridge spans the Tolk.",
    "Masons of the valley laid its stones.",
    "It was opened in 1911 by a mayor of the valley after nine years of work.",
    "Two towers stand at its ends.",
    "Its opening in 1911 drew many people.",
    "Swallows nest below the arches.",
    "Repairs closed one lane for months.",
)
TOWN = ("Tolkham is a town on the Tolk.", "Its mill burns wood.", "A market is held weekly.")
CORPUS = GivenDocuments([Document("Orrin Bridge", BRIDGE), Document("Tolkham", TOWN)])
CLAIM = "The Orrin Bridge was opened in 1911."
OPENED = BRIDGE[2]
TWO = (("Orrin Bridge", 2), ("Tolkham", 0))


def made(label, *evidence, seed=0, claim=CLAIM):
    gold = GoldClaim("7", claim, label, evidence)
    return list(passage_examples(gold, CORPUS, "s", random.Random(seed)))


def text(example):
    return " ".join(text for _, text in example.evidence)


@pytest.mark.parametrize("seed", range(20))
def test_an_entailed_claim_has_its_passage_with_and_without_what_decides_it(seed):
    whole, without = made(Label.SUPPORTS, (("Orrin Bridge", 2),), seed=seed)
    assert (whole.label, without.label) == ("entailment", "neutral")
    assert whole.group == without.group == "7"
    assert whole.claim == without.claim == CLAIM
    assert OPENED in text(whole)
    assert OPENED not in text(without)
    assert BRIDGE[4] not in text(without)  # it repeats the year
    deciding = [name for (_, own), name in zip(whole.evidence, whole.sentences, strict=True)
                if OPENED in own]  # fmt: skip
    assert deciding == ["entailment"]
    assert set(without.sentences) == {None}
    titles = {title for title, _ in whole.evidence}
    assert titles == {title for title, _ in without.evidence}
    assert titles in ({"Orrin Bridge"}, {""})
    if titles == {""}:
        assert whole.evidence[0] == without.evidence[0] == ("", "Orrin Bridge")


def test_sentences_follow_each_other_and_may_be_joined():
    wholes = [made(Label.SUPPORTS, (("Orrin Bridge", 2),), seed=seed)[0] for seed in range(40)]
    document = " ".join(BRIDGE)
    for example in wholes:
        own = [text for _, text in example.evidence if text != "Orrin Bridge"]
        assert " ".join(own) in document
    assert any(len(example.evidence) > 2 for example in wholes)
    assert any(". " in text for example in wholes for _, text in example.evidence)


def test_one_document_of_several_is_hidden():
    for seed in range(20):
        claim = "The Orrin Bridge, opened in 1911, is near a town."
        whole, without = made(Label.SUPPORTS, TWO, seed=seed, claim=claim)
        assert OPENED in text(whole)
        assert TOWN[0] in text(whole)
        assert (OPENED in text(without)) != (TOWN[0] in text(without))


def test_claims_that_are_not_entailed_have_one_passage():
    (refuted,) = made(Label.REFUTES, (("Orrin Bridge", 2),))
    assert refuted.label == "contradiction"
    assert "contradiction" in refuted.sentences
    (refuted,) = made(Label.REFUTES, TWO)
    assert set(refuted.sentences) - {None} == {"relevant"}
    (open_claim,) = made(Label.NOT_SUPPORTED, (("Orrin Bridge", 2),))
    assert open_claim.label == "not_entailment"


def pair(claim, *texts, label="entailment"):
    return Example(claim, tuple(("", text) for text in texts), label, "pairs")


def test_a_pair_stands_in_the_document_of_its_evidence():
    version = OPENED.replace("a mayor", "its mayor")
    pairs = [
        pair(CLAIM, version),
        pair("It was opened in 1912.", OPENED, label="contradiction"),
        pair(CLAIM, OPENED, label="neutral"),
        pair(CLAIM, OPENED.replace("1911", "1912")),
        pair(CLAIM, "Nobody knows this sentence at all."),
        pair(CLAIM, OPENED, TOWN[0]),
    ]
    whole, without, refuted = inference_passages(pairs, CORPUS, set(), 1)
    labels = [example.label for example in (whole, without, refuted)]
    assert labels == ["entailment", "neutral", "contradiction"]
    assert {example.source for example in (whole, without, refuted)} == {"pairs-passage"}
    assert OPENED in text(whole)
    assert OPENED not in text(without)
    assert OPENED in text(refuted)
    assert whole.group == without.group != refuted.group
    assert list(inference_passages(pairs, CORPUS, {"Orrin Bridge"}, 1)) == []
