"""Twins of claims of several documents, whose evidence lacks a link."""

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.records import Document
from training.data.bridge_twins import bridge_twins
from training.data.evidence_corpora import GivenDocuments

FILM = "The Salt Road is a 1988 film directed by Mira Vance."
LIFE = "Mira Vance (born 1950) is an American director who grew up in Tolkham."
TOWN = "Tolkham is a small town on the Tolk."
SONG = "Dune Songs was recorded in Tolkham by a choir."
CONTROL = [Document("Dune Songs", (SONG,)), Document("Tolkham", (TOWN,))]
CLAIM = "The Salt Road was directed by an American who was born in 1950."


def twins(*documents, claim=CLAIM, label=Label.SUPPORTS, seed=0, control=CONTROL):
    """Return the examples of a claim whose evidence is the first sentence of each document."""
    corpus = GivenDocuments([*control, *(Document(title, texts) for title, texts in documents)])
    evidence = tuple((title, 0) for title, _ in documents)
    gold = GoldClaim("7", claim, label, (evidence,))
    return list(bridge_twins(gold, corpus, "s", random.Random(seed)))


def test_the_next_document_becomes_a_general_noun():
    texts = set()
    for seed in range(20):
        whole, twin = twins(("The Salt Road", (FILM,)), ("Mira Vance", (LIFE,)), seed=seed)
        assert (whole.label, twin.label) == ("entailment", "neutral")
        assert (whole.claim, whole.group) == (twin.claim, twin.group) == (CLAIM, "7")
        general_song = SONG.replace("Tolkham", "a town")
        assert set(whole.evidence) == {
            ("The Salt Road", FILM),
            ("Mira Vance", LIFE),
            ("Dune Songs", general_song),
        }
        changed = {
            old: (new[1], name)
            for old, new, name in zip(whole.evidence, twin.evidence, twin.sentences, strict=True)
            if old != new
        }
        assert changed.pop(("Dune Songs", general_song)) == (SONG, None)
        ((old, (new, name)),) = changed.items()
        assert old == ("The Salt Road", FILM)
        assert name is None
        texts.add(new)
    begin = "The Salt Road is a 1988 film directed by a "
    assert texts == {f"{begin}director.", f"{begin}person."}


def test_of_a_refuted_claim_the_twin_is_not_entailed():
    whole, twin = twins(("The Salt Road", (FILM,)), ("Mira Vance", (LIFE,)), label=Label.REFUTES)
    assert (whole.label, twin.label) == ("contradiction", "not_entailment")
    assert set(whole.sentences) - {None} == {"relevant"}
    assert set(twin.sentences) == {None}


def test_other_sentences_are_the_same_and_do_not_name_the_next_document():
    film = ("The Salt Road", (FILM, "It was filmed in a desert.", "Vance wrote it as well."))
    life = ("Mira Vance", (LIFE, "She paints.", "She made The Salt Road."))
    added = set()
    for seed in range(30):
        whole, twin = twins(film, life, seed=seed)
        own = set(whole.evidence) & set(twin.evidence)
        added |= {text for _, text in own} - {LIFE}
    assert added == {"It was filmed in a desert.", "She paints."}


@pytest.mark.parametrize(
    "film",
    [
        "The Salt Road is a film directed by Mira Vance, an American born in 1950.",
        "The Salt Road is a film directed by Mira Vance Holt.",
        "The Salt Road is a film about a woman named Mira Vance.",
        "The Salt Road is a film directed by Mira Vance; Vance also wrote it.",
        "The Salt Road is a film that nobody directed.",
    ],
)
def test_a_name_that_cannot_be_replaced_gives_no_twin(film):
    assert twins(("The Salt Road", (film,)), ("Mira Vance", (LIFE,))) == []


def test_a_claim_that_names_the_next_document_gives_no_twin():
    documents = (("The Salt Road", (FILM,)), ("Mira Vance", (LIFE,)))
    assert twins(*documents, claim="Mira Vance, born in 1950, directed The Salt Road.") == []
    assert twins(documents[0]) == []
    assert twins(*documents, label=Label.NOT_SUPPORTED) == []
    assert twins(*documents, label=None) == []
    assert twins(*documents, control=[]) == []
    assert twins(documents[0], ("Mira Vance", ("She was born in 1950.",))) == []
