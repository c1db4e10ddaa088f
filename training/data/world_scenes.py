"""Scenes of the invented worlds: entities with facts, sentences about them, claims with labels.

The words are in ``worlds.yaml``. Facts are values of the relations of a kind of entity.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from training.data.world_values import (
    FALSE,
    OPEN,
    TRUE,
    Phrase,
    article,
    number_claims,
    number_phrase,
    time_claims,
    time_phrase,
)

_FILE = Path(__file__).with_name("worlds.yaml")
_PLACEHOLDER = re.compile(r"\b[A-Z]\b")


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a kind of entity has one value of, unless it is `many`."""

    # kind of its values: time, number, place, country, profession, product, or a kind of words or
    # of entities
    value: str
    predicates: Sequence[str]  # what follows the subject
    sentences: Sequence[str] = ()  # whole sentences, without a full stop
    # whether an entity may have several values, so that another one contradicts nothing
    many: bool = False
    # bounds of numbers; years of times
    low: int = 0
    high: int = 0
    unit: str = ""  # unit of numbers


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entities: titles with ``N`` for an invented name, and whether they take "the"."""

    titles: Sequence[str] = ()
    article: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lexicon; ``worlds.yaml`` explains its parts."""

    names: Mapping[str, Sequence[str]]  # lists of words that names and titles are made of
    # the general word of a profession or product, or an empty one, by ``profession`` and
    # ``product``
    general: Mapping[str, Mapping[str, str]]
    words: Mapping[str, Sequence[str]]  # the values of other kinds of words
    # kinds of entities, and their relations by name
    kinds: Mapping[str, Kind]
    relations: Mapping[str, Mapping[str, Relation]]
    countries: Sequence[tuple[str, str]]  # names and adjectives of real countries
    # ends of the names and adjectives of invented countries
    country_ends: Sequence[tuple[str, str]]
    # tables of scenes
    degrees: Sequence[Sequence[str]]
    bridges: Sequence[Sequence[str]]
    shared: Sequence[Sequence[str]]

    def times(self, kind: str) -> list[str]:
        """Return the relations of a kind of entities whose values are times, in their order."""
        return [name for name, r in self.relations[kind].items() if r.value == "time"]


def fill(template: str, **values: str) -> str:
    """Return a template with values in place of its capital letters."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), template)


@cache
def lexicon() -> Lexicon:
    """Return the lexicon."""
    tables = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return Lexicon(
        names={name: text.split() for name, text in tables["names"].items()},
        general={"profession": tables["professions"], "product": tables["products"]},
        words=tables["words"],
        kinds={name: Kind(**fields) for name, fields in tables["kinds"].items()},
        relations={
            kind: {name: Relation(**fields) for name, fields in own.items()}
            for kind, own in tables["relations"].items()
        },
        countries=list(tables["real_countries"].items()),
        country_ends=list(tables["country_ends"].items()),
        degrees=tables["degrees"],
        bridges=tables["bridges"],
        shared=tables["shared"],
    )


@dataclass(eq=False, slots=True)
class Entity:
    """An invented entity."""

    kind: str  # its kind
    # its title, and how a sentence names it
    title: str
    mention: str
    # its pronouns
    pronoun: str
    possessive: str
    facts: dict[str, object] = field(default_factory=dict)  # values of relations
    told: set[str] = field(default_factory=set)  # relations that a sentence states


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

    def person(self, surname: str, without: str = "", she: bool | None = None) -> Entity:
        """Return a person of a surname, with another first name than one."""
        names = self.lexicon.names
        she = self.rng.random() < 0.5 if she is None else she
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


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of the evidence."""

    # title of its document, and the sentence
    title: str
    text: str
    key: str = ""  # name of the fact that claims need, or empty
    # whether it gives a time of a relation, which may decide claims on other times
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a claim, and its label; None for what the claim is about."""

    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about the sentences of a scene."""

    parts: tuple[Part, ...]  # its text
    label: str  # what the sentences do to it
    needs: dict[str, str]  # what the sentence of each key that decides it does
    removable: tuple[str, ...]  # the keys without which it is open


@dataclass(frozen=True, slots=True)
class Scene:
    """Sentences, and claims about them."""

    sentences: list[Stated]
    claims: list[Claim]


def claim(
    parts: Sequence[Part],
    label: str,
    needs: Sequence[str] | dict[str, str] = ("fact",),
    removable: Sequence[str] | None = None,
) -> Claim:
    """Return a claim; all that it needs is removable unless otherwise stated.

    `needs`: the keys that decide it, with what their sentences do if that is not the label.
    """
    own = dict(needs) if isinstance(needs, dict) else dict.fromkeys(needs, label)
    if label == OPEN:
        own = {key: name for key, name in own.items() if name != OPEN}
    return Claim(tuple(parts), label, own, tuple(own if removable is None else removable))


# ---- Sentences ----------------------------------------------------------------------------------


def relation_of(world: World, entity: Entity, name: str) -> Relation:
    """Return a relation of an entity."""
    return world.lexicon.relations[entity.kind][name]


def value_words(world: World, value: object, relation: Relation) -> str:
    """Return a value in words."""
    if isinstance(value, Entity):
        return value.mention
    if isinstance(value, Country):
        return value.name
    if relation.value == "time":
        return time_phrase(int(str(value)), world.rng)
    if relation.value == "number":
        return number_phrase(int(str(value)), relation.unit, world.rng)
    return article(str(value)) if relation.value in ("profession", "genre") else str(value)


def predicate(world: World, entity: Entity, name: str, words: str | None = None) -> str:
    """Return what a sentence says of an entity by a relation, after its subject."""
    relation = relation_of(world, entity, name)
    entity.told.add(name)
    own = value_words(world, world.fact(entity, name), relation) if words is None else words
    return fill(world.rng.choice(relation.predicates), V=own, P=entity.possessive)


def sentence(subject: str, *predicates: str) -> str:
    """Return a sentence of a subject and one or two predicates."""
    return capitalised(f"{subject} {' and '.join(predicates)}.")


def capitalised(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def named(world: World, entity: Entity, pronoun: float = 0.2) -> str:
    """Return how a sentence of an entity's own document names it."""
    return entity.pronoun if world.rng.random() < pronoun else entity.mention


def other_facts(world: World, entity: Entity, without: Sequence[str], count: int) -> list[Stated]:
    """Return sentences of facts of an entity that none states yet, one or two facts each."""
    rng, relations = world.rng, world.lexicon.relations[entity.kind]
    names = [name for name in relations if name not in without and name not in entity.told]
    rng.shuffle(names)
    stated: list[Stated] = []
    while names and len(stated) < count:
        own = [names.pop() for _ in range(min(len(names), rng.choice((1, 1, 2))))]
        text = sentence(named(world, entity), *(predicate(world, entity, name) for name in own))
        dated = any(relations[name].value == "time" for name in own)
        stated.append(Stated(entity.title, text, dated=dated))
    return stated


def stating(
    world: World,
    entity: Entity,
    name: str,
    key: str,
    words: str | None = None,
    without: Sequence[str] = (),
) -> Stated:
    """Return the sentence of a fact, alone or beside another one not in `without`, with its key."""
    rng, relation = world.rng, relation_of(world, entity, name)
    if words is None:
        words = value_words(world, world.fact(entity, name), relation)
    entity.told.add(name)
    dated = relation.value == "time"
    if relation.sentences and rng.random() < 0.25:
        text = fill(rng.choice(relation.sentences), S=entity.mention, V=words)
        return Stated(entity.title, f"{capitalised(text)}.", key, dated)
    predicates = [predicate(world, entity, name, words)]
    relations = world.lexicon.relations[entity.kind]
    others = [n for n in relations if n not in entity.told and n not in without]
    if others and rng.random() < 0.5:
        same = [n for n in others if relations[n].value == relation.value]
        other = rng.choice(same if same and rng.random() < 0.6 else others)
        predicates.append(predicate(world, entity, other))
        dated = dated or relations[other].value == "time"
        rng.shuffle(predicates)
    return Stated(entity.title, sentence(named(world, entity), *predicates), key, dated)


# ---- Claims -------------------------------------------------------------------------------------


def claim_parts(
    world: World,
    entity: Entity,
    name: str,
    phrase: Phrase,
    subject: Sequence[Part] = (),
) -> list[Part]:
    """Return the parts of the claim that a relation of an entity has a value, in some wording."""
    relation, rng = relation_of(world, entity, name), world.rng
    if relation.sentences and not subject and rng.random() < 0.3:
        template, head = rng.choice(relation.sentences), []
    else:
        template = rng.choice(relation.predicates)
        head = [*(subject or (Part(entity.mention, None),)), Part(" ", None)]
    frame = OPEN if phrase.label == OPEN else TRUE
    parts = head
    for piece in fill(template, P=entity.possessive, S="|S|", V="|V|").split("|"):
        known = {"S": Part(entity.mention, None), "V": Part(phrase.text, phrase.label)}
        parts.append(known.get(piece, Part(piece, frame)))
    return parts


def false_value(world: World, entity: Entity, name: str, around: Sequence[object] = ()) -> object:
    """Return another value, mostly one that the evidence names in another role."""
    true = world.fact(entity, name)
    candidates = [v for v in (*same_kind(world, entity, name), *around) if v != true]
    if candidates and world.rng.random() < 0.75:
        return world.rng.choice(candidates)
    while True:
        value = world.value(entity, name)
        if value != true:
            return value


def value_claims(
    world: World, entity: Entity, name: str, around: Sequence[object], count: int
) -> list[Phrase]:
    """Return wordings of a fact for claims: true ones, and false or open ones, in turn."""
    relation, true = relation_of(world, entity, name), world.fact(entity, name)
    if relation.value in ("time", "number"):
        known = same_kind(world, entity, name)
        if relation.value == "number":
            known += around
        others = [int(str(value)) for value in known if value != true]
        if relation.value == "time":
            return time_claims(int(str(true)), others, world.rng, count)
        return number_claims(int(str(true)), relation.unit, others, world.rng, count)
    phrases = []
    for number in range(count):
        if number % 2 == 0:
            phrases.append(Phrase(_loosely(world, true, relation, true), TRUE))
        else:
            false = false_value(world, entity, name, around)
            words = _loosely(world, false, relation, true)
            phrases.append(Phrase(words, OPEN if relation.many else FALSE))
    return phrases


def open_claim(world: World, entity: Entity, name: str, value: object) -> Phrase:
    """Return a wording of a value for a claim that no sentence decides."""
    relation = relation_of(world, entity, name)
    if relation.value == "number":
        phrases = number_claims(int(str(value)), relation.unit, [], world.rng, 2)
        return Phrase(world.rng.choice(phrases).text, OPEN)
    if relation.value != "time":
        return Phrase(value_words(world, value, relation), OPEN)
    if entity.told.isdisjoint(world.lexicon.times(entity.kind)):
        phrases = time_claims(int(str(value)), [], world.rng, 2)
        return Phrase(world.rng.choice(phrases).text, OPEN)
    # What was founded in 1900 was closed after 1890: other times decide a range, but no year.
    return Phrase(f"in {value}", OPEN)


def _loosely(world: World, value: object, relation: Relation, true: object) -> str:
    """Return a value in words, perhaps more general ones, which hold of the true value or not."""
    general, own = (general_word(world, relation.value, v) for v in (value, true))
    # One without a general word, such as a singer, may well be a musician.
    is_clear = bool(general and own) and (value == true or general != own)
    if is_clear and world.rng.random() < 0.3:
        return article(general) if relation.value == "profession" else general
    return value_words(world, value, relation)
