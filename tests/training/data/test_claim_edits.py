"""Edits of claims and the labels that they have on the evidence of the original."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from training.data.claim_edits import (
    Edit,
    bound_values,
    change_quantifiers,
    change_relation,
    negate,
    swap_roles,
)


def texts(edits: Iterator[Edit]) -> dict[str, str]:
    return {edit.text: edit.label for edit in edits}


@pytest.mark.parametrize(
    ("predicate", "negated"),
    [
        ("is a city", "Rome is not a city"),
        ("has been a capital", "Rome has not been a capital"),
        ("hosted the games", "Rome never hosted the games"),
        ("has many parks", "Rome never has many parks"),
    ],
)
def test_negations_contradict(predicate: str, negated: str) -> None:
    assert texts(negate("Rome", predicate, random.Random(0))) == {negated: "contradiction"}


def test_negated_predicates_are_left_alone() -> None:
    for predicate in ("is not a city", "never hosted the games"):
        assert "not not" not in " ".join(texts(negate("Rome", predicate, random.Random(0))))
    assert not texts(negate("Rome", "never hosted the games", random.Random(0)))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_numbers_are_right(seed: int) -> None:
    edits = texts(bound_values("Rome has 40 parks.", random.Random(seed)))
    assert edits["Rome has at least 40 parks."] == "entailment"
    for text, label in edits.items():
        words = text.removesuffix(" parks.").split()
        bound = int(words[-1])
        holds = {"least": bound <= 40, "more": bound < 40, "fewer": bound > 40}
        sign = next(word for word in words if word in holds)
        assert (label == "entailment") == holds[sign]


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_years_are_right(seed: int) -> None:
    edits = texts(bound_values("It opened in 1987 in Rome.", random.Random(seed)))
    assert len(edits) == 6
    for text, label in edits.items():
        words = text.removeprefix("It opened ").removesuffix(" in Rome.").split()
        year = int(words[-1].removesuffix("s"))
        holds = {"before": year > 1987, "after": year < 1987, "in": year == 1980}[words[0]]
        assert (label == "entailment") == holds


@pytest.mark.parametrize(
    "text", ["The 12 parks.", "It is chapter 7.", "On 12 May it rained.", "the number 5"]
)
def test_numbers_that_do_not_count_are_left_alone(text: str) -> None:
    assert not texts(bound_values(text, random.Random(0)))


def test_quantifiers() -> None:
    edits = texts(change_quantifiers("Many parks have several gates.", random.Random(0)))
    assert edits == {
        "Many parks have no gates.": "contradiction",
        "Many parks have all gates.": "neutral",
    }
    assert not texts(change_quantifiers("It is the most popular.", random.Random(0)))
    ordinals = texts(change_quantifiers("It is the third bridge.", random.Random(0)))
    assert [*ordinals.values()] == ["contradiction"]
    assert "third" not in " ".join(ordinals)


def test_relations_and_roles() -> None:
    changed = texts(change_relation("Ada was nominated for a prize.", random.Random(0)))
    assert changed == {"Ada was awarded a prize.": "neutral"}
    assert texts(swap_roles("Curl", "was developed by ", "Ada")) == {
        "Ada was developed by Curl": "contradiction"
    }
    assert texts(swap_roles("Ada", "defeated ", "Bob")) == {"Bob defeated Ada": "contradiction"}
    assert not texts(swap_roles("Ada", "married ", "Bob"))
