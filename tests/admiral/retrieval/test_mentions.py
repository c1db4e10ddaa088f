"""Mentions of titles in claims and evidence, over a small knowledge base."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, build
from admiral.records import Sentence
from admiral.retrieval.mentions import TitleMentionFinder, interleaved, mentions_in_texts

DOCUMENTS: list[dict[str, Any]] = [
    {
        "title": "Marie Curie",
        "sentences": ["She came from Warsaw.", "Her husband taught there."],
    },
    {
        "title": "Warsaw",
        "sentences": [
            "Warsaw lies on the Vistula, as Marie Curie knew.",
            "Ridley Scott and C. V. Raman never lived in Warsaw.",
        ],
    },
    {"title": "Vistula", "sentences": ["It is a river."]},
    {"title": "Alien (film)", "sentences": ["It was made by Ridley Scott."]},
    {"title": "Alien (novel)", "sentences": ["A book."]},
    {"title": "Ridley Scott", "sentences": []},
    {"title": "Scott", "sentences": []},
    {"title": "The", "sentences": []},
    {"title": "1979", "sentences": []},
    {"title": "C. V. Raman", "sentences": []},
    {"title": "river", "sentences": []},
    {
        "title": "Long",
        "sentences": ["It is near Warsaw.", *["No."] * 20, "Marie Curie", *["No."] * 8, "Vistula"],
    },
    {
        "title": "World Health Organization",
        "sentences": ["The World Health Organization (WHO) is an agency.", "WHO lies in Warsaw."],
    },
    {"title": "WHO Prize", "sentences": []},
    {
        "title": "Linked",
        "sentences": ["Here is Warsaw named.", "Here nobody."],
        "links": [["Vistula", "Nowhere"], []],
    },
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("mentions")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"links": [], **d}) + "\n" for d in DOCUMENTS))
    build(corpus, Path(folder / "kb"), bm25="none", progress=False)
    with KnowledgeBase.open(folder / "kb") as kb:
        yield kb


@pytest.fixture(scope="module")
def finder(kb: KnowledgeBase) -> TitleMentionFinder:
    return TitleMentionFinder(kb)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("Marie Curie was born in Warsaw.", ["Marie Curie", "Warsaw"]),
        ("Ridley Scott, not another Scott.", ["Ridley Scott", "Scott"]),  # the longest first
        ("The director of Alien", ["Alien (film)", "Alien (novel)"]),
        ("Alien (film) is by Ridley Scott's crew", ["Alien (film)", "Ridley Scott"]),
        ("(see Warsaw) and Curies' Vistula’s", ["Warsaw", "Vistula"]),
        ("The river of 1979", []),  # no sentence openers, lower case or bare numbers
        ("Made in 1979. The", []),
        (
            "It was C. V. Raman.",
            ["C. V. Raman"],
        ),  # the full stop of the name
        ("Warsaw and Warsaw", ["Warsaw"]),
        ("Marie\x00Curie </s> [", []),
        ("Marie \ud800Curie of Warsaw\udfff", ["Warsaw"]),
        ("Warsaw " + "x" * 10**6 + " Vistula", ["Warsaw"]),
        ("", []),
    ],
)
def test_titles_in_a_text(finder: TitleMentionFinder, text: str, titles: list[str]) -> None:
    assert finder.in_text(text) == titles
    assert mentions_in_texts(finder, [text, ""]) == [titles, []]
    assert mentions_in_texts(None, [text]) == [[]]


def test_mentions_of_evidence_are_interleaved_and_those_of_its_documents_follow(
    finder: TitleMentionFinder,
) -> None:
    evidence = [
        Sentence("Warsaw", 0, "Warsaw lies on the Vistula, as Marie Curie knew."),
        Sentence("Alien (film)", 0, "It was made by Ridley Scott."),
    ]
    near = ["Vistula", "Ridley Scott", "Marie Curie"]
    assert finder.in_evidence(evidence) == [*near, "C. V. Raman"]
    assert finder.in_evidence([]) == []


def test_long_documents_are_searched_in_their_first_sentences_and_the_evidence(
    finder: TitleMentionFinder,
) -> None:
    titles = finder.in_evidence([Sentence("Long", 30, "")])
    assert titles == ["Vistula", "Warsaw"]  # not Marie Curie, who is in a later sentence


def test_hyperlinks_come_before_titles_and_dead_ones_are_left_out(
    finder: TitleMentionFinder,
) -> None:
    assert finder.in_evidence([Sentence("Linked", 1, "")]) == ["Vistula", "Warsaw"]
    assert finder.in_evidence([Sentence("Linked", 0, "")]) == ["Vistula", "Warsaw"]


@pytest.mark.parametrize(
    ("text", "with_aliases", "by_title"),
    [
        ("Warsaw hosts the WHO's seat.", ["Warsaw", "World Health Organization"], ["Warsaw"]),
        ("WHO hosts Warsaw.", ["World Health Organization", "Warsaw"], ["Warsaw"]),
        ("The WHO Prize of Warsaw", ["WHO Prize", "Warsaw"], ["WHO Prize", "Warsaw"]),
    ],
)
def test_aliases_outside_titles_are_mentions(
    kb: KnowledgeBase, text: str, with_aliases: list[str], by_title: list[str]
) -> None:
    assert TitleMentionFinder(kb).in_text(text) == with_aliases
    assert TitleMentionFinder(kb, aliases=False).in_text(text) == by_title


def test_a_document_does_not_mention_itself_by_alias(finder: TitleMentionFinder) -> None:
    assert finder.in_evidence([Sentence("World Health Organization", 1, "")]) == ["Warsaw"]


@given(st.text(max_size=60))
def test_any_text_gives_only_existing_titles(finder: TitleMentionFinder, text: str) -> None:
    assert set(finder.in_text(text)) <= {str(d["title"]) for d in DOCUMENTS}


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=4))
def test_interleaving(lists: list[list[str]]) -> None:
    expected: list[str] = []
    for turn in range(5):
        for items in lists:
            if turn < len(items) and items[turn] not in expected:
                expected.append(items[turn])
    assert interleaved(*lists) == expected
