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
    Part,
    Scene,
    Stated,
    World,
    capitalised,
    claim,
    fill,
    lexicon,
)
from training.data.world_values import FALSE, OPEN, TRUE, Phrase, vague_number, vague_time


def attribute(world: World) -> Scene:
    """Return claims on a fact of an entity among its other facts and those of a similar one."""
    rng, entity = world.rng, world.entity()
    name = rng.choice(list(entity.relations))
    sentences = [world.stating(entity, name, "fact")]
    sentences += world.other_facts(entity, [name], rng.randint(0, 3))
    around = []
    if rng.random() < 0.6:
        other = world.entity(entity.kind)
        around.append(world.fact(other, name))
        sentences.append(world.stating(other, name, ""))
        sentences += world.other_facts(other, [name], rng.randint(0, 1))
    phrases = world.value_claims(entity, name, around, rng.choice((2, 2, 4)))
    return Scene(sentences, [world.claim(entity, name, phrase) for phrase in phrases])


def vague(world: World) -> Scene:
    """Return claims on a number or a time that the evidence gives as a bound or a decade."""
    rng, entity = world.rng, world.entity()
    measured = [n for n, r in entity.relations.items() if r.value in ("number", "time")]
    name = rng.choice(measured)
    relation, true = entity.relations[name], world.fact(entity, name)
    if relation.value == "time":
        words, phrases = vague_time(true, rng)
    else:
        words, phrases = vague_number(true, relation.unit, rng)
    # Another time of the entity might make the vague one more exact.
    sentences = [world.stating(entity, name, "fact", words, without=entity.times)]
    sentences += world.other_facts(entity, entity.times, rng.randint(0, 2))
    return Scene(sentences, [world.claim(entity, name, phrase) for phrase in phrases])


def near(world: World) -> Scene:
    """Return a claim on something that the evidence touches without deciding it."""
    rng, entity = world.rng, world.entity()
    asked, known = rng.sample(list(entity.relations), 2)
    sentences = [world.stating(entity, known, "fact", without=[asked])]
    sentences += world.other_facts(entity, [asked], rng.randint(0, 2))
    other = world.entity(entity.kind)
    sentences.append(world.stating(other, asked, ""))
    # A time of the other entity may contradict the order of the entity's own times.
    borrowed = entity.relations[asked].value != "time" and rng.random() < 0.5
    value = world.fact(other, asked) if borrowed else world.value(entity, asked)
    claims = [world.claim(entity, asked, world.open_claim(entity, asked, value))]
    phrases = [p for p in world.value_claims(entity, known, [], 2) if p.label != OPEN]
    if phrases:
        claims.append(world.claim(entity, known, rng.choice(phrases)))
    return Scene(sentences, claims)


def namesake(world: World) -> Scene:
    """Return a claim about another entity of nearly the same name."""
    rng = world.rng
    entity = world.entity(rng.choice(("person", "building", "school", "company", "film")))
    name = rng.choice([n for n, r in entity.relations.items() if not r.many])
    # Either may be the one that is known: "Silver Kite" or "Silver Kite Returns".
    entity, twin = rng.sample((entity, world.namesake(entity)), 2)
    sentences = [world.stating(entity, name, "fact"), *world.other_facts(entity, [name], 1)]
    # Other times of the namesake could decide a claim on this one.
    sentences += world.other_facts(twin, [name, *entity.times], rng.randint(0, 2))
    own, other = rng.sample(world.value_claims(entity, name, [], 4), 2)
    unknown = Phrase(other.text, OPEN)
    return Scene(sentences, [world.claim(entity, name, own), world.claim(twin, name, unknown)])


def conjunction(world: World) -> Scene:
    """Return claims of two facts: both right, one wrong, or one that the evidence lacks."""
    rng, entity = world.rng, world.entity()
    first, second, third = rng.sample(list(entity.relations), 3)
    if rng.random() < 0.5:
        predicates = [world.predicate(entity, name) for name in (first, second)]
        text = world.sentence(entity, predicates)
        sentences, keys = [Stated(entity.title, text, "fact0")], {first: "fact0", second: "fact0"}
    else:
        keys = {first: "fact0", second: "fact1"}
        hidden = [first, second, third]
        sentences = [world.stating(entity, n, key, without=hidden) for n, key in keys.items()]
    sentences += world.other_facts(entity, [first, second, third], rng.randint(0, 2))

    def worded(name: str, wanted: str) -> Phrase | None:
        phrases = world.value_claims(entity, name, [], 4)
        return next((p for p in phrases if p.label == wanted), None)

    def joined(*halves: tuple[str, Phrase]) -> Claim:
        one, two = rng.sample(halves, 2)
        labels = [phrase.label for _, phrase in (one, two)]
        label = next((name for name in (FALSE, OPEN) if name in labels), TRUE)
        parts = world.claim_parts(entity, *one, (Part(entity.mention, None),))
        parts += [Part(" and", TRUE), *world.claim_parts(entity, *two, (Part("", None),))]
        needs: dict[str, str] = {}
        for name, phrase in (one, two):
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
        unknown = world.open_claim(entity, third, world.value(entity, third))
        claims.append(joined((third, unknown), rng.choice(rights)))
    return Scene(sentences, claims)


def bridge(world: World) -> Scene:
    """Return claims about a person whom they do not name, but describe by another document."""
    rng = world.rng
    kind, relation, verb, role = rng.choice(lexicon().bridges)
    thing, rival = world.entity(kind), world.entity("person")
    person = world.fact(thing, relation)
    roles = [n for n, r in thing.relations.items() if r.value == "person" and n != relation]
    name = rng.choice([n for n, r in person.relations.items() if not r.many])
    sentences = [world.stating(thing, relation, "bridge", without=roles)]
    sentences += [world.stating(person, name, "fact"), world.stating(rival, name, "")]
    if roles and rng.random() < 0.6:
        other = rng.choice(roles)
        thing.facts[other] = rival
        sentences.append(world.stating(thing, other, "", without=roles))
    sentences += world.other_facts(person, [name], rng.randint(0, 1))
    sentences += world.other_facts(thing, [relation, *roles], rng.randint(0, 1))
    value = world.fact(rival, name)
    phrases = world.value_claims(person, name, [value], 2)
    # The rival has the fact, but is not who the claim describes.
    is_borrowed = person.relations[name].value != "time" and rng.random() < 0.3
    if is_borrowed and value != world.fact(person, name):
        phrases.append(Phrase(world.worded(value, person.relations[name]), FALSE))
    claims = []
    for phrase in phrases:
        described = role if rng.random() < 0.5 else f"the person who {verb}"
        subject = (Part(f"{described} ", TRUE), Part(thing.mention, None))
        parts = world.claim_parts(person, name, phrase, subject)
        claims.append(claim(parts, phrase.label, {"bridge": TRUE, "fact": phrase.label}))
    return Scene(sentences, claims)


def same_value(world: World) -> Scene:
    """Return claims that two entities have the same value of a relation, or different ones."""
    rng = world.rng
    kind, name, same, different = rng.choice(lexicon().shared)
    first, second = world.entity(kind), world.entity(kind)
    value, is_same = world.fact(first, name), rng.random() < 0.5
    second.facts[name] = value if is_same else world.false_value(first, name)
    sentences = [world.stating(e, name, f"fact{n}") for n, e in enumerate((first, second))]
    for entity in (first, second):
        sentences += world.other_facts(entity, [name], rng.randint(0, 1))
    pair = Part(f"{' and '.join(rng.sample((first.mention, second.mention), 2))} ", None)
    claims = []
    for words, holds in ((same, is_same), (different, not is_same)):
        label = TRUE if holds else FALSE
        claims.append(claim([pair, Part(words, label)], label, ("fact0", "fact1")))
    return Scene(sentences, claims)


def comparison(world: World) -> Scene:
    """Return claims that compare numbers or times of two or three entities."""
    rng = world.rng
    kind, name, more, less, most, least, *_ = rng.choice(lexicon().degrees)
    entities = [world.entity(kind) for _ in range(rng.choice((2, 2, 3)))]
    values: list[int] = []
    for entity in entities:
        while (value := world.value(entity, name)) in values:
            pass
        entity.facts[name] = value
        values.append(value)
    relation = entities[0].relations[name]
    keys = {entity.title: f"fact{n}" for n, entity in enumerate(entities)}
    sentences = [world.stating(entity, name, keys[entity.title]) for entity in entities]
    for entity in entities:
        sentences += world.other_facts(entity, [name], rng.randint(0, 1))
    low, *_, high = sorted(entities, key=lambda entity: entity.facts[name])
    above, below = f"is {more} than", f"is {less} than"
    if relation.value == "time" and rng.random() < 0.5:
        verb = fill(rng.choice(relation.predicates), V="", P=high.possessive).strip()
        above, below = f"{verb} later than", f"{verb} earlier than"
    elif relation.unit in ("inhabitants", "people", "pages") and rng.random() < 0.4:
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
        (name,) = rng.choices(scenes, weights)
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
    dated = {stated.title for stated in sentences if stated.key == key and stated.dated}
    rest = [stated for stated in sentences if stated.key != key]
    return [one for one in rest if one.key or not (one.dated and one.title in dated)]


def _example(
    claim: Claim, sentences: Sequence[Stated], label: str, group: str, rng: random.Random
) -> Example:
    """Return an example of a claim, with a label that may differ from its own."""
    needed = [stated for stated in sentences if stated.key in claim.needs]
    others = [stated for stated in sentences if stated.key not in claim.needs]
    room = min(_MAX_SENTENCES - len(needed), rng.randint(1, 5) if needed else 5)
    others = rng.sample(others, min(len(others), room))
    chosen = [stated for stated in sentences if stated in needed or stated in others]
    if rng.random() < 0.7:
        rng.shuffle(chosen)
    is_removed = label != claim.label
    # A sentence that names its subject can do without a title.
    titled = rng.random() >= _UNTITLED or not all(one.title in one.text for one in chosen)
    items = []
    for stated in chosen:
        # What is left of a claim's evidence need not say anything by itself.
        kept: str | None = claim.needs.get(stated.key, OPEN)
        kept = None if is_removed and kept != OPEN else kept
        items.append(((stated.title if titled else "", stated.text), kept))
    text, spans = "", []
    for part in claim.parts:
        begin = len(text)
        text += part.text
        own = part.label
        if own is None:
            own = TRUE if label == TRUE else None
        elif is_removed:
            own = OPEN if len(claim.needs) == 1 else None
        if own is not None and part.text.strip():
            spans.append((begin, len(text), own))
    text = capitalised(text)
    text = text if rng.random() < 0.1 or text[-1] in ".?!" else f"{text}."
    return Example(text, (), label, SOURCE, (), tuple(spans), group).with_evidence(items)
