"""Examples about invented people, places and things, of which everything is known.

A scene invents a few entities, states facts about them in sentences, and makes claims that the
sentences entail, contradict or leave open. The claims of a scene differ little, and false ones
often contain a value that stands elsewhere in the evidence: a verifier that compares words cannot
tell them apart. Since the scene is known in full, so are the labels of sentences and of spans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from training.data.examples import Example
from training.data.world_lexicon import (
    ANIMALS,
    AWARDS,
    COUNTRY_ENDS,
    DEEDS,
    DEGREES,
    EVENTS,
    FEATURES,
    FEMALE,
    FIRST_NAMES,
    FOODS,
    GENERAL,
    GENRES,
    GROUPS,
    HABITATS,
    KINDS,
    KINSHIP,
    MUTUAL,
    NAME_ENDS,
    NAME_STARTS,
    NEUTRAL_KIN,
    OPPOSITES,
    PARAPHRASES,
    PLACE_ENDS,
    PRODUCTS,
    PROFESSIONS,
    REAL_COUNTRIES,
    RELATIONS,
    UNITS,
    Relation,
)
from training.data.world_values import (
    Phrase,
    article,
    number_claims,
    number_phrase,
    time_claims,
    time_phrase,
    vague_number,
    vague_time,
)

SOURCE = "worlds"
TRUE, OPEN, FALSE = "entailment", "neutral", "contradiction"
_MAX_SENTENCES = 6
_WORD_VALUES = {
    "award": AWARDS,
    "food": FOODS,
    "genre": GENRES,
    "habitat": HABITATS,
    "product": PRODUCTS,
}


@dataclass(eq=False, slots=True)
class Entity:
    """An invented entity: its title, how a text names it, and its facts by relation."""

    kind: str
    title: str
    mention: str
    pronoun: str
    possessive: str
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Country:
    """A country, and the adjective for what comes from there."""

    name: str
    adjective: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence of the evidence, and the name of the fact that it states (empty for others)."""

    title: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a claim, and its label; None for what the claim is about."""

    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, what the evidence does to it, and what each sentence that it needs does."""

    parts: tuple[Part, ...]
    label: str
    needs: dict[str, str]


@dataclass(frozen=True, slots=True)
class Scene:
    """Sentences, and claims about them."""

    sentences: list[Stated]
    claims: list[Claim]
    kind: str


class World:
    """Invents entities and their facts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._used: set[str] = set()

    def name(self, ends: Sequence[str]) -> str:
        """Return a new invented word."""
        while True:
            start = self.rng.choice(NAME_STARTS)
            middle = self.rng.choice(NAME_STARTS).lower() if self.rng.random() < 0.12 else ""
            word = start + middle + self.rng.choice(ends)
            if word not in self._used and len(word) > 3:
                self._used.add(word)
                return word

    def entity(self, kind: str, noun: str | None = None) -> Entity:
        """Return a new entity."""
        rng = self.rng
        if kind == "person":
            first = rng.choice(FIRST_NAMES)
            name = f"{first} {self.name(NAME_ENDS)}"
            she = first in FEMALE
            return Entity(kind, name, name, "she" if she else "he", "her" if she else "his")
        nouns, has_article = KINDS[kind]
        noun = noun or rng.choice(nouns)
        place = self.name(PLACE_ENDS)
        if kind in ("town", "mountain"):
            title = f"Mount {place}" if kind == "mountain" else place
        elif kind in ("film", "book"):
            adjective = rng.choice("Silver Last Quiet Broken Golden Hidden Northern Second".split())
            thing = rng.choice("Kite River Winter Lantern Harbour Orchard Witness Letter".split())
            middle = f" of {place}" if rng.random() < 0.4 else ""
            title = f"{'The ' if rng.random() < 0.5 else ''}{adjective} {thing}{middle}"
        elif kind == "river":
            title = f"{place} River" if rng.random() < 0.4 else f"River {place}"
        elif kind == "species":
            colour = rng.choice("brown grey red spotted banded pale dwarf crested".split())
            title = f"{place} {colour} {rng.choice(ANIMALS)}"
        elif kind == "ship":
            title = f"SS {place}"
        elif kind == "band":
            title = f"{place} {rng.choice('Quartet Ramblers Trio Ensemble Five'.split())}"
        elif kind == "line":
            title = f"{place} {rng.choice(('line', 'Canal', 'Tunnel'))}"
        elif kind == "company" and noun in ("Brothers",):
            title = f"{place} {noun}"
        else:
            title = f"{place} {noun}"
        mention = title
        if has_article and not title.startswith("The "):
            mention = f"the {title}"
        if kind == "river" and title.endswith(" River"):
            mention = f"the {title}"
        return Entity(kind, title, mention, "it", "its")

    def country(self) -> Country:
        """Return a country, invented or real."""
        if self.rng.random() < 0.4:
            return Country(*self.rng.choice(REAL_COUNTRIES))
        end, adjective = self.rng.choice(COUNTRY_ENDS)
        stem = self.rng.choice(NAME_STARTS) + self.rng.choice(NAME_STARTS).lower()
        return Country(stem + end, stem + adjective)

    def value(self, relation: Relation) -> object:
        """Return a new value of a relation."""
        rng, kind = self.rng, relation.value
        if kind == "time":
            return rng.randint(relation.low, relation.high)
        if kind == "number":
            return spread_number(relation, rng)
        if kind == "place":
            return self.name(PLACE_ENDS)
        if kind in ("person", "company", "school", "river"):
            return self.entity(kind)
        if kind == "country":
            return self.country()
        if kind == "profession":
            return rng.choice(list(PROFESSIONS))
        return rng.choice(_WORD_VALUES[kind])

    def fact(self, entity: Entity, name: str) -> object:
        """Return the value of a relation of an entity, the same one each time."""
        if name not in entity.facts:
            relation = RELATIONS[entity.kind][name]
            taken = [v for k, v in entity.facts.items() if RELATIONS[entity.kind][k].value == relation.value]
            value = self.value(relation)
            while value in taken:
                value = self.value(relation)
            entity.facts[name] = value
        return entity.facts[name]


def spread_number(relation: Relation, rng: random.Random) -> int:
    """Return a number between the bounds of a relation, small ones as likely as large ones."""
    low, high = relation.low, relation.high
    number = round(low * (high / low) ** rng.random())
    if number > 200 and rng.random() < 0.4:
        digits = 10 ** (len(str(number)) - rng.choice((1, 2)))
        number = max(number // digits * digits, low)
    return number


def world_examples(seed: int, kinds: Sequence[str] = ()) -> Iterator[Example]:
    """Yield examples forever, group after group; the same ones for the same seed.

    Parameters
    ----------
    seed
        Seed of all choices.
    kinds
        Names of the scenes to take; all by default.
    """
    chosen = [(k, w) for k, (_, w) in SCENES.items() if not kinds or k in kinds]
    names, weights = [k for k, _ in chosen], [w for _, w in chosen]
    number = 0
    while True:
        rng = random.Random(f"{seed} worlds {number}")
        kind = rng.choices(names, weights)[0]
        scene = SCENES[kind][0](World(rng))
        if scene is not None:
            yield from scene_examples(scene, f"{kind} {seed} {number}", rng)
        number += 1


def scene_examples(scene: Scene, group: str, rng: random.Random) -> Iterator[Example]:
    """Yield the examples of a scene: each claim, and some of them without what decides them."""
    for claim in scene.claims:
        yield _example(claim, scene.sentences, claim.label, group, rng)
    decided = [c for c in scene.claims if c.label != OPEN and c.needs]
    rng.shuffle(decided)
    for claim in decided[: rng.randint(0, 2)]:
        removed = rng.choice(list(claim.needs))
        rest = [s for s in scene.sentences if s.key != removed]
        if rest and len(rest) < len(scene.sentences):
            yield _example(claim, rest, OPEN, group, rng)


def _example(
    claim: Claim, sentences: Sequence[Stated], label: str, group: str, rng: random.Random
) -> Example:
    kept = list(sentences)
    needed = [s for s in kept if s.key in claim.needs]
    others = [s for s in kept if s.key not in claim.needs]
    room = max(_MAX_SENTENCES - len(needed), 0)
    others = rng.sample(others, min(len(others), room, rng.choice((1, 2, 3, 4, 5)) if needed else 5))
    chosen = [s for s in kept if s in needed or s in others]
    if rng.random() < 0.7:
        rng.shuffle(chosen)
    removed = label == OPEN and claim.label != OPEN
    labels = []
    for sentence in chosen:
        own = claim.needs.get(sentence.key, OPEN) if sentence.key else OPEN
        # What a removed sentence leaves need not say anything by itself.
        labels.append(None if removed and own != OPEN else own)
    text, spans = "", []
    parts = [p for p in claim.parts if p.text]
    for number, part in enumerate(parts):
        piece = part.text
        if number == 0:
            piece = piece[:1].upper() + piece[1:]
        begin = len(text)
        text += piece
        name = part.label
        if name is None and label == TRUE:
            name = TRUE
        elif name is not None and removed:
            name = OPEN if len(claim.needs) == 1 else None
        if name is not None:
            spans.append((begin, len(text), name))
    if rng.random() < 0.9:
        text += "."
    evidence = tuple((s.title if rng.random() < 0.97 else "", s.text) for s in chosen)
    return Example(text, evidence, label, SOURCE, tuple(labels), tuple(spans), group)


# ---- Sentences ----------------------------------------------------------------------------------


def spoken(world: World, entity: Entity, name: str, value: object | None = None) -> str:
    """Return a value as the evidence words it, remembered so that claims know how exact it is."""
    relation = RELATIONS[entity.kind][name]
    given = world.fact(entity, name) if value is None else value
    return phrase(given, relation, world.rng)


def phrase(value: object, relation: Relation, rng: random.Random) -> str:
    """Return a value in words."""
    if isinstance(value, Entity):
        return value.mention
    if isinstance(value, Country):
        return value.name
    if relation.value == "time":
        return time_phrase(int(str(value)), rng)
    if relation.value == "number":
        return number_phrase(int(str(value)), relation.unit, rng)
    if relation.value in ("profession", "genre"):
        return article(str(value)) if relation.value == "profession" else str(value)
    return str(value)


def predicate(world: World, entity: Entity, name: str, words: str | None = None) -> str:
    """Return what a sentence says of an entity by a relation, after its subject."""
    relation = RELATIONS[entity.kind][name]
    template = world.rng.choice(relation.predicates)
    spoken_value = spoken(world, entity, name) if words is None else words
    return template.replace("{v}", spoken_value).replace("{p}", entity.possessive)


def sentence(subject: str, *predicates: str) -> str:
    """Return a sentence of a subject and one or two predicates."""
    text = f"{subject} {' and '.join(predicates)}."
    return text[:1].upper() + text[1:]


def named(world: World, entity: Entity, pronoun: float = 0.2) -> str:
    """Return how a sentence of an entity's own document names it."""
    if world.rng.random() < pronoun:
        return entity.pronoun
    return entity.mention


def other_facts(world: World, entity: Entity, without: Sequence[str], count: int) -> list[Stated]:
    """Return sentences of other facts of an entity, one or two facts each."""
    rng = world.rng
    names = [name for name in RELATIONS[entity.kind] if name not in without]
    rng.shuffle(names)
    stated = []
    while names and len(stated) < count:
        taken = [names.pop() for _ in range(min(len(names), rng.choice((1, 1, 2))))]
        predicates = [predicate(world, entity, name) for name in taken]
        stated.append(Stated(entity.title, sentence(named(world, entity), *predicates)))
    return stated


def similar(entity: Entity, world: World) -> Entity:
    """Return another entity of the same kind."""
    return world.entity(entity.kind)


def stating(
    world: World,
    entity: Entity,
    name: str,
    key: str,
    words: str | None = None,
    without: Sequence[str] = (),
) -> Stated:
    """Return the sentence of a fact, alone or beside another one not in `without`, with its key."""
    rng, relation = world.rng, RELATIONS[entity.kind][name]
    own_words = spoken(world, entity, name) if words is None else words
    if relation.sentences and rng.random() < 0.25:
        text = rng.choice(relation.sentences).replace("{s}", entity.mention)
        text = text.replace("{v}", own_words)
        return Stated(entity.title, text[:1].upper() + text[1:], key)
    predicates = [predicate(world, entity, name, own_words)]
    if rng.random() < 0.5:
        others = [n for n in RELATIONS[entity.kind] if n != name and n not in without]
        same = [n for n in others if RELATIONS[entity.kind][n].value == relation.value]
        other = rng.choice(same if same and rng.random() < 0.6 else others)
        predicates.append(predicate(world, entity, other))
        rng.shuffle(predicates)
    return Stated(entity.title, sentence(named(world, entity), *predicates), key)


def claim_of(
    world: World,
    entity: Entity,
    name: str,
    words: str,
    label: str,
    subject: Sequence[Part] = (),
) -> tuple[Part, ...]:
    """Return the parts of the claim that a relation of an entity has a value, in some wording."""
    relation, rng = RELATIONS[entity.kind][name], world.rng
    frame = OPEN if label == OPEN else TRUE
    value = Part(words, label)
    if relation.sentences and not subject and rng.random() < 0.3:
        template = rng.choice(relation.sentences).rstrip(".")
        parts: list[Part] = []
        for piece in template.replace("{s}", "|{s}|").replace("{v}", "|{v}|").split("|"):
            if piece == "{s}":
                parts.append(Part(entity.mention, None))
            elif piece == "{v}":
                parts.append(value)
            elif piece:
                parts.append(Part(piece, frame))
        return tuple(parts)
    template = rng.choice(relation.predicates).replace("{p}", entity.possessive)
    before, after = template.split("{v}")
    head = tuple(subject) or (Part(entity.mention, None),)
    return (*head, Part(f" {before}", frame), value, Part(after, frame))


def false_value(world: World, entity: Entity, name: str, around: Sequence[object]) -> object:
    """Return another value, mostly one that the evidence names in another role."""
    relation = RELATIONS[entity.kind][name]
    true = world.fact(entity, name)
    candidates = [
        value
        for other, value in entity.facts.items()
        if RELATIONS[entity.kind][other].value == relation.value and value != true
    ]
    candidates += [value for value in around if value != true]
    if candidates and world.rng.random() < 0.75:
        return world.rng.choice(candidates)
    while True:
        value = world.value(relation)
        if value != true and not _overlap(value, true):
            return value


def _overlap(value: object, true: object) -> bool:
    """Return whether one profession includes the other."""
    return isinstance(value, str) and PROFESSIONS.get(value, "") == true


def value_phrases(
    world: World, entity: Entity, name: str, around: Sequence[object], count: int
) -> list[Phrase]:
    """Return wordings of a fact for claims, true, false and open ones in equal numbers or nearly."""
    relation, rng = RELATIONS[entity.kind][name], world.rng
    true = world.fact(entity, name)
    if relation.value == "time":
        own = [int(str(v)) for v in _values(entity, "time") if v != true]
        return time_claims(int(str(true)), own, rng, count)
    if relation.value == "number":
        own = [int(str(v)) for v in (*_values(entity, "number"), *around) if v != true]
        return number_claims(int(str(true)), relation.unit, own, rng, count)
    phrases = []
    for number in range(count):
        if number % 2 == 0:
            phrases.append(Phrase(_other_words(true, relation, rng), TRUE))
        else:
            false = false_value(world, entity, name, around)
            label = OPEN if relation.many else FALSE
            phrases.append(Phrase(phrase(false, relation, rng), label))
    return phrases


def _other_words(value: object, relation: Relation, rng: random.Random) -> str:
    """Return a value in words that need not be those of the evidence: a more general word."""
    if relation.value == "profession" and PROFESSIONS[str(value)] and rng.random() < 0.4:
        return article(PROFESSIONS[str(value)])
    if relation.value == "product" and str(value) in GENERAL and rng.random() < 0.4:
        return GENERAL[str(value)]
    return phrase(value, relation, rng)


def _values(entity: Entity, kind: str) -> list[object]:
    return [v for name, v in entity.facts.items() if RELATIONS[entity.kind][name].value == kind]


def chosen_kind(world: World, names: Sequence[str] = ()) -> str:
    """Return a kind of entity, people more often than others."""
    kinds = list(names or RELATIONS)
    weights = [3 if kind == "person" else 1 for kind in kinds]
    return world.rng.choices(kinds, weights)[0]


# ---- Scenes -------------------------------------------------------------------------------------


def attribute(world: World) -> Scene:
    """A fact of an entity among its other facts and those of a similar one."""
    rng = world.rng
    entity = world.entity(chosen_kind(world))
    name = rng.choice(list(RELATIONS[entity.kind]))
    key = stating(world, entity, name, "fact")
    sentences = [key, *other_facts(world, entity, [name], rng.randint(0, 3))]
    around: list[object] = []
    if rng.random() < 0.6:
        other = similar(entity, world)
        around.append(world.fact(other, name))
        sentences.append(stating(world, other, name, ""))
        sentences += other_facts(world, other, [name], rng.randint(0, 1))
    claims = [
        Claim(claim_of(world, entity, name, p.text, p.label), p.label, _needs("fact", p.label))
        for p in value_phrases(world, entity, name, around, rng.choice((2, 2, 4)))
    ]
    return Scene(sentences, claims, "attribute")


def _needs(key: str, label: str) -> dict[str, str]:
    return {} if label == OPEN else {key: label}


def vague(world: World) -> Scene:
    """A number or a time that the evidence gives as a bound, a decade or a century."""
    rng = world.rng
    entity = world.entity(chosen_kind(world, [k for k in RELATIONS if k != "species"]))
    names = [n for n, r in RELATIONS[entity.kind].items() if r.value in ("number", "time")]
    name = rng.choice(names)
    relation = RELATIONS[entity.kind][name]
    true = int(str(world.fact(entity, name)))
    if relation.value == "time":
        words, phrases = vague_time(true, rng)
    else:
        words, phrases = vague_number(true, relation.unit, rng)
    sentences = [stating(world, entity, name, "fact", words)]
    sentences += other_facts(world, entity, [name], rng.randint(0, 2))
    claims = [
        Claim(claim_of(world, entity, name, p.text, p.label), p.label, _needs("fact", p.label))
        for p in phrases
    ]
    return Scene(sentences, claims, "vague")


def units(world: World) -> Scene:
    """A quantity in another unit."""
    rng = world.rng
    large, small, factor = rng.choice(UNITS)
    entity = world.entity(rng.choice(("company", "person", "school", "ship", "building")))
    verb = {"kilometres": "laid", "metres": "laid", "hours": "waited", "minutes": "waited",
            "tonnes": "ordered", "kilograms": "ordered", "weeks": "waited", "years": "waited",
            "days": "waited", "dozen eggs": "ordered"}[large]  # fmt: skip
    tail = {"laid": "of cable", "waited": "for the permit", "ordered": "" if "eggs" in large else "of flour"}[verb]
    count = rng.choice((1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 20))
    both = [(f"{count:g} {large}", f"{count * factor:,.0f} {small}")]
    first, second = both[0] if rng.random() < 0.5 else both[0][::-1]
    wrong_count = count * rng.choice((0.5, 2, 3, 10, 0.1))
    wrong = f"{wrong_count:g} {large}" if second.endswith(large) else f"{wrong_count * factor:,.0f} {small}"
    stated = Stated(entity.title, sentence(named(world, entity), f"{verb} {first} {tail}".strip()), "fact")
    claims = [
        Claim(
            (Part(entity.mention, None), Part(f" {verb} ", TRUE), Part(words, label), Part(f" {tail}".rstrip(), TRUE)),
            label,
            {"fact": label},
        )
        for words, label in ((second, TRUE), (wrong, FALSE))
    ]
    return Scene([stated, *other_facts(world, entity, [], rng.randint(0, 2))], claims, "units")


def negation(world: World) -> Scene:
    """Something that happened or did not, or that an entity has or lacks."""
    rng = world.rng
    if rng.random() < 0.5:
        entity = world.entity(rng.choice(list(EVENTS)))
        event, participle = rng.choice(EVENTS[entity.kind])
        year = time_phrase(rng.randint(1850, 2015), rng)
        yes = (f"{event} {year}", event, f"was in the end {participle}", f"was {participle} after all")
        no = (
            event.replace("was ", "was never ", 1),
            event.replace("was ", "was not ", 1),
            f"escaped being {participle}",
            f"was one of the few not to be {participle}",
        )
        claims_yes = (event, f"was indeed {participle}", f"was {participle} at some time")
        claims_no = (event.replace("was ", "was not ", 1), event.replace("was ", "was never ", 1),
                     f"has never been {participle}")
    else:
        entity = world.entity(rng.choice(list(FEATURES)))
        thing = rng.choice(FEATURES[entity.kind])
        bare = thing.split(" ", 1)[1]
        of_kind = {"person": "person"}.get(entity.kind, entity.kind)
        yes = (f"has {thing}", f"has had {thing} {_since(rng)}", f"is one of the few to have {thing}",
               f"is the only {of_kind} here with {thing}")
        no = (f"has no {bare}", f"does not have {thing}", f"lacks {thing}",
              f"is the only {of_kind} here without {thing}", f"has never had {thing}", f"has to do without {thing}")
        claims_yes = (f"has {thing}", f"is not without {thing}")
        claims_no = (f"has no {bare}", f"lacks {thing}", f"does not have {thing}", f"is without {thing}")
    happened = rng.random() < 0.5
    text = sentence(named(world, entity), rng.choice(yes if happened else no))
    sentences = [Stated(entity.title, text, "fact"), *other_facts(world, entity, [], rng.randint(0, 3))]
    if rng.random() < 0.5:
        other = similar(entity, world)
        text = sentence(other.mention, rng.choice(no if happened else yes))
        sentences.append(Stated(other.title, text))
    claims = []
    for wording, is_true in ((rng.choice(claims_yes), happened), (rng.choice(claims_no), not happened)):
        label = TRUE if is_true else FALSE
        claims.append(Claim((Part(entity.mention, None), Part(f" {wording}", label)), label, {"fact": label}))
    return Scene(sentences, claims, "negation")


def _since(rng: random.Random) -> str:
    return f"since {rng.randint(1850, 2015)}"


def modality(world: World) -> Scene:
    """Something planned, claimed, denied or forbidden, which need not have happened."""
    rng = world.rng
    entity = world.entity(rng.choice(list(EVENTS)))
    event, participle = rng.choice(EVENTS[entity.kind])
    source = world.entity("person").mention
    year = rng.randint(1850, 2015)
    kinds = [
        ("plan", f"was to be {participle} in {year}", f"there were plans for {entity.mention} to be {participle}"),
        ("plan", f"was expected to be {participle}", f"it was expected that {entity.mention} would be {participle}"),
        ("said", f"was, according to {source}, {participle} in {year}", f"{source} said that {entity.mention} {event}"),
        ("denied", f"was never {participle}, although {source} claimed so", f"{source} claimed that {entity.mention} {event}"),
        ("cancelled", f"was to be {participle} in {year}, but this was cancelled",
         f"there were plans for {entity.mention} to be {participle}"),
        ("avoided", f"narrowly avoided being {participle}", f"{entity.mention} was nearly {participle}"),
        ("done", f"was {participle} as planned in {year}", f"it had been planned that {entity.mention} be {participle}"),
        ("condition", f"would have been {participle} if {source} had not objected", f"{source} objected to {entity.mention} being {participle}"),
    ]
    what, text, weaker = rng.choice(kinds)
    happened = {"plan": OPEN, "said": OPEN, "denied": FALSE, "cancelled": FALSE, "avoided": FALSE,
                "done": TRUE, "condition": FALSE}[what]  # fmt: skip
    opposite = {OPEN: OPEN, TRUE: FALSE, FALSE: TRUE}[happened]
    never = event.replace("was ", rng.choice(("was never ", "was not ")), 1)
    stated = Stated(entity.title, sentence(named(world, entity, 0.1), text), "fact")
    claims = [
        Claim((Part(entity.mention, None), Part(f" {event}", happened)), happened, _needs("fact", happened)),
        Claim((Part(entity.mention, None), Part(f" {never}", opposite)), opposite, _needs("fact", opposite)),
        Claim((Part(weaker, TRUE),), TRUE, {"fact": TRUE}),
    ]
    return Scene([stated, *other_facts(world, entity, [], rng.randint(0, 2))], rng.sample(claims, 2), "modality")


def credit(world: World) -> Scene:
    """Something that one claims and another is credited with."""
    rng = world.rng
    maker, rival = world.entity("person"), world.entity("person")
    thing = world.entity(rng.choice(("building", "species", "book", "film", "line")))
    act, by = rng.choice((("designed", "design"), ("discovered", "discovery"), ("invented", "invention"), ("paid for", "financing")))
    text = rng.choice((
        f"{rival.mention} claimed to have {act} {thing.mention}, but the {by} is credited to {maker.mention}",
        f"although {rival.mention} is often said to have {act} {thing.mention}, it was {maker.mention} who did so",
        f"it was {maker.mention}, not {rival.mention}, who {act} {thing.mention}",
        f"{thing.mention} was {act} by {maker.mention} rather than by {rival.mention}",
    ))  # fmt: skip
    stated = Stated(thing.title, text[:1].upper() + text[1:] + ".", "fact")
    forms = (
        lambda who, label: (Part(who, label), Part(f" {act} ", TRUE), Part(thing.mention, None)),
        lambda who, label: (Part(thing.mention, None), Part(f" was {act} by ", TRUE), Part(who, label)),
        lambda who, label: (Part(f"The {by} of ", TRUE), Part(thing.mention, None), Part(" is credited to ", TRUE), Part(who, label)),
    )
    claims = [
        Claim(rng.choice(forms)(who.mention, label), label, {"fact": label})
        for who, label in ((maker, TRUE), (rival, FALSE))
    ]
    return Scene([stated, *other_facts(world, thing, [], rng.randint(0, 2))], claims, "credit")


def roles(world: World) -> Scene:
    """A deed of one entity to another: the active and the passive, and the roles exchanged."""
    rng = world.rng
    kind = rng.choice(("company", "person", "person", "club", "town"))
    first, second = world.entity(kind), world.entity(kind)
    time = time_phrase(rng.randint(1900, 2015), rng)
    if rng.random() < 0.25:
        relation = rng.choice(MUTUAL[kind])
        stated = Stated(first.title, sentence(named(world, first, 0.1), f"{relation} {second.mention}"), "fact")
        third = world.entity(kind)
        claims = [
            Claim((Part(second.mention, None), Part(f" {relation} ", TRUE), Part(first.mention, TRUE)), TRUE, {"fact": TRUE}),
            Claim((Part(third.mention, None), Part(f" {relation} ", OPEN), Part(first.mention, OPEN)), OPEN, {}),
        ]
        others = [*other_facts(world, first, [], 1), *other_facts(world, third, [], 1)]
        return Scene([stated, *others], claims, "roles")
    past, passive = rng.choice(DEEDS[kind])
    if rng.random() < 0.5:
        stated = Stated(first.title, sentence(named(world, first, 0.1), f"{past} {second.mention} {time}"), "fact")
    else:
        stated = Stated(second.title, sentence(named(world, second, 0.1), f"was {passive} {first.mention} {time}"), "fact")

    def told(doer: Entity, other: Entity, label: str) -> Claim:
        if rng.random() < 0.5:
            parts = (Part(doer.mention, label), Part(f" {past} ", TRUE), Part(other.mention, label))
        else:
            parts = (Part(other.mention, label), Part(f" was {passive} ", TRUE), Part(doer.mention, label))
        return Claim(parts, label, {"fact": label})

    sentences = [stated, *other_facts(world, first, [], 1), *other_facts(world, second, [], rng.randint(0, 1))]
    claims = [told(first, second, TRUE), told(second, first, FALSE)]
    if rng.random() < 0.4:
        third = world.entity(kind)
        other = rng.choice([d for d in DEEDS[kind] if d[0] != past])
        sentences.append(Stated(third.title, sentence(third.mention, f"{other[0]} {first.mention}")))
        claims.append(
            Claim((Part(third.mention, None), Part(f" {past} ", OPEN), Part(first.mention, OPEN)), OPEN, {})
        )
    return Scene(sentences, claims, "roles")


def kinship(world: World) -> Scene:
    """Relatives: the converse relation, the general word, and relations that exclude it."""
    rng = world.rng
    first, second = world.entity("person"), world.entity("person")
    there, back = rng.choice(KINSHIP)
    of_first = there[first.pronoun == "she"]
    of_second = back[second.pronoun == "she"]
    form = rng.choice(("{a} is the {k} of {b}", "{b} is the {c} of {a}", "{a}, the {k} of {b}, {x}"))
    extra = predicate(world, first, rng.choice(("lives", "profession", "born_place")))
    text = form.format(a=first.mention, b=second.mention, k=of_first, c=of_second, x=extra)
    title = (first if form.startswith("{a}") else second).title
    stated = Stated(title, text[:1].upper() + text[1:] + ".", "fact")
    true = [
        (second, of_second, first), (first, of_first, second),
        (first, NEUTRAL_KIN[of_first], second), (second, NEUTRAL_KIN[of_second], first),
    ]  # fmt: skip
    wrong_kinds = [k for k in KINSHIP if k[0] != there and NEUTRAL_KIN[k[0][0]] != NEUTRAL_KIN[there[0]]]
    wrong = rng.choice(wrong_kinds)
    false = [(first, wrong[0][first.pronoun == "she"], second)]
    if there != back:
        false.append((second, there[second.pronoun == "she"], first))
        false.append((first, back[first.pronoun == "she"], second))
    claims = []
    for options, label in ((true, TRUE), (false, FALSE)):
        who, word, whose = rng.choice(options)
        claims.append(
            Claim(
                (Part(who.mention, None), Part(" is ", TRUE),
                 Part(f"{article(word) if word in NEUTRAL_KIN.values() else 'the ' + word} of", label),
                 Part(f" {whose.mention}", TRUE)),
                label, {"fact": label},
            )
        )  # fmt: skip
    others = [*other_facts(world, first, [], 1), *other_facts(world, second, [], 1)]
    return Scene([stated, *others], claims, "kinship")


def rank(world: World) -> Scene:
    """A superlative or a rank, and what it implies."""
    rng = world.rng
    (kind, _), (more, less, most, least, noun) = rng.choice(list(DEGREES.items()))
    entity, other, third = (world.entity(kind) for _ in range(3))
    area = world.country().name
    degree, comparative, opposite, opposite_most = (most, more, less, least) if rng.random() < 0.6 else (least, less, more, most)
    ordinal = rng.choice(("second", "third", "fourth", "fifth"))
    in_area = rng.choice((f"of {area}", f"in {area}"))
    kind_text = rng.choice(("rank", "rank after", "top", "top of"))
    if kind_text == "rank after":
        text = f"is the second {degree} {noun} {in_area}, after {other.mention}"
        true = [
            ((other,), f" is {comparative} than ", entity.mention),
            ((entity,), f" is {opposite} than ", other.mention),
            ((other,), " is ", f"the {degree} {noun} {in_area}"),
        ]
        false = [
            ((entity,), " is ", f"the {degree} {noun} {in_area}"),
            ((entity,), f" is {comparative} than ", other.mention),
            ((entity,), " is ", f"the third {degree} {noun} {in_area}"),
        ]
    elif kind_text == "rank":
        text = f"is the {ordinal} {degree} {noun} {in_area}"
        true = [((entity,), " is not ", f"the {degree} {noun} {in_area}"),
                ((entity,), " ranks ", f"{ordinal} among the {degree} {noun}s {in_area}"),
                ((entity,), " is one of ", f"the {degree} {noun}s {in_area}")]  # fmt: skip
        wrong = rng.choice([o for o in ("second", "third", "fourth", "fifth", "sixth") if o != ordinal])
        false = [((entity,), " is ", f"the {degree} {noun} {in_area}"),
                 ((entity,), " is ", f"the {wrong} {degree} {noun} {in_area}"),
                 ((entity,), f" is {comparative} than ", f"any other {noun} {in_area}")]  # fmt: skip
    else:
        text = f"is the {degree} {noun} {in_area}"
        if kind_text == "top of":
            text += f", followed by {other.mention}"
        true = [((entity,), f" is {comparative} than ", f"any other {noun} {in_area}"),
                ((entity,), " is ", f"the {degree} {noun} {in_area}")]  # fmt: skip
        false = [((entity,), " is ", f"the second {degree} {noun} {in_area}"),
                 ((entity,), " is ", f"the {opposite_most} {noun} {in_area}"),
                 ((entity,), f" is not ", f"the {degree} {noun} {in_area}")]  # fmt: skip
        if kind_text == "top of":
            true.append(((entity,), f" is {comparative} than ", other.mention))
            true.append(((other,), " is ", f"the second {degree} {noun} {in_area}"))
            false.append(((other,), f" is {comparative} than ", entity.mention))
    stated = Stated(entity.title, sentence(named(world, entity, 0.1), text), "fact")
    claims = []
    for options, label in ((true, TRUE), (false, FALSE)):
        (subject,), verb, rest = rng.choice(options)
        claims.append(Claim((Part(subject.mention, None), Part(verb, label), Part(rest, label)), label, {"fact": label}))
    if rng.random() < 0.5:
        claims.append(
            Claim((Part(third.mention, None), Part(f" is {comparative} than ", OPEN), Part(entity.mention, OPEN)), OPEN, {})
            if rng.random() < 0.5
            else Claim((Part(third.mention, None), Part(" is ", OPEN), Part(f"the {degree} {noun} in {world.country().name}", OPEN)), OPEN, {})
        )
    others = [*other_facts(world, entity, [], rng.randint(0, 1)), *other_facts(world, third, [], 1)]
    return Scene([stated, *others], claims, "rank")


def comparison(world: World) -> Scene:
    """Numbers or times of two or three entities compared."""
    rng = world.rng
    (kind, name), (more, less, most, least, noun) = rng.choice(list(DEGREES.items()))
    entities = [world.entity(kind) for _ in range(rng.choice((2, 2, 3)))]
    relation = RELATIONS[kind][name]
    values = []
    for number, entity in enumerate(entities):
        value = int(str(world.fact(entity, name)))
        while value in values:
            entity.facts.pop(name)
            value = int(str(world.fact(entity, name)))
        values.append(value)
    sentences = [stating(world, entity, name, f"fact{n}") for n, entity in enumerate(entities)]
    for entity in entities:
        sentences += other_facts(world, entity, [name], rng.randint(0, 1))
    high = entities[values.index(max(values))]
    low = entities[values.index(min(values))]
    needs = {f"fact{n}": TRUE for n in (entities.index(high), entities.index(low))}
    if relation.value == "time":
        verb = rng.choice(relation.predicates).replace("{v}", "").replace("{p}", high.possessive).strip()
        ways = [(f" {verb} later than ", f" {verb} earlier than ")]
        if kind != "festival":
            ways.append((f" is {more} than ", f" is {less} than "))
        above, below = rng.choice(ways)
    else:
        above, below = f" is {more} than ", f" is {less} than "
        if relation.unit in ("inhabitants", "people", "minutes", "pages") and rng.random() < 0.4:
            above, below = f" has more {relation.unit} than ", f" has fewer {relation.unit} than "
    options = [((high, above, low), TRUE), ((low, below, high), TRUE), ((low, above, high), FALSE), ((high, below, low), FALSE)]
    claims = []
    for wanted in (TRUE, FALSE):
        (first, word, second), label = rng.choice([o for o in options if o[1] == wanted])
        own = {k: label for k in needs}
        claims.append(Claim((Part(first.mention, None), Part(word, label), Part(second.mention, None)), label, own))
    if len(entities) == 3 and rng.random() < 0.6:
        order = rng.choice(((high, most), (low, least)))
        wrong = rng.choice([e for e in entities if e is not order[0]])
        everyone = {f"fact{n}": TRUE for n in range(3)}
        for entity, label in ((order[0], TRUE), (wrong, FALSE)):
            claims.append(Claim(
                (Part("Of the three, ", None), Part(entity.mention, None), Part(f" is the {order[1]}", label)),
                label, {k: label for k in everyone},
            ))  # fmt: skip
    return Scene(sentences, claims, "comparison")


def order(world: World) -> Scene:
    """Two times of an entity: which came first, and how many years lay between them."""
    rng = world.rng
    options = [
        ("law", "passed", "repealed"), ("line", "opened", "closed"), ("building", "opened", "renovated"),
        ("company", "founded", "bankrupt"), ("band", "formed", "split"), ("ship", "launched", "sank"),
        ("club", "founded", "relegated"), ("person", "born", "debut"), ("person", "debut", "retired"),
    ]  # fmt: skip
    kind, first, second = rng.choice(options)
    entity = world.entity(kind)
    begin = rng.randint(1860, 1990)
    years = rng.randint(3, 60) if first != "born" else rng.randint(15, 40)
    entity.facts[first], entity.facts[second] = begin, begin + years
    words = [f"in {begin}", f"in {begin + years}"]
    predicates = [rng.choice(RELATIONS[kind][n].predicates).replace("{v}", w).replace("{p}", entity.possessive)
                  for n, w in zip((first, second), words, strict=True)]  # fmt: skip
    if rng.random() < 0.5:
        sentences = [Stated(entity.title, sentence(named(world, entity), *predicates), "fact")]
        keys = ["fact"]
    else:
        sentences = [Stated(entity.title, sentence(named(world, entity), p), f"fact{n}") for n, p in enumerate(predicates)]
        keys = ["fact0", "fact1"]
    sentences += other_facts(world, entity, [first, second], rng.randint(0, 2))
    bare = [rng.choice(RELATIONS[kind][n].predicates).replace("{v}", "").replace("{p}", entity.possessive).strip() for n in (first, second)]
    wrong = years + rng.choice((-2, 3, 10, years))
    wrong = wrong if wrong > 0 and wrong != years else years + 4
    between = rng.randint(begin + 1, begin + years - 1)
    middle = f"the year {between}"
    true = [(f" {bare[0]} before {entity.pronoun} {bare[1]}",), (f" {bare[1]} after {entity.pronoun} {bare[0]}",),
            (f" {bare[1]} {years} years after {entity.pronoun} {bare[0]}",), (f" {bare[1]} after {middle}",),
            (f" {bare[0]} before {middle}",)]  # fmt: skip
    false = [(f" {bare[1]} before {entity.pronoun} {bare[0]}",), (f" {bare[0]} after {entity.pronoun} {bare[1]}",),
             (f" {bare[1]} {wrong} years after {entity.pronoun} {bare[0]}",), (f" {bare[1]} before {middle}",),
             (f" {bare[0]} after {middle}",)]  # fmt: skip
    claims = []
    for options_, label in ((true, TRUE), (false, FALSE)):
        (text,) = rng.choice(options_)
        claims.append(Claim((Part(entity.mention, None), Part(text, label)), label, {k: label for k in keys}))
    return Scene(sentences, claims, "order")


_MONTHS = "January February March April May June July August September October November December".split()


def duration(world: World) -> Scene:
    """How long something lasted, from its begin and its end."""
    rng = world.rng
    kind = rng.choice(("strike", "person", "festival", "building"))
    entity = world.entity(kind)
    what = {"strike": "lasted", "person": "was ill", "festival": "was interrupted", "building": "was under repair"}[kind]
    if rng.random() < 0.5:
        year, begin = rng.randint(1850, 2015), rng.randint(0, 8)
        end = rng.randint(begin + 1, 11)
        text = f"{what} from {_MONTHS[begin]} to {_MONTHS[end]} {year}"
        months = end - begin
        true = [f"for {'more' if months > 5 else 'less'} than half a year" if months not in (5, 6) else "for about half a year",
                "for less than a year", f"for more than {max(months - 2, 1)} months" if months > 2 else "for less than four months",
                f"until {_MONTHS[end]} {year}"]  # fmt: skip
        false = ["for two years", f"for more than {months + 3} months", "for over a year", f"until {_MONTHS[begin]} {year}",
                 f"for {'less' if months > 6 else 'more'} than {'half a year' if months > 6 else 'eight months'}"]  # fmt: skip
    else:
        begin, years = rng.randint(1850, 1990), rng.randint(2, 25)
        text = f"{what} from {begin} to {begin + years}"
        true = [f"for {years} years", f"for more than {years - 1} years", f"for less than {years + 3} years", f"until {begin + years}",
                "for less than a century"]  # fmt: skip
        false = [f"for {years + rng.randint(2, 9)} years", f"for more than {years + 3} years", "for only a few days", f"until {begin}",
                 f"for less than {max(years - 1, 1)} years"]  # fmt: skip
    stated = Stated(entity.title, sentence(named(world, entity), text), "fact")
    claims = []
    for options, label in ((true, TRUE), (false, FALSE)):
        words = rng.choice(options)
        if what == "lasted":
            words = words.removeprefix("for ")
        claims.append(Claim((Part(entity.mention, None), Part(f" {what} ", TRUE), Part(words, label)), label, {"fact": label}))
    return Scene([stated, *other_facts(world, entity, [], rng.randint(0, 2))], claims, "duration")


def age(world: World) -> Scene:
    """The age of a person at something, from two years."""
    rng = world.rng
    person = world.entity("person")
    born, years = rng.randint(1850, 1960), rng.randint(18, 80)
    deed = rng.choice(("died", "moved to the coast", "won the election", "published the first of the novels", "married", "learnt to fly"))
    sentences = [
        Stated(person.title, sentence(named(world, person), f"was born in {born}"), "born"),
        Stated(person.title, sentence(named(world, person), f"{deed} in {born + years}"), "deed"),
    ]
    if rng.random() < 0.4:
        sentences = [Stated(person.title, sentence(named(world, person), f"was born in {born}", f"{deed} in {born + years}"), "born")]
    low, high = years // 10 * 10, years // 10 * 10 + 10
    true = [f"at the age of {years}", f"before turning {high + 10}", f"after turning {max(low - 5, 10)}"]
    if years % 10 not in (0, 9):
        true.append(f"in {person.possessive} {_tens(low)}")
    false = [f"at the age of {years + rng.choice((-15, -9, 12, 20))}", f"before turning {max(low - 3, 5)}", f"after turning {high + 5}",
             f"in {person.possessive} {_tens((low + 20) if low < 70 else low - 30)}"]  # fmt: skip
    claims = []
    keys = [s.key for s in sentences]
    for options, label in ((true, TRUE), (false, FALSE)):
        claims.append(Claim(
            (Part(person.mention, None), Part(f" {deed} ", TRUE), Part(rng.choice(options), label)), label, {k: label for k in keys}
        ))  # fmt: skip
    return Scene([*sentences, *other_facts(world, person, ["born"], rng.randint(0, 2))], claims, "age")


def _tens(number: int) -> str:
    names = {10: "teens", 20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies", 80: "eighties", 90: "nineties"}
    return names[number]


def quantifier(world: World) -> Scene:
    """How many of a group do something."""
    rng = world.rng
    kind, members, deeds = rng.choice(GROUPS)
    entity = world.entity(kind)
    first, second = rng.sample(deeds, 2)
    amount = rng.choice(("all", "most", "none", "some", "percent", "half", "few"))
    percent = rng.choice((8, 15, 23, 61, 72, 85))
    text = {
        "all": f"all {members} of {entity.mention} {first}",
        "most": f"most {members} of {entity.mention} {first}",
        "none": f"none of the {members} of {entity.mention} {first}",
        "some": f"some {members} of {entity.mention} {first}",
        "percent": f"{percent} per cent of the {members} of {entity.mention} {first}",
        "half": f"half of the {members} of {entity.mention} {first}",
        "few": f"only a few {members} of {entity.mention} {first}",
    }[amount]
    if rng.random() < 0.5:
        text += rng.choice((f"; none {second}", f", while most {second}", f", but few {second}"))
    quantities = {
        "all": ((TRUE, ("every one of the", "all", "most", "more than half of the")), (FALSE, ("no", "not all", "only a few of the", "less than half of the"))),
        "most": ((TRUE, ("more than half of the", "most", "at least one of the")), (FALSE, ("none of the", "only a small minority of the", "no"))),
        "none": ((TRUE, ("no", "none of the", "not one of the")), (FALSE, ("all", "most", "some", "many"))),
        "some": ((TRUE, ("at least one of the", "some")), (FALSE, ("none of the", "no"))),
        "percent": ((TRUE, (("more than half of the", "a majority of the") if percent > 50 else ("less than half of the", "a minority of the"))),
                    (FALSE, (("less than half of the", "a minority of the", "none of the") if percent > 50 else ("more than half of the", "most", "all")))),
        "half": ((TRUE, ("50 per cent of the", "one in two of the")), (FALSE, ("all", "none of the", "nearly all"))),
        "few": ((TRUE, ("not all", "a minority of the")), (FALSE, ("most", "all", "the majority of the"))),
    }[amount]  # fmt: skip
    claims = []
    for label, words in quantities:
        claims.append(Claim(
            (Part(f"{rng.choice(words)} ", label), Part(f"{members} of ", TRUE), Part(entity.mention, None), Part(f" {first}", TRUE)),
            label, {"fact": label},
        ))  # fmt: skip
    third = rng.choice([d for d in deeds if d not in (first, second)])
    if rng.random() < 0.4:
        claims.append(Claim(
            (Part(f"{rng.choice(('most', 'no', 'all'))} ", OPEN), Part(f"{members} of ", OPEN), Part(entity.mention, None), Part(f" {third}", OPEN)), OPEN, {},
        ))  # fmt: skip
    stated = Stated(entity.title, text[:1].upper() + text[1:] + ".", "fact")
    return Scene([stated, *other_facts(world, entity, [], rng.randint(0, 2))], claims, "quantifier")


def opposite(world: World) -> Scene:
    """A predicate and its opposite."""
    rng = world.rng
    kind, words, tails = rng.choice(OPPOSITES)
    entity = world.entity(kind)
    year = rng.randint(1880, 2000)
    tail = rng.choice(tails).format(y=year, z=year + rng.randint(5, 20))
    stated_as, other = words if rng.random() < 0.5 else words[::-1]
    sentences = [Stated(entity.title, sentence(named(world, entity), f"{stated_as} {tail}".strip()), "fact")]
    sentences += other_facts(world, entity, [], rng.randint(0, 2))
    if rng.random() < 0.5:
        twin = similar(entity, world)
        sentences.append(Stated(twin.title, sentence(twin.mention, f"{other} {tail}".strip())))
    claims = [
        Claim((Part(entity.mention, None), Part(f" {w}", label), Part(f" {tail}".rstrip(), TRUE)), label, {"fact": label})
        for w, label in ((stated_as, TRUE), (other, FALSE))
    ]
    return Scene(sentences, claims, "opposite")


def paraphrase(world: World) -> Scene:
    """The same in other words, with the time right or wrong."""
    rng = world.rng
    kind, *ways = rng.choice(PARAPHRASES)
    entity = world.entity(kind)
    year = rng.randint(1850, 2000)
    rng.shuffle(ways)

    def told(way: str, value: int) -> str:
        return way.format(t=f"in {value}", u=str(value), p=entity.possessive)

    sentences = [Stated(entity.title, sentence(named(world, entity), told(ways[0], year)), "fact")]
    sentences += other_facts(world, entity, [], rng.randint(0, 2))
    wrong = year + rng.choice((-30, -10, -4, 5, 12, 40))
    claims = []
    for value, label in ((year, TRUE), (wrong, FALSE)):
        before, after = told(ways[1], value).split(str(value))
        claims.append(Claim(
            (Part(entity.mention, None), Part(f" {before}", TRUE), Part(str(value), label), Part(after, TRUE)), label, {"fact": label},
        ))  # fmt: skip
    return Scene(sentences, claims, "paraphrase")


def conjunction(world: World) -> Scene:
    """Two facts in a claim: both right, one wrong, or one that the evidence lacks."""
    rng = world.rng
    entity = world.entity(chosen_kind(world))
    names = rng.sample(list(RELATIONS[entity.kind]), 2)
    third = rng.choice([n for n in RELATIONS[entity.kind] if n not in names])
    one_sentence = rng.random() < 0.5
    if one_sentence:
        predicates = [predicate(world, entity, name) for name in names]
        sentences = [Stated(entity.title, sentence(named(world, entity), *predicates), "fact0")]
        keys = ["fact0", "fact0"]
    else:
        told = [*names, third]
        sentences = [
            stating(world, entity, name, f"fact{n}", without=told) for n, name in enumerate(names)
        ]
        keys = ["fact0", "fact1"]
    sentences += other_facts(world, entity, [*names, third], rng.randint(0, 2))

    def joined(first: tuple[str, Phrase], second: tuple[str, Phrase]) -> Claim:
        parts = list(claim_of(world, entity, first[0], first[1].text, first[1].label, (Part(entity.mention, None),)))
        parts.append(Part(" and", TRUE))
        parts += claim_of(world, entity, second[0], second[1].text, second[1].label, (Part("", None),))[1:]
        labels = (first[1].label, second[1].label)
        label = FALSE if FALSE in labels else OPEN if OPEN in labels else TRUE
        needs: dict[str, str] = {}
        for (name, wording), key in zip((first, second), (_key(first[0], names, keys), _key(second[0], names, keys)), strict=True):
            if key and wording.label != OPEN and needs.get(key) != FALSE:
                needs[key] = wording.label
        return Claim(tuple(parts), label, needs)

    def worded(name: str, wanted: str) -> tuple[str, Phrase] | None:
        for _ in range(4):
            for p in value_phrases(world, entity, name, [], 4):
                if p.label == wanted:
                    return name, p
        return None

    both = (worded(names[0], TRUE), worded(names[1], TRUE))
    wrong = worded(rng.choice(names), FALSE)
    world.fact(entity, third)
    missing = worded(third, TRUE)
    claims = []
    if both[0] and both[1]:
        claims.append(joined(both[0], both[1]))
        if wrong:
            right = both[1] if wrong[0] == names[0] else both[0]
            pair = [right, wrong]
            rng.shuffle(pair)
            claims.append(joined(*pair))
        if missing:
            pair = [rng.choice([b for b in both if b]), (missing[0], Phrase(missing[1].text, OPEN))]
            rng.shuffle(pair)
            claims.append(joined(*pair))
    if len(claims) == 3:
        claims.pop(rng.randrange(1, 3))
    return Scene(sentences, claims, "conjunction")


def _key(name: str, names: Sequence[str], keys: Sequence[str]) -> str:
    return keys[names.index(name)] if name in names else ""


_BRIDGES = {
    ("film", "director"): ("directed", "the director of"), ("film", "writer"): ("wrote the screenplay of", "the writer of"),
    ("film", "composer"): ("composed the music of", "the composer of the music of"), ("book", "author"): ("wrote", "the author of"),
    ("book", "translator"): ("translated", "the translator of"), ("building", "architect"): ("designed", "the architect of"),
    ("company", "founder"): ("founded", "the founder of"), ("company", "head"): ("heads", "the head of"),
    ("club", "coach"): ("coaches", "the coach of"), ("law", "author"): ("drafted", "the author of"),
    ("strike", "leader"): ("led", "the leader of"), ("species", "describer"): ("first described", "the discoverer of"),
    ("mountain", "climber"): ("was the first to climb", "the first climber of"), ("newspaper", "editor"): ("edits", "the editor of"),
    ("festival", "founder"): ("started", "the founder of"), ("band", "singer"): ("sings in", "the singer of"),
    ("town", "mayor"): ("governs", "the mayor of"), ("ship", "captain"): ("commanded", "the captain of"),
}  # fmt: skip


def bridge(world: World) -> Scene:
    """A fact of a person whom the claim does not name, but describes by another document."""
    rng = world.rng
    (kind, relation), (verb, role) = rng.choice(list(_BRIDGES.items()))
    thing = world.entity(kind)
    person = world.fact(thing, relation)
    assert isinstance(person, Entity)
    name = rng.choice([n for n, r in RELATIONS["person"].items() if not r.many])
    sentences = [stating(world, thing, relation, "bridge"), stating(world, person, name, "fact")]
    rival = world.entity("person")
    world.fact(rival, name)
    sentences.append(stating(world, rival, name, ""))
    around = [world.fact(rival, name)]
    siblings = [n for n in RELATIONS[kind] if RELATIONS[kind][n].value == "person" and n != relation]
    if siblings and rng.random() < 0.6:
        other = rng.choice(siblings)
        thing.facts[other] = rival
        sentences.append(stating(world, thing, other, ""))
    sentences += other_facts(world, person, [name], rng.randint(0, 1))
    sentences += other_facts(world, thing, [relation, *siblings], rng.randint(0, 1))
    claims = []
    for p in value_phrases(world, person, name, around, 2):
        if p.label == OPEN:
            continue
        if rng.random() < 0.5:
            subject = (Part(f"{role} ", TRUE), Part(thing.mention, None))
        else:
            subject = (Part(f"the person who {verb} ", TRUE), Part(thing.mention, None))
        parts = claim_of(world, person, name, p.text, p.label, subject)
        claims.append(Claim(parts, p.label, {"bridge": TRUE, "fact": p.label}))
    if rng.random() < 0.3 and claims:
        # The rival has the fact, but is not who the claim describes.
        p = Phrase(phrase(world.fact(rival, name), RELATIONS["person"][name], rng), FALSE)
        if world.fact(rival, name) != world.fact(person, name) and RELATIONS["person"][name].value != "time":
            subject = (Part(f"{role} ", TRUE), Part(thing.mention, None))
            claims.append(Claim(claim_of(world, person, name, p.text, FALSE, subject), FALSE, {"bridge": TRUE, "fact": FALSE}))
    return Scene(sentences, claims, "bridge")


def shared(world: World) -> Scene:
    """Whether two entities have the same value of a relation."""
    rng = world.rng
    kind, name, same, different = rng.choice((
        ("person", "born_place", "were born in the same place", "were born in different places"),
        ("person", "nationality", "have the same nationality", "have different nationalities"),
        ("person", "profession", "have the same profession", "have different professions"),
        ("person", "lives", "live in the same town", "live in different towns"),
        ("film", "director", "have the same director", "have different directors"),
        ("film", "genre", "belong to the same genre", "belong to different genres"),
        ("book", "author", "were written by the same person", "were written by different people"),
        ("building", "architect", "were designed by the same architect", "were designed by different architects"),
        ("building", "town", "stand in the same town", "stand in different towns"),
        ("company", "seat", "are based in the same town", "are based in different towns"),
        ("company", "founder", "were founded by the same person", "were founded by different people"),
        ("mountain", "country", "lie in the same country", "lie in different countries"),
        ("species", "habitat", "share a habitat", "live in different habitats"),
        ("town", "county", "belong to the same county", "belong to different counties"),
    ))  # fmt: skip
    first, second = world.entity(kind), world.entity(kind)
    value = world.fact(first, name)
    is_same = rng.random() < 0.5
    second.facts[name] = value if is_same else false_value(world, first, name, [])
    sentences = [stating(world, first, name, "fact0"), stating(world, second, name, "fact1")]
    sentences += other_facts(world, first, [name], rng.randint(0, 1)) + other_facts(world, second, [name], rng.randint(0, 1))
    pair = [first.mention, second.mention]
    rng.shuffle(pair)
    claims = []
    for words, is_true in ((same, is_same), (different, not is_same)):
        label = TRUE if is_true else FALSE
        claims.append(Claim(
            (Part(f"{pair[0]} and {pair[1]}", None), Part(f" {words}", label)), label, {"fact0": label, "fact1": label},
        ))  # fmt: skip
    return Scene(sentences, claims, "shared")


def change(world: World) -> Scene:
    """A value that was replaced by another: what was, and what is."""
    rng = world.rng
    kind, verb, was, now = rng.choice((
        ("company", "moved from {a} to {b} {t}", "was based in {v} until {y}", "is based in {v}"),
        ("person", "moved from {a} to {b} {t}", "lived in {v} until {y}", "lives in {v}"),
        ("festival", "was moved from {a} to {b} {t}", "was held in {v} until {y}", "is held in {v}"),
        ("newspaper", "moved from {a} to {b} {t}", "was published in {v} until {y}", "is published in {v}"),
        ("club", "moved from {a} to {b} {t}", "played in {v} until {y}", "plays in {v}"),
        ("school", "moved from {a} to {b} {t}", "was located in {v} until {y}", "is located in {v}"),
    ))  # fmt: skip
    entity = world.entity(kind)
    old, new, year = world.name(PLACE_ENDS), world.name(PLACE_ENDS), rng.randint(1900, 2015)
    text = verb.format(a=old, b=new, t=f"in {year}")
    sentences = [Stated(entity.title, sentence(named(world, entity), text), "fact")]
    sentences += other_facts(world, entity, ["seat", "lives", "place", "town"], rng.randint(0, 2))
    claims = []
    for template, true in ((was, old), (now, new)):
        for value in (old, new):
            label = TRUE if value == true else FALSE
            before, after = template.format(v="|", y=year).split("|")
            claims.append(Claim(
                (Part(entity.mention, None), Part(f" {before}", TRUE), Part(value, label), Part(after, TRUE)), label, {"fact": label},
            ))  # fmt: skip
    return Scene(sentences, rng.sample(claims, 2), "change")


def membership(world: World) -> Scene:
    """A list of which a thing is part or not, complete or open."""
    rng = world.rng
    entity = world.entity(rng.choice(("company", "person", "festival", "school")))
    verb = {"company": "has branches in", "person": "has lived in", "festival": "has been held in", "school": "has campuses in"}[entity.kind]
    places = [world.name(PLACE_ENDS) for _ in range(rng.randint(2, 4))]
    only = rng.random() < 0.7
    listed = f"{', '.join(places[:-1])} and {places[-1]}"
    start = verb.replace("in", "only in") if only else verb
    sentences = [Stated(entity.title, sentence(named(world, entity), f"{start} {listed}"), "fact")]
    other = world.entity(entity.kind)
    elsewhere = world.name(PLACE_ENDS)
    sentences.append(Stated(other.title, sentence(other.mention, f"{verb} {elsewhere} and {world.name(PLACE_ENDS)}")))
    sentences += other_facts(world, entity, ["seat", "lives", "place", "town"], rng.randint(0, 1))
    out = FALSE if only else OPEN
    claims = [
        Claim((Part(entity.mention, None), Part(f" {verb} ", TRUE if label != OPEN else OPEN), Part(value, label)), label, _needs("fact", label))
        for value, label in ((rng.choice(places), TRUE), (elsewhere, out))
    ]
    if only:
        count = len(places)
        for number, label in ((count, TRUE), (count + rng.choice((-1, 1, 2)), FALSE)):
            claims.append(Claim(
                (Part(entity.mention, None), Part(f" {verb} exactly ", TRUE), Part(f"{number} places", label)), label, {"fact": label},
            ))  # fmt: skip
    return Scene(sentences, rng.sample(claims, 2), "membership")


def origin(world: World) -> Scene:
    """Where something comes from, as an adjective or as a place."""
    rng = world.rng
    person = world.entity("person")
    country, other = world.country(), world.country()
    while other.name == country.name:
        other = world.country()
    profession = rng.choice(list(PROFESSIONS))
    forms = (
        lambda c: f"is {article(f'{c.adjective} {profession}')}",
        lambda c: f"is {article(profession)} from {c.name}",
    )
    first = rng.randrange(2)
    text = forms[first](country)
    extra = rng.choice(("", f" who lives in {other.name}", f" of {world.country().adjective} descent", f" who studied in {other.name}"))
    if extra and first == 1 and extra.startswith(" of"):
        extra = ""
    sentences = [Stated(person.title, sentence(person.mention, text + extra), "fact"), *other_facts(world, person, ["nationality", "profession"], rng.randint(0, 2))]
    claims = []
    for value, label in ((country, TRUE), (other, FALSE)):
        if rng.random() < 0.5:
            words = value.adjective if rng.random() < 0.5 else ""
            job = PROFESSIONS[profession] if PROFESSIONS[profession] and rng.random() < 0.3 else profession
            if words:
                head = "an " if words[0].lower() in "aeiou" else "a "
                parts = (Part(person.mention, None), Part(f" is {head}", TRUE), Part(words, label), Part(f" {job}", TRUE))
            else:
                parts = (Part(person.mention, None), Part(f" is {article(job)} from ", TRUE), Part(value.name, label))
        else:
            parts = (Part(person.mention, None), Part(" comes from ", TRUE), Part(value.name, label))
        claims.append(Claim(parts, label, {"fact": label}))
    return Scene(sentences, claims, "origin")


def qualified(world: World) -> Scene:
    """A profession with a qualifier: amateur, former, future, would-be."""
    rng = world.rng
    person = world.entity("person")
    first, second = rng.sample(list(PROFESSIONS), 2)
    qualifier, claimed, label = rng.choice((
        ("amateur", "is a professional {p}", FALSE), ("former", "is a {p} today", FALSE), ("retired", "still works as a {p}", FALSE),
        ("part-time", "is a full-time {p}", FALSE), ("amateur", "practises as a {p} in the spare time", TRUE),
        ("former", "used to be a {p}", TRUE), ("retired", "once worked as a {p}", TRUE), ("aspiring", "hopes to become a {p}", TRUE),
        ("aspiring", "is an established {p}", FALSE), ("failed", "was a successful {p}", FALSE),
    ))  # fmt: skip
    text = f"is {article(first)} and {qualifier} {second}"
    claims = [
        Claim((Part(person.mention, None), Part(f" {claimed.format(p=second).replace(' a ' + second, ' ' + article(second))}", label)), label, {"fact": label}),
        Claim((Part(person.mention, None), Part(f" is {article(PROFESSIONS[first] or first)}", TRUE)), TRUE, {"fact": TRUE}),
    ]
    if label == TRUE:
        third = rng.choice([p for p in PROFESSIONS if p not in (first, second)])
        claims[1] = Claim((Part(person.mention, None), Part(f" is {article(third)} by profession", FALSE if PROFESSIONS[first] != third else TRUE)), FALSE, {"fact": FALSE})
    sentences = [Stated(person.title, sentence(named(world, person), text), "fact"), *other_facts(world, person, ["profession"], rng.randint(0, 2))]
    return Scene(sentences, claims, "qualified")


def namesake(world: World) -> Scene:
    """A claim about another entity of the same or nearly the same name."""
    rng = world.rng
    entity = world.entity(rng.choice(("person", "building", "school", "company", "film")))
    name = rng.choice([n for n, r in RELATIONS[entity.kind].items() if not r.many])
    if entity.kind == "person":
        other_name = f"{rng.choice([f for f in FIRST_NAMES if f != entity.title.split()[0]])} {entity.title.split()[-1]}"
        twin = Entity("person", other_name, other_name, entity.pronoun, entity.possessive)
    elif entity.kind == "film":
        twin = Entity("film", f"{entity.title} Returns", f"{entity.mention} Returns", "it", "its")
    else:
        noun = rng.choice([n for n in KINDS[entity.kind][0] if not entity.title.endswith(n)])
        title = f"{entity.title.split()[0]} {noun}"
        twin = Entity(entity.kind, title, f"the {title}" if KINDS[entity.kind][1] else title, "it", "its")
    sentences = [stating(world, entity, name, "fact"), *other_facts(world, entity, [name], 1), *other_facts(world, twin, [name], rng.randint(0, 2))]
    own = rng.choice(value_phrases(world, entity, name, [], 4))
    about_other = tuple(Part(p.text, OPEN if p.label else None) for p in claim_of(world, twin, name, own.text, OPEN))
    claims = [
        Claim(claim_of(world, entity, name, own.text, own.label), own.label, {"fact": own.label}),
        Claim(about_other, OPEN, {}),
    ]
    return Scene(sentences, claims, "namesake")


def near(world: World) -> Scene:
    """A claim on a topic that the evidence touches without deciding it."""
    rng = world.rng
    entity = world.entity(chosen_kind(world))
    asked = rng.choice(list(RELATIONS[entity.kind]))
    sentences = other_facts(world, entity, [asked], rng.randint(1, 4))
    other = similar(entity, world)
    sentences.append(stating(world, other, asked, ""))
    value = world.fact(other, asked) if rng.random() < 0.5 else world.value(RELATIONS[entity.kind][asked])
    parts = claim_of(world, entity, asked, phrase(value, RELATIONS[entity.kind][asked], rng), OPEN)
    claims = [Claim(parts, OPEN, {})]
    known = [n for n in entity.facts if n != asked]
    if known:
        name = rng.choice(known)
        keyed = [Stated(s.title, s.text, "") for s in sentences] + [stating(world, entity, name, "fact", without=[asked])]
        phrases = [p for p in value_phrases(world, entity, name, [], 2) if p.label != OPEN]
        rng.shuffle(phrases)
        claims += [Claim(claim_of(world, entity, name, p.text, p.label), p.label, {"fact": p.label}) for p in phrases[:1]]
        # The fact is stated once, by the sentence with the key; drop repetitions.
        words = str(phrase(entity.facts[name], RELATIONS[entity.kind][name], random.Random(0)))
        sentences = [s for s in keyed if s.key or words not in s.text]
        if len(claims) > 1 and not phrases:
            claims = claims[:1]
    return Scene(sentences, claims, "near")


#: The scenes and how often each occurs.
SCENES: dict[str, tuple[Callable[[World], Scene | None], float]] = {
    "attribute": (attribute, 6),
    "vague": (vague, 1.2),
    "units": (units, 0.6),
    "negation": (negation, 2.5),
    "modality": (modality, 2),
    "credit": (credit, 0.8),
    "roles": (roles, 2.5),
    "kinship": (kinship, 1.5),
    "rank": (rank, 1.8),
    "comparison": (comparison, 2),
    "order": (order, 1.8),
    "duration": (duration, 1),
    "age": (age, 1),
    "quantifier": (quantifier, 1.5),
    "opposite": (opposite, 1.8),
    "paraphrase": (paraphrase, 1.2),
    "conjunction": (conjunction, 2),
    "bridge": (bridge, 4),
    "shared": (shared, 1.5),
    "change": (change, 1),
    "membership": (membership, 1),
    "origin": (origin, 1.2),
    "qualified": (qualified, 0.8),
    "namesake": (namesake, 1.2),
    "near": (near, 1.5),
}
