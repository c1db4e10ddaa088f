"""Invented people, places and things, and their facts."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from training.data.world_lexicon import Relation, lexicon


@dataclass(eq=False, slots=True)
class Entity:
    """An invented entity.

    Attributes
    ----------
    kind
        Its kind.
    title, mention
        Its title, and how a sentence names it.
    pronoun, possessive
        Its pronouns.
    facts
        Values of relations.
    told
        Relations that a sentence states.
    """

    kind: str
    title: str
    mention: str
    pronoun: str
    possessive: str
    facts: dict[str, object] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Country:
    """A country, and the adjective for what comes from there."""

    name: str
    adjective: str


class World:
    """Invents entities and their facts.

    Parameters
    ----------
    rng
        Generator of all choices.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lexicon = lexicon()
        self._used: set[str] = set()

    def name(self, ends: str = "place_ends") -> str:
        """Return a new invented word with an end from a list of the lexicon."""
        names, rng = self.lexicon.names, self.rng
        while True:
            middle = rng.choice(names["starts"]).lower() if rng.random() < 0.12 else ""
            word = rng.choice(names["starts"]) + middle + rng.choice(names[ends])
            if word not in self._used and len(word) > 3:
                self._used.add(word)
                return word

    def entity(self, kind: str) -> Entity:
        """Return a new entity."""
        if kind == "person":
            return self.person(self.name("surname_ends"))
        title = self._title(kind)
        the = self.lexicon.kinds[kind].article
        return Entity(kind, title, f"the {title}" if the else title, "it", "its")

    def person(self, surname: str, without: str = "") -> Entity:
        """Return a person of a surname, with another first name than one."""
        names = self.lexicon.names
        she = self.rng.random() < 0.5
        first = self.rng.choice([n for n in names["female" if she else "male"] if n != without])
        pronouns = ("she", "her") if she else ("he", "his")
        return Entity("person", f"{first} {surname}", f"{first} {surname}", *pronouns)

    def _title(self, kind: str) -> str:
        rng, names, place = self.rng, self.lexicon.names, self.name()
        if kind in ("film", "book"):
            the, of = "The " if rng.random() < 0.5 else "", rng.random() < 0.4
            pair = f"{rng.choice(names['title_adjectives'])} {rng.choice(names['title_things'])}"
            return f"{the}{pair}{f' of {place}' if of else ''}"
        if kind == "species":
            return f"{place} {rng.choice(names['colours'])} {rng.choice(names['animals'])}"
        return rng.choice(self.lexicon.kinds[kind].titles).replace("N", place, 1)

    def namesake(self, entity: Entity) -> Entity:
        """Return another entity whose name is nearly the same."""
        kind = self.lexicon.kinds[entity.kind]
        if entity.kind == "person":
            first, surname = entity.title.split()
            return self.person(surname, without=first)
        if entity.kind == "film":
            title = f"{entity.title} Returns"
            return Entity("film", title, title, "it", "its")
        titles = [t for t in kind.titles if not entity.title.endswith(t.removeprefix("N"))]
        title = self.rng.choice(titles).replace("N", entity.title.split()[0], 1)
        return Entity(entity.kind, title, f"the {title}" if kind.article else title, "it", "its")

    def country(self) -> Country:
        """Return a country, invented or real."""
        rng, lexicon = self.rng, self.lexicon
        if rng.random() < 0.4:
            return Country(*rng.choice(lexicon.countries))
        end, adjective = rng.choice(lexicon.country_ends)
        stem = rng.choice(lexicon.names["starts"]) + rng.choice(lexicon.names["starts"]).lower()
        return Country(stem + end, stem + adjective)

    def value(self, entity: Entity, name: str) -> object:
        """Return a possible value of a relation; times keep the order in which things happen."""
        relation, rng = self.lexicon.relations[entity.kind][name], self.rng
        kind = relation.value
        if kind == "time":
            return self._time(entity, name)
        if kind == "number":
            return _spread_number(relation, rng)
        if kind == "place":
            return self.name()
        if kind == "country":
            return self.country()
        if kind in self.lexicon.general:
            return rng.choice(list(self.lexicon.general[kind]))
        if kind in self.lexicon.words:
            return rng.choice(self.lexicon.words[kind])
        return self.entity(kind)

    def _time(self, entity: Entity, name: str) -> int:
        relation = self.lexicon.relations[entity.kind][name]
        order = self.lexicon.times(entity.kind)
        known = {n: int(str(v)) for n, v in entity.facts.items() if n in order and n != name}
        earlier = [year for n, year in known.items() if order.index(n) < order.index(name)]
        later = [year for n, year in known.items() if order.index(n) > order.index(name)]
        low = max([relation.low, *(year + 1 for year in earlier)])
        high = min([relation.high, *(year - 1 for year in later)])
        return self.rng.randint(low, max(low, high))

    def fact(self, entity: Entity, name: str) -> object:
        """Return the value of a relation of an entity, the same one each time."""
        if name not in entity.facts:
            taken = same_kind(self, entity, name)
            value = self.value(entity, name)
            while value in taken:
                value = self.value(entity, name)
            entity.facts[name] = value
        return entity.facts[name]


def same_kind(world: World, entity: Entity, name: str) -> list[object]:
    """Return the values of an entity's other facts of the same kind."""
    relations = world.lexicon.relations[entity.kind]
    kind = relations[name].value
    return [v for n, v in entity.facts.items() if n != name and relations[n].value == kind]


def general_word(world: World, kind: str, value: object) -> str:
    """Return the more general word of a profession or product; an empty text if there is none."""
    return world.lexicon.general.get(kind, {}).get(str(value), "")


def _spread_number(relation: Relation, rng: random.Random) -> int:
    """Return a number between the bounds of a relation, small ones as likely as large ones."""
    low, high = relation.low, relation.high
    number = round(math.exp(rng.uniform(math.log(low), math.log(high))))
    if number > 200 and rng.random() < 0.4:
        digits = len(str(number)) - rng.choice((1, 2))
        number = max(number // 10**digits * 10**digits, low)
    return number


def choose_kind(world: World, kinds: Sequence[str]) -> str:
    """Return a kind of entity, people more often than others."""
    weights = [3 if kind == "person" else 1 for kind in kinds]
    return world.rng.choices(list(kinds), weights)[0]
