"""Invented entities: names, pronouns, and the order of their times."""

from __future__ import annotations

import random

import pytest

from training.data.world_entities import World, lexicon


@pytest.mark.parametrize("kind", lexicon().kinds)
def test_facts_are_fixed_distinct_and_in_order(kind: str) -> None:
    for seed in range(30):
        world = World(random.Random(seed))
        entity = world.entity(kind)
        names = list(lexicon().relations[kind])
        world.rng.shuffle(names)
        values = {name: world.fact(entity, name) for name in names}
        assert values == {name: world.fact(entity, name) for name in names}
        times = [int(str(values[name])) for name in lexicon().times(kind)]
        assert times == sorted(set(times))
        places = [
            str(v) for n, v in values.items() if lexicon().relations[kind][n].value == "place"
        ]
        assert len(set(places)) == len(places)


def test_names_are_new_and_people_have_their_pronouns() -> None:
    world = World(random.Random(0))
    people = [world.entity("person") for _ in range(100)]
    assert len({person.title.split()[1] for person in people}) == 100
    for person in people:
        is_female = person.title.split()[0] in lexicon().names["female"]
        assert (person.pronoun, person.possessive) == (
            ("she", "her") if is_female else ("he", "his")
        )


@pytest.mark.parametrize("kind", ["person", "building", "school", "company", "film"])
def test_a_namesake_has_nearly_the_same_name(kind: str) -> None:
    for seed in range(20):
        world = World(random.Random(seed))
        entity = world.entity(kind)
        twin = world.namesake(entity)
        assert twin.title != entity.title
        assert set(twin.title.split()) & set(entity.title.split())
