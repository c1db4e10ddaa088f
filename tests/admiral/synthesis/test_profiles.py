"""Parsed documents: definitions, dates of life, statements, and replaceable mentions."""

import pytest

from admiral.records import Document
from admiral.synthesis.profiles import parse_profile
from admiral.synthesis.slots import find_slots
from tests.admiral.synthesis.in_memory_documents import DOCUMENTS, InMemoryDocuments


def by_title(title):
    return next(d for d in DOCUMENTS if d.title == title)


def test_profile_of_a_person():
    profile = parse_profile(by_title("Ada Brook"))
    assert profile.person
    assert profile.noun == "director"
    assert profile.name == "Ada Brook"
    assert profile.definition == "a Welsh film director and painter"
    assert profile.life[0] == "who was born on March 3, 1941"
    assert [(s.index, s.adverbial, s.predicate) for s in profile.statements] == [
        (0, "", "is a Welsh film director and painter"),
        (1, "", "was born in Porthgain and studied under Ivor Pryce"),
        (2, "In 1990, ", "won the Gull Prize"),
    ]
    lived = parse_profile(by_title("Ivor Pryce")).life
    assert lived == (
        "who was born in 1901",
        "who died on 12 May 1980",
        "who lived from 1901 to 1980",
    )


def test_profile_of_a_thing():
    profile = parse_profile(by_title("Lantern Night"))
    assert not profile.person
    assert profile.noun == "film"
    assert profile.life == ()
    assert [s.index for s in profile.statements] == [0, 1, 2]  # It ..., The film ...
    prize = parse_profile(by_title("Gull Prize"))
    assert prize.name == "the Gull Prize"
    assert prize.statements[0].predicate.startswith("is a yearly")


@pytest.mark.parametrize(
    "sentence",
    [
        "This is another film.",
        "Its director won a prize.",
        "It may refer to a film.",
        "It is possible that Ada Brook made it.",
        "It was made by him.",
        'It was called "Half.',
    ],
)
def test_dependent_sentences_are_not_statements(sentence):
    document = Document("Lantern Night", ("Lantern Night is a film.", sentence))
    assert [s.index for s in parse_profile(document).statements] == [0]


def test_statement_ends_before_another_subject():
    document = Document(
        "Paris", ("Paris is the capital of France, and the Seine flows through it.",)
    )
    assert parse_profile(document).definition == "the capital of France"


@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        ("was directed by Ada Brook", ["Ada Brook"]),
        ("stars the actor Ivor Pryce and Mona Reed", ["the actor Ivor Pryce", "Mona Reed"]),
        ("won the Gull Prize in 1990", ["the Gull Prize"]),
        ('is based on the 1988 film "Lantern Night"', ['the 1988 film "Lantern Night"']),
        ("lived in the village of Porthgain", []),  # village and name denote the same thing
        ("was directed by Ada Brook's son", []),
        ("is the Porthgain festival", []),
        ("was known as Ada Brook", []),
        ("works for Smith and Porthgain", []),
        ("was shot in Porthgain and Rome", []),
        ("met Porthgain Ada Brook", []),
    ],
)  # fmt: skip
def test_replaceable_mentions(predicate, found):
    slots = find_slots(InMemoryDocuments(), Document("Other", ()), 0, predicate)
    assert [predicate[slot.start : slot.end] for slot in slots] == found


def test_context_determines_the_kind_of_a_slot():
    def kinds(predicate):
        slots = find_slots(InMemoryDocuments(), Document("Other", ()), 0, predicate)
        return [(slot.kind, slot.has_apposition) for slot in slots]

    assert kinds("was born in Porthgain") == [("place", False)]
    assert kinds("was directed by Ada Brook, a painter") == [("person", True)]
    assert kinds("appeared in Lantern Night with Mona Reed") == [("thing", False), ("any", False)]


def test_title_with_parenthesis_needs_its_word_in_the_document():
    titles = InMemoryDocuments(
        [Document("Dune (novel)", ("Dune is a novel.",)), Document("Ada", ())]
    )

    def found(sentence):
        document = Document("Ada", (sentence,))
        return [s.title for s in find_slots(titles, document, 0, sentence.removeprefix("Ada "))]

    assert found("Ada wrote Dune in a year.") == []
    assert found("Ada wrote Dune as a first novel.") == ["Dune (novel)"]
