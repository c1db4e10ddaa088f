"""Examples about invented people, places and things, of which everything is known.

A scene invents a few entities, states facts about them in sentences, and makes claims that the
sentences entail, contradict or leave open. The claims of a scene differ little, and false ones
often contain a value that stands elsewhere in the evidence: a verifier that compares words cannot
tell them apart. Since the scene is known in full, so are the labels of sentences and of spans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from training.data.examples import Example
from training.data.world_kinds import KINDS
from training.data.world_scenes import (
    Claim,
    Entity,
    Part,
    Scene,
    Stated,
    World,
    capitalised,
    choose_kind,
    claim,
    claim_parts,
    false_value,
    fill,
    named,
    open_claim,
    other_facts,
    relation_of,
    sentence,
    stating,
    value_claims,
    value_words,
)
from training.data.world_values import FALSE, OPEN, TRUE, Phrase, vague_number, vague_time


def attribute(world: World) -> Scene:
    """Return claims on a fact of an entity among its other facts and those of a similar one."""
    rng = world.rng
    entity = world.entity(choose_kind(world, list(world.lexicon.relations)))
    name = rng.choice(list(world.lexicon.relations[entity.kind]))
    sentences = [stating(world, entity, name, "fact")]
    sentences += other_facts(world, entity, [name], rng.randint(0, 3))
    around: list[object] = []
    if rng.random() < 0.6:
        other = world.entity(entity.kind)
        around.append(world.fact(other, name))
        sentences.append(stating(world, other, name, ""))
        sentences += other_facts(world, other, [name], rng.randint(0, 1))
    phrases = value_claims(world, entity, name, around, rng.choice((2, 2, 4)))
    claims = [claim(claim_parts(world, entity, name, p), p.label) for p in phrases]
    return Scene(sentences, claims)


def vague(world: World) -> Scene:
    """Return claims on a number or a time that the evidence gives as a bound or a decade."""
    rng, relations = world.rng, world.lexicon.relations
    entity = world.entity(choose_kind(world, list(relations)))
    name = rng.choice([n for n, r in relations[entity.kind].items() if r.value in _EXACT])
    relation, true = relation_of(world, entity, name), int(str(world.fact(entity, name)))
    if relation.value == "time":
        words, phrases = vague_time(true, rng)
    else:
        words, phrases = vague_number(true, relation.unit, rng)
    # Another time of the entity might make the vague one more exact.
    times = world.lexicon.times(entity.kind)
    sentences = [stating(world, entity, name, "fact", words, without=times)]
    sentences += other_facts(world, entity, times, rng.randint(0, 2))
    claims = [claim(claim_parts(world, entity, name, p), p.label) for p in phrases]
    return Scene(sentences, claims)


_EXACT = ("number", "time")


def near(world: World) -> Scene:
    """Return a claim on something that the evidence touches without deciding it."""
    rng, relations = world.rng, world.lexicon.relations
    entity = world.entity(choose_kind(world, list(relations)))
    asked, known = rng.sample(list(relations[entity.kind]), 2)
    sentences = [stating(world, entity, known, "fact", without=[asked])]
    sentences += other_facts(world, entity, [asked], rng.randint(0, 2))
    other = world.entity(entity.kind)
    sentences.append(stating(world, other, asked, ""))
    relation = relation_of(world, entity, asked)
    # A time of the other entity may contradict the order of the entity's own times.
    borrowed = relation.value != "time" and rng.random() < 0.5
    value = world.fact(other, asked) if borrowed else world.value(entity, asked)
    unknown = open_claim(world, entity, asked, value)
    claims = [claim(claim_parts(world, entity, asked, unknown), OPEN)]
    phrases = [p for p in value_claims(world, entity, known, [], 2) if p.label != OPEN]
    if phrases:
        phrase = rng.choice(phrases)
        claims.append(claim(claim_parts(world, entity, known, phrase), phrase.label))
    return Scene(sentences, claims)


def namesake(world: World) -> Scene:
    """Return a claim about another entity of nearly the same name."""
    rng = world.rng
    entity = world.entity(rng.choice(("person", "building", "school", "company", "film")))
    relations = world.lexicon.relations[entity.kind]
    name = rng.choice([n for n, r in relations.items() if not r.many])
    # Either may be the one that is known: "Silver Kite" or "Silver Kite Returns".
    entity, twin = rng.sample((entity, world.namesake(entity)), 2)
    sentences = [stating(world, entity, name, "fact"), *other_facts(world, entity, [name], 1)]
    # Other times of the namesake could decide a claim on this one.
    hidden = [name, *world.lexicon.times(entity.kind)]
    sentences += other_facts(world, twin, hidden, rng.randint(0, 2))
    own, other = rng.sample(value_claims(world, entity, name, [], 4), 2)
    claims = [
        claim(claim_parts(world, entity, name, own), own.label),
        claim(claim_parts(world, twin, name, Phrase(other.text, OPEN)), OPEN),
    ]
    return Scene(sentences, claims)


def conjunction(world: World) -> Scene:
    """Return claims of two facts: both right, one wrong, or one that the evidence lacks."""
    rng = world.rng
    entity = world.entity(choose_kind(world, list(world.lexicon.relations)))
    first, second, third = rng.sample(list(world.lexicon.relations[entity.kind]), 3)
    if rng.random() < 0.5:
        predicates = [_fact_words(world, entity, name) for name in (first, second)]
        text = sentence(named(world, entity), *predicates)
        sentences, keys = [Stated(entity.title, text, "fact0")], {first: "fact0", second: "fact0"}
    else:
        keys = {first: "fact0", second: "fact1"}
        hidden = [first, second, third]
        sentences = [stating(world, entity, n, key, without=hidden) for n, key in keys.items()]
    sentences += other_facts(world, entity, [first, second, third], rng.randint(0, 2))

    def worded(name: str, wanted: str) -> Phrase | None:
        phrases = value_claims(world, entity, name, [], 4)
        return next((p for p in phrases if p.label == wanted), None)

    def joined(*halves: tuple[str, Phrase]) -> Claim:
        halves = (*rng.sample(halves, 2),)
        labels = [phrase.label for _, phrase in halves]
        label = next((name for name in (FALSE, OPEN) if name in labels), TRUE)
        parts = claim_parts(world, entity, *halves[0], (Part(entity.mention, None),))
        parts += [Part(" and", TRUE), *claim_parts(world, entity, *halves[1], (Part("", None),))]
        needs: dict[str, str] = {}
        for name, phrase in halves:
            if name in keys and needs.get(keys[name]) != FALSE:
                needs[keys[name]] = phrase.label
        # What is wrong stays wrong without the sentence that supports the other half.
        removable = [key for key, name in needs.items() if label != FALSE or name == FALSE]
        return claim(parts, label, needs, removable)

    rights = [(name, phrase) for name in keys if (phrase := worded(name, TRUE))]
    wrongs = [(name, phrase) for name in keys if (phrase := worded(name, FALSE))]
    claims = [joined(*rights)]
    if wrongs and rng.random() < 0.6:
        wrong = rng.choice(wrongs)
        claims.append(joined(wrong, next(half for half in rights if half[0] != wrong[0])))
    if len(claims) == 1 or rng.random() < 0.3:
        unknown = open_claim(world, entity, third, world.value(entity, third))
        claims.append(joined((third, unknown), rng.choice(rights)))
    return Scene(sentences, claims)


def _fact_words(world: World, entity: Entity, name: str) -> str:
    relation = relation_of(world, entity, name)
    words = value_words(world, world.fact(entity, name), relation)
    entity.told.add(name)
    return fill(world.rng.choice(relation.predicates), V=words, P=entity.possessive)


def bridge(world: World) -> Scene:
    """Return claims about a person whom they do not name, but describe by another document."""
    rng, relations = world.rng, world.lexicon.relations
    kind, relation, verb, role = rng.choice(world.lexicon.bridges)
    thing, rival = world.entity(kind), world.entity("person")
    person = world.fact(thing, relation)
    assert isinstance(person, Entity)
    roles = [n for n, r in relations[kind].items() if r.value == "person" and n != relation]
    name = rng.choice([n for n, r in relations["person"].items() if not r.many])
    sentences = [stating(world, thing, relation, "bridge", without=roles)]
    sentences += [stating(world, person, name, "fact"), stating(world, rival, name, "")]
    if roles and rng.random() < 0.6:
        other = rng.choice(roles)
        thing.facts[other] = rival
        sentences.append(stating(world, thing, other, "", without=roles))
    sentences += other_facts(world, person, [name], rng.randint(0, 1))
    sentences += other_facts(world, thing, [relation, *roles], rng.randint(0, 1))
    phrases = value_claims(world, person, name, [world.fact(rival, name)], 2)
    if relation_of(world, person, name).value != "time" and rng.random() < 0.3:
        # The rival has the fact, but is not who the claim describes.
        value = world.fact(rival, name)
        if value != world.fact(person, name):
            words = value_words(world, value, relation_of(world, person, name))
            phrases.append(Phrase(words, FALSE))
    claims = []
    for phrase in phrases:
        described = role if rng.random() < 0.5 else f"the person who {verb}"
        subject = (Part(f"{described} ", TRUE), Part(thing.mention, None))
        parts = claim_parts(world, person, name, phrase, subject)
        claims.append(claim(parts, phrase.label, {"bridge": TRUE, "fact": phrase.label}))
    return Scene(sentences, claims)


def same_value(world: World) -> Scene:
    """Return claims that two entities have the same value of a relation, or different ones."""
    rng = world.rng
    kind, name, same, different = rng.choice(world.lexicon.shared)
    first, second = world.entity(kind), world.entity(kind)
    value, is_same = world.fact(first, name), rng.random() < 0.5
    second.facts[name] = value if is_same else false_value(world, first, name)
    sentences = [stating(world, e, name, f"fact{n}") for n, e in enumerate((first, second))]
    for entity in (first, second):
        sentences += other_facts(world, entity, [name], rng.randint(0, 1))
    pair = " and ".join(rng.sample((first.mention, second.mention), 2))
    claims = []
    for words, holds in ((same, is_same), (different, not is_same)):
        label = TRUE if holds else FALSE
        claims.append(
            claim([Part(f"{pair} ", None), Part(words, label)], label, ("fact0", "fact1"))
        )
    return Scene(sentences, claims)


def comparison(world: World) -> Scene:
    """Return claims that compare numbers or times of two or three entities."""
    rng = world.rng
    kind, name, more, less, most, least, *_ = rng.choice(world.lexicon.degrees)
    relation = world.lexicon.relations[kind][name]
    entities = [world.entity(kind) for _ in range(rng.choice((2, 2, 3)))]
    values: list[int] = []
    for entity in entities:
        entity.facts[name] = int(str(world.value(entity, name)))
        while entity.facts[name] in values:
            entity.facts[name] = int(str(world.value(entity, name)))
        values.append(int(str(entity.facts[name])))
    keys = {entity.title: f"fact{n}" for n, entity in enumerate(entities)}
    sentences = [stating(world, entity, name, keys[entity.title]) for entity in entities]
    for entity in entities:
        sentences += other_facts(world, entity, [name], rng.randint(0, 1))
    low, *_, high = sorted(entities, key=lambda entity: int(str(entity.facts[name])))
    above, below = f"is {more} than", f"is {less} than"
    if relation.value == "time" and rng.random() < 0.5:
        verb = fill(rng.choice(relation.predicates), V="", P=high.possessive).strip()
        above, below = f"{verb} later than", f"{verb} earlier than"
    elif relation.unit in _COUNTED and rng.random() < 0.4:
        above, below = f"has more {relation.unit} than", f"has fewer {relation.unit} than"
    options = {
        TRUE: [(high, above, low), (low, below, high)],
        FALSE: [(low, above, high), (high, below, low)],
    }
    claims = []
    for label, ways in options.items():
        first, words, second = rng.choice(ways)
        parts = [Part(first.mention, None), Part(f" {words} ", label), Part(second.mention, None)]
        claims.append(claim(parts, label, [keys[first.title], keys[second.title]]))
    if len(entities) == 3 and rng.random() < 0.6:
        best, word = rng.choice(((high, most), (low, least)))
        wrong = rng.choice([entity for entity in entities if entity is not best])
        for entity, label in ((best, TRUE), (wrong, FALSE)):
            parts = [Part("of the three, ", None), Part(entity.mention, None)]
            needs = keys.values() if label == TRUE else [keys[entity.title], keys[best.title]]
            # Without the best one, another one may still be better than the wrong one.
            removable = None if label == TRUE else [keys[entity.title]]
            parts.append(Part(f" is the {word}", label))
            claims.append(claim(parts, label, list(needs), removable))
    return Scene(sentences, claims)


_COUNTED = ("inhabitants", "people", "pages")


SOURCE = "worlds"
_MAX_SENTENCES = 6
_UNTITLED = 0.03  # share of examples whose sentences have no titles
#: The scenes and how often each occurs.
SCENES: dict[str, tuple[Callable[[World], Scene], float]] = {
    "attribute": (attribute, 6),
    "vague": (vague, 1.2),
    "near": (near, 1.5),
    "namesake": (namesake, 1.2),
    "conjunction": (conjunction, 2),
    "bridge": (bridge, 4),
    "shared": (same_value, 1.5),
    "comparison": (comparison, 2),
    **KINDS,
}


def world_examples(seed: int, scenes: Sequence[str] = tuple(SCENES)) -> Iterator[Example]:
    """Yield examples forever, group after group; the same ones for the same seed."""
    weights = [SCENES[name][1] for name in scenes]
    number = 0
    while True:
        rng = random.Random(f"{seed} worlds {number}")
        name = rng.choices(list(scenes), weights)[0]
        scene = SCENES[name][0](World(rng))
        yield from scene_examples(scene, f"{name} {seed} {number}", rng)
        number += 1


def scene_examples(scene: Scene, group: str, rng: random.Random) -> Iterator[Example]:
    """Yield the examples of a scene: each claim, and some of them without what decides them."""
    for stated in scene.claims:
        yield _example(stated, scene.sentences, stated.label, group, rng)
    decided = [c for c in scene.claims if c.label != OPEN and c.removable]
    rng.shuffle(decided)
    for stated in decided[: rng.randint(0, 2)]:
        rest = without(scene.sentences, rng.choice(stated.removable))
        if rest:
            yield _example(stated, rest, OPEN, group, rng)


def without(sentences: Sequence[Stated], key: str) -> list[Stated]:
    """Return the sentences without that of a key, nor others that may decide the same.

    If it gives a time, other times of the same entity are left out: what was closed before 1900 was
    also opened before 1900.
    """
    removed = [stated for stated in sentences if stated.key == key]
    dated = {stated.title for stated in removed if stated.dated}
    rest = [stated for stated in sentences if stated.key != key]
    return [one for one in rest if one.key or not (one.dated and one.title in dated)]


def _example(
    claim: Claim, sentences: Sequence[Stated], label: str, group: str, rng: random.Random
) -> Example:
    needed = [stated for stated in sentences if stated.key in claim.needs]
    others = [stated for stated in sentences if stated.key not in claim.needs]
    room = min(_MAX_SENTENCES - len(needed), rng.randint(1, 5) if needed else 5)
    others = rng.sample(others, min(len(others), room))
    chosen = [stated for stated in sentences if stated in needed or stated in others]
    if rng.random() < 0.7:
        rng.shuffle(chosen)
    is_removed = label != claim.label
    names = [claim.needs.get(stated.key, OPEN) for stated in chosen]
    titled = rng.random() >= _UNTITLED or not all(_is_named(stated) for stated in chosen)
    text, spans = _text_and_spans(claim, label)
    return Example(
        text if rng.random() < 0.1 or text[-1] in ".?!" else f"{text}.",
        tuple((stated.title if titled else "", stated.text) for stated in chosen),
        label,
        SOURCE,
        # What is left of a claim's evidence need not say anything by itself.
        tuple(None if is_removed and name != OPEN else name for name in names),
        spans,
        group,
    )


def _is_named(stated: Stated) -> bool:
    """Return whether a sentence names its subject, so that it can do without a title."""
    return stated.title in stated.text


def _text_and_spans(claim: Claim, label: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Return the text of a claim, and its spans, given a label that may differ from its own."""
    text, spans = "", []
    for part in claim.parts:
        begin = len(text)
        text += part.text
        name = part.label
        if name is None:
            name = TRUE if label == TRUE else None
        elif label != claim.label:
            name = OPEN if len(claim.needs) == 1 else None
        if name is not None and part.text.strip():
            spans.append((begin, len(text), name))
    return capitalised(text), tuple(spans)
