"""Scenes of the invented worlds: entities with facts, sentences about them, claims with labels.

The words are in ``worlds.yaml``. Facts are values of the relations of a kind of entity.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator

from admiral.records import from_json
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
    predicates: list[str]  # what follows the subject
    sentences: list[str] = field(default_factory=list)  # whole sentences, without a full stop
    # whether an entity may have several values, so that another one contradicts nothing
    many: bool = False
    # bounds of numbers; years of times
    low: int = 0
    high: int = 0
    unit: str = ""  # unit of numbers


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entities: titles with ``N`` for an invented name, and whether they take "the"."""

    titles: list[str] = field(default_factory=list)
    article: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lexicon; ``worlds.yaml`` explains its parts."""

    # lists of words that names and titles are made of
    names: dict[str, Annotated[list[str], BeforeValidator(str.split)]]
    # the general word of a profession or product, or an empty one, by ``profession`` and
    # ``product``
    general: dict[str, dict[str, str]]
    words: dict[str, list[str]]  # the values of other kinds of words
    # kinds of entities, and their relations by name
    kinds: dict[str, Kind]
    relations: dict[str, dict[str, Relation]]
    countries: dict[str, str]  # real countries and their adjectives
    # ends of the names and adjectives of invented countries
    country_ends: dict[str, str]
    # tables of scenes
    degrees: list[list[str]]
    bridges: list[list[str]]
    shared: list[list[str]]


@cache
def lexicon() -> Lexicon:
    """Return the lexicon."""
    return from_json(Lexicon, yaml.safe_load(_FILE.read_text(encoding="utf-8")))


def fill(template: str, **values: str) -> str:
    """Return a template with values in place of its capital letters."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), template)


def capitalised(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


@dataclass(eq=False, slots=True)
class Entity:
    """An invented entity."""

    kind: str
    # its title, and how a sentence names it
    title: str
    mention: str
    # its pronouns
    pronoun: str = "it"
    possessive: str = "its"
    facts: dict[str, Any] = field(default_factory=dict)  # values of relations
    told: set[str] = field(default_factory=set)  # relations that a sentence states

    @property
    def relations(self) -> dict[str, Relation]:
        """The relations of its kind."""
        return lexicon().relations[self.kind]

    @property
    def times(self) -> list[str]:
        """The relations whose values are times, in their order."""
        return [name for name, relation in self.relations.items() if relation.value == "time"]

    def same_kind(self, name: str) -> list[Any]:
        """Return the values of its other facts of the same kind."""
        kind = self.relations[name].value
        return [v for n, v in self.facts.items() if n != name and self.relations[n].value == kind]


@dataclass(frozen=True, slots=True)
class Country:
    """A country, and the adjective for what comes from there."""

    mention: str
    adjective: str


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
    needs: Mapping[str, str]  # what the sentence of each key that decides it does
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


class World:
    """Invents entities and their facts, states them, and makes claims on them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._used: set[str] = set()

    # ---- Entities -------------------------------------------------------------------------------

    def name(self, ends: str = "place_ends") -> str:
        """Return a new invented word with an end from a list of the lexicon."""
        names, rng = lexicon().names, self.rng
        while True:
            middle = rng.choice(names["starts"]).lower() if rng.random() < 0.12 else ""
            word = rng.choice(names["starts"]) + middle + rng.choice(names[ends])
            if word not in self._used and len(word) > 3:
                self._used.add(word)
                return word

    def entity(self, kind: str = "") -> Entity:
        """Return a new entity, by default of a random kind, people more often than others."""
        if not kind:
            kinds = list(lexicon().relations)
            (kind,) = self.rng.choices(kinds, [3 if kind == "person" else 1 for kind in kinds])
        if kind == "person":
            return self.person(self.name("surname_ends"))
        rng, names, place = self.rng, lexicon().names, self.name()
        if kind in ("film", "book"):
            the, of = "The " if rng.random() < 0.5 else "", rng.random() < 0.4
            pair = f"{rng.choice(names['title_adjectives'])} {rng.choice(names['title_things'])}"
            return self._titled(kind, f"{the}{pair}{f' of {place}' if of else ''}")
        if kind == "species":
            title = f"{place} {rng.choice(names['colours'])} {rng.choice(names['animals'])}"
            return self._titled(kind, title)
        return self._titled(kind, rng.choice(lexicon().kinds[kind].titles).replace("N", place, 1))

    def _titled(self, kind: str, title: str) -> Entity:
        return Entity(kind, title, f"the {title}" if lexicon().kinds[kind].article else title)

    def person(self, surname: str, without: str = "", she: bool | None = None) -> Entity:
        """Return a person of a surname, with another first name than one."""
        names = lexicon().names
        she = self.rng.random() < 0.5 if she is None else she
        first = self.rng.choice([n for n in names["female" if she else "male"] if n != without])
        pronouns = ("she", "her") if she else ("he", "his")
        return Entity("person", f"{first} {surname}", f"{first} {surname}", *pronouns)

    def namesake(self, entity: Entity) -> Entity:
        """Return another entity whose name is nearly the same."""
        if entity.kind == "person":
            first, surname = entity.title.split()
            return self.person(surname, without=first)
        if entity.kind == "film":
            return self._titled("film", f"{entity.title} Returns")
        titles = lexicon().kinds[entity.kind].titles
        others = [title for title in titles if not entity.title.endswith(title.removeprefix("N"))]
        first = entity.title.split()[0]
        return self._titled(entity.kind, self.rng.choice(others).replace("N", first, 1))

    def country(self) -> Country:
        """Return a country, invented or real."""
        rng, known = self.rng, lexicon()
        if rng.random() < 0.4:
            return Country(*rng.choice(list(known.countries.items())))
        end, adjective = rng.choice(list(known.country_ends.items()))
        stem = rng.choice(known.names["starts"]) + rng.choice(known.names["starts"]).lower()
        return Country(stem + end, stem + adjective)

    # ---- Facts ----------------------------------------------------------------------------------

    def value(self, entity: Entity, name: str) -> Any:
        """Return a possible value of a relation; times keep the order in which things happen."""
        relation, rng, known = entity.relations[name], self.rng, lexicon()
        match relation.value:
            case "time":
                order, facts = entity.times, entity.facts
                at = order.index(name)
                low = max([relation.low, *(facts[n] + 1 for n in order[:at] if n in facts)])
                high = min([relation.high, *(facts[n] - 1 for n in order[at + 1 :] if n in facts)])
                return rng.randint(low, max(low, high))
            case "number":
                return _spread_number(relation, rng)
            case "place":
                return self.name()
            case "country":
                return self.country()
            case kind if kind in known.general:
                return rng.choice(list(known.general[kind]))
            case kind if kind in known.words:
                return rng.choice(known.words[kind])
        return self.entity(relation.value)

    def fact(self, entity: Entity, name: str) -> Any:
        """Return the value of a relation of an entity, the same one each time."""
        if name not in entity.facts:
            taken = entity.same_kind(name)
            while (value := self.value(entity, name)) in taken:
                pass
            entity.facts[name] = value
        return entity.facts[name]

    def worded(self, value: Any, relation: Relation) -> str:
        """Return a value in words."""
        if relation.value == "time":
            return time_phrase(value, self.rng)
        if relation.value == "number":
            return number_phrase(value, relation.unit, self.rng)
        words = mention_of(value)
        return article(words) if relation.value in ("profession", "genre") else words

    # ---- Sentences ------------------------------------------------------------------------------

    def predicate(self, entity: Entity, name: str, words: str | None = None) -> str:
        """Return what a sentence says of an entity by a relation, after its subject."""
        relation = entity.relations[name]
        entity.told.add(name)
        own = self.worded(self.fact(entity, name), relation) if words is None else words
        return fill(self.rng.choice(relation.predicates), V=own, P=entity.possessive)

    def sentence(self, entity: Entity, predicates: Iterable[str]) -> str:
        """Return a sentence of an entity's own document with one or two predicates."""
        subject = entity.pronoun if self.rng.random() < 0.2 else entity.mention
        return capitalised(f"{subject} {' and '.join(predicates)}.")

    def other_facts(self, entity: Entity, without: Sequence[str], count: int) -> list[Stated]:
        """Return sentences of facts of an entity that none states yet, one or two facts each."""
        rng, relations = self.rng, entity.relations
        names = [name for name in relations if name not in without and name not in entity.told]
        rng.shuffle(names)
        stated: list[Stated] = []
        while names and len(stated) < count:
            own = [names.pop() for _ in range(min(len(names), rng.choice((1, 1, 2))))]
            text = self.sentence(entity, (self.predicate(entity, name) for name in own))
            dated = any(relations[name].value == "time" for name in own)
            stated.append(Stated(entity.title, text, dated=dated))
        return stated

    def stating(
        self,
        entity: Entity,
        name: str,
        key: str,
        words: str | None = None,
        without: Sequence[str] = (),
    ) -> Stated:
        """Return the sentence of a fact, alone or beside another one not in `without`."""
        rng, relations = self.rng, entity.relations
        relation = relations[name]
        if words is None:
            words = self.worded(self.fact(entity, name), relation)
        entity.told.add(name)
        dated = relation.value == "time"
        if relation.sentences and rng.random() < 0.25:
            text = fill(rng.choice(relation.sentences), S=entity.mention, V=words)
            return Stated(entity.title, f"{capitalised(text)}.", key, dated)
        predicates = [self.predicate(entity, name, words)]
        others = [n for n in relations if n not in entity.told and n not in without]
        if others and rng.random() < 0.5:
            same = [n for n in others if relations[n].value == relation.value]
            other = rng.choice(same if same and rng.random() < 0.6 else others)
            predicates.append(self.predicate(entity, other))
            dated = dated or relations[other].value == "time"
            rng.shuffle(predicates)
        return Stated(entity.title, self.sentence(entity, predicates), key, dated)

    # ---- Claims ---------------------------------------------------------------------------------

    def claim_parts(
        self, entity: Entity, name: str, phrase: Phrase, subject: Sequence[Part] = ()
    ) -> list[Part]:
        """Return the parts of the claim that a relation of an entity has a value."""
        relation, rng = entity.relations[name], self.rng
        parts: list[Part] = []
        if relation.sentences and not subject and rng.random() < 0.3:
            template = rng.choice(relation.sentences)
        else:
            template = rng.choice(relation.predicates)
            parts = [*(subject or (Part(entity.mention, None),)), Part(" ", None)]
        frame = OPEN if phrase.label == OPEN else TRUE
        known = {"S": Part(entity.mention, None), "V": Part(phrase.text, phrase.label)}
        for piece in fill(template, P=entity.possessive, S="|S|", V="|V|").split("|"):
            parts.append(known.get(piece, Part(piece, frame)))
        return parts

    def claim(self, entity: Entity, name: str, phrase: Phrase) -> Claim:
        """Return the claim that a relation of an entity has a value."""
        return claim(self.claim_parts(entity, name, phrase), phrase.label)

    def false_value(self, entity: Entity, name: str, around: Sequence[Any] = ()) -> Any:
        """Return another value, mostly one that the evidence names in another role."""
        true = self.fact(entity, name)
        candidates = [v for v in (*entity.same_kind(name), *around) if v != true]
        if candidates and self.rng.random() < 0.75:
            return self.rng.choice(candidates)
        while (value := self.value(entity, name)) == true:
            pass
        return value

    def value_claims(
        self, entity: Entity, name: str, around: Sequence[Any], count: int
    ) -> list[Phrase]:
        """Return wordings of a fact for claims: true ones, and false or open ones, in turn."""
        relation, true = entity.relations[name], self.fact(entity, name)
        known = entity.same_kind(name)
        if relation.value == "time":
            others = [value for value in known if value != true]
            return time_claims(true, others, self.rng, count)
        if relation.value == "number":
            others = [value for value in (*known, *around) if value != true]
            return number_claims(true, relation.unit, others, self.rng, count)
        phrases = []
        for number in range(count):
            if number % 2 == 0:
                phrases.append(Phrase(self._loosely(true, relation, true), TRUE))
            else:
                words = self._loosely(self.false_value(entity, name, around), relation, true)
                phrases.append(Phrase(words, OPEN if relation.many else FALSE))
        return phrases

    def open_claim(self, entity: Entity, name: str, value: Any) -> Phrase:
        """Return a wording of a value for a claim that no sentence decides."""
        relation = entity.relations[name]
        if relation.value == "number":
            phrases = number_claims(value, relation.unit, [], self.rng, 2)
        elif relation.value != "time":
            return Phrase(self.worded(value, relation), OPEN)
        elif entity.told.isdisjoint(entity.times):
            phrases = time_claims(value, [], self.rng, 2)
        else:
            # What was founded in 1900 was closed after 1890: other times decide a range, but no
            # year.
            return Phrase(f"in {value}", OPEN)
        return Phrase(self.rng.choice(phrases).text, OPEN)

    def _loosely(self, value: Any, relation: Relation, true: Any) -> str:
        """Return a value in words, perhaps more general ones, which hold of the true one or not."""
        words = lexicon().general.get(relation.value, {})
        general, own = words.get(value, ""), words.get(true, "")
        # One without a general word, such as a singer, may well be a musician.
        is_clear = bool(general and own) and (value == true or general != own)
        if is_clear and self.rng.random() < 0.3:
            return article(general) if relation.value == "profession" else general
        return self.worded(value, relation)


def mention_of(value: Any) -> str:
    """Return how a sentence names a value: an entity, a country, a word or a number."""
    return str(getattr(value, "mention", value))


def _spread_number(relation: Relation, rng: random.Random) -> int:
    """Return a number between the bounds of a relation, small ones as likely as large ones."""
    low, high = relation.low, relation.high
    number = round(math.exp(rng.uniform(math.log(low), math.log(high))))
    if number > 200 and rng.random() < 0.4:
        digits = len(str(number)) - rng.choice((1, 2))
        number = max(number // 10**digits * 10**digits, low)
    return number
