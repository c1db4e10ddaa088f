"""Scenes of the invented worlds: sentences about facts, and claims with labels about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training.data.world_entities import (
    Country,
    Entity,
    Relation,
    World,
    fill,
    general_word,
    same_kind,
)
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


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of the evidence.

    Attributes
    ----------
    title, text
        Title of its document, and the sentence.
    key
        Name of the fact that claims need, or empty.
    dated
        Whether it gives a time of a relation, which may decide claims on other times.
    """

    title: str
    text: str
    key: str = ""
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a claim, and its label; None for what the claim is about."""

    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about the sentences of a scene.

    Attributes
    ----------
    parts
        Its text.
    label
        What the sentences do to it.
    needs
        What the sentence of each key that decides it does.
    removable
        The keys without which it is open.
    """

    parts: tuple[Part, ...]
    label: str
    needs: dict[str, str]
    removable: tuple[str, ...]


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

    Parameters
    ----------
    needs
        The keys that decide it, with what their sentences do if that is not the label.
    """
    own = dict(needs) if isinstance(needs, dict) else dict.fromkeys(needs, label)
    if label == OPEN:
        own = {key: name for key, name in own.items() if name != OPEN}
    return Claim(tuple(parts), label, own, tuple(own if removable is None else removable))


def changed(subject: str, frame: str, value: str, label: str, after: str = "") -> list[Part]:
    """Return the parts of a claim whose value alone is right or wrong."""
    around = OPEN if label == OPEN else TRUE
    return [Part(subject, None), Part(f" {frame}", around), Part(value, label), Part(after, around)]


def whole(subject: str, predicate: str, label: str) -> list[Part]:
    """Return the parts of a claim whose predicate is right or wrong as a whole."""
    return [Part(subject, None), Part(f" {predicate}", label)]


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


def told(
    world: World, entity: Entity, text: str, key: str = "fact", pronoun: float = 0.2
) -> Stated:
    """Return a sentence that says something of an entity, with a key."""
    return Stated(entity.title, sentence(named(world, entity, pronoun), text), key)


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
