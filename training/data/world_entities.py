"""The words of the invented worlds, read from ``worlds.yaml``, and what they are about.

Invented people, places and things have facts, which are values of the relations of their kind.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("worlds.yaml")
#: Kinds of values beside the words and entities of the lexicon.
VALUES = ("time", "number", "place", "country", "profession", "product")
_PLACEHOLDER = re.compile(r"\b[A-Z]\b")


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a kind of entity has one value of, unless it is `many`.

    Attributes
    ----------
    value
        Kind of its values: one of `VALUES`, a kind of words, or a kind of entities.
    predicates
        What follows the subject.
    sentences
        Whole sentences, without a full stop.
    many
        Whether an entity may have several values, so that another one contradicts nothing.
    low, high
        Bounds of numbers; years of times.
    unit
        Unit of numbers.
    """

    value: str
    predicates: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    many: bool = False
    low: int = 0
    high: int = 0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entities: titles with ``N`` for an invented name, and whether they take "the"."""

    titles: tuple[str, ...] = ()
    article: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lexicon; ``worlds.yaml`` explains its parts.

    Attributes
    ----------
    names
        Lists of words that names and titles are made of.
    general
        The general word of a profession or product, or an empty one, by ``profession`` and
        ``product``.
    words
        The values of other kinds of words.
    kinds, relations
        Kinds of entities, and their relations by name.
    countries
        Names and adjectives of real countries.
    country_ends
        Ends of the names and adjectives of invented countries.
    tables
        The tables of the scenes.
    """

    names: Mapping[str, Sequence[str]]
    general: Mapping[str, Mapping[str, str]]
    words: Mapping[str, Sequence[str]]
    kinds: Mapping[str, Kind]
    relations: Mapping[str, Mapping[str, Relation]]
    countries: Sequence[tuple[str, str]]
    country_ends: Sequence[tuple[str, str]]
    tables: Mapping[str, Any]

    def times(self, kind: str) -> list[str]:
        """Return the relations of a kind of entities whose values are times, in their order."""
        return [name for name, r in self.relations[kind].items() if r.value == "time"]


def fill(template: str, **values: str) -> str:
    """Return a template with values in place of its capital letters."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), template)


@cache
def lexicon() -> Lexicon:
    """Return the lexicon.

    Raises
    ------
    ValueError
        If an entry of the file is malformed.
    """
    return read_lexicon(_FILE)


def read_lexicon(path: Path) -> Lexicon:
    """Return the lexicon of a file (see `lexicon`)."""
    tables = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        relations = {
            kind: {name: _relation(fields) for name, fields in own.items()}
            for kind, own in tables.pop("relations").items()
        }
        read = Lexicon(
            names={name: text.split() for name, text in tables.pop("names").items()},
            general={
                "profession": tables.pop("professions"),
                "product": tables.pop("products"),
            },
            words=tables.pop("words"),
            kinds={
                name: Kind(tuple(fields.get("titles", ())), fields.get("article", False))
                for name, fields in tables.pop("kinds").items()
            },
            relations=relations,
            countries=list(tables.pop("real_countries").items()),
            country_ends=list(tables.pop("country_ends").items()),
            tables=tables,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: is malformed ({error!r}); restore it") from error
    _check(read, path)
    return read


def _relation(fields: dict[str, Any]) -> Relation:
    lists = {name: tuple(fields.get(name, ())) for name in ("predicates", "sentences")}
    return Relation(**fields | lists)


def _check(read: Lexicon, path: Path) -> None:
    known = {*VALUES, *read.words, *read.kinds}
    for kind, own in read.relations.items():
        for name, relation in own.items():
            templates = (*relation.predicates, *relation.sentences)
            is_bounded = relation.value not in ("time", "number") or relation.low < relation.high
            if (
                kind not in read.kinds
                or relation.value not in known
                or not relation.predicates
                or any(_PLACEHOLDER.findall(text).count("V") != 1 for text in templates)
                or not is_bounded
            ):
                raise ValueError(f"{path}: relation {name!r} of {kind!r} is malformed; correct it")
    flags = [value for table in read.tables.values() for value in _leaves(table)]
    if any(isinstance(value, bool) or value is None for value in flags):
        raise ValueError(f"{path}: an unquoted word such as no or yes is not a text; quote it")


def _leaves(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return [leaf for key, value in table.items() for leaf in (key, *_leaves(value))]
    if isinstance(table, list):
        return [leaf for value in table for leaf in _leaves(value)]
    return [table]


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
    """Invents entities and their facts."""

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
