"""Scenes of the invented worlds about two or three entities: deeds, kinship, ranks, comparisons."""

from __future__ import annotations

from training.data.world_entities import Entity, World, fill
from training.data.world_scenes import (
    Claim,
    Part,
    Scene,
    Stated,
    capitalised,
    claim,
    other_facts,
    predicate,
    sentence,
    stating,
    told,
)
from training.data.world_values import FALSE, OPEN, TRUE, article, time_phrase


def credit(world: World) -> Scene:
    """Return claims on what one claims and another is credited with."""
    rng = world.rng
    kinds, act, noun = rng.choice(world.lexicon.tables["credits"])
    maker, rival, thing = (world.entity(k) for k in ("person", "person", rng.choice(kinds)))
    text = rng.choice(
        (
            f"{rival.mention} claimed to have {act} {thing.mention}, but the {noun} is credited to "
            f"{maker.mention}",
            f"although {rival.mention} is often said to have {act} {thing.mention}, it was "
            f"{maker.mention} who did so",
            f"it was {maker.mention}, not {rival.mention}, who {act} {thing.mention}",
            f"{thing.mention} was {act} by {maker.mention} rather than by {rival.mention}",
        )
    )
    # Relations such as "was designed by" would say it again.
    people = [n for n, r in world.lexicon.relations[thing.kind].items() if r.value in _MAKERS]
    sentences = [Stated(thing.title, f"{capitalised(text)}.", "fact")]
    sentences += other_facts(world, thing, people, rng.randint(0, 2))
    claims = []
    for who, label in ((maker, TRUE), (rival, FALSE)):
        person, what = Part(who.mention, label), Part(thing.mention, None)
        forms = (
            [person, Part(f" {act} ", TRUE), what],
            [what, Part(f" was {act} by ", TRUE), person],
            [Part(f"the {noun} of ", TRUE), what, Part(" was the work of ", TRUE), person],
        )
        # Paying for something is no work.
        claims.append(claim(rng.choice(forms if noun != "financing" else forms[:2]), label))
    return Scene(sentences, claims)


_MAKERS = ("person", "company")


def roles(world: World) -> Scene:
    """Return claims on a deed, active and passive, with the roles right or exchanged."""
    rng, tables = world.rng, world.lexicon.tables
    kind = rng.choice(("company", "person", "person", "club", "town"))
    first, second, third = (world.entity(kind) for _ in range(3))
    mutual = rng.choice(tables["mutual"][kind])
    if rng.random() < 0.25:
        sentences = [told(world, first, f"{mutual} {second.mention}", pronoun=0.1)]
        sentences += [fact for e in (first, third) for fact in other_facts(world, e, [], 1)]
        claims = [_deed(second, mutual, first, TRUE), _deed(third, mutual, first, OPEN)]
        return Scene(sentences, claims)
    deeds = tables["deeds"][kind]
    is_one_way = bool(deeds["one_way"]) and rng.random() < 0.6
    past, participle = rng.choice(list(deeds["one_way" if is_one_way else "both_ways"].items()))
    time = time_phrase(rng.randint(1900, 2015), rng)
    if rng.random() < 0.5:
        sentences = [told(world, first, f"{past} {second.mention} {time}", pronoun=0.1)]
    else:
        text = f"was {participle} by {first.mention} {time}"
        sentences = [told(world, second, text, pronoun=0.1)]
    sentences += other_facts(world, first, [], 1)
    sentences += other_facts(world, second, [], rng.randint(0, 1))
    # Both may have defeated the other, but not at the same time.
    tail = f" {time}" if not is_one_way or rng.random() < 0.3 else ""
    claims = []
    for doer, other, label in ((first, second, TRUE), (second, first, FALSE)):
        if rng.random() < 0.5:
            claims.append(_deed(doer, past, other, label, tail))
        else:
            claims.append(_deed(other, f"was {participle} by", doer, label, tail))
    if rng.random() < 0.4:
        text = sentence(third.mention, f"{mutual} {first.mention}")
        sentences.append(Stated(third.title, text))
        claims.append(_deed(third, past, first, OPEN, tail))
    return Scene(sentences, claims)


def _deed(first: Entity, words: str, second: Entity, label: str, tail: str = "") -> Claim:
    around = OPEN if label == OPEN else TRUE
    parts = [Part(first.mention, label), Part(f" {words} ", around), Part(second.mention, label)]
    return claim([*parts, Part(tail, around)], label)


def kinship(world: World) -> Scene:
    """Return claims on relatives: the converse relation, a general word, or a wrong relation."""
    rng, tables = world.rng, world.lexicon.tables
    first, second = world.entity("person"), world.entity("person")
    there, back = rng.choice(tables["kinship"])
    general: dict[str, str] = tables["general_kin"]
    genders = {first.title: first.pronoun == "she", second.title: second.pronoun == "she"}
    of_first, of_second = there[genders[first.title]], back[genders[second.title]]
    extra = predicate(world, first, rng.choice(("lives", "profession", "born_place")))
    form = rng.choice(("A is the K of B", "B is the C of A", "A, the K of B, X"))
    text = fill(form, A=first.mention, B=second.mention, K=of_first, C=of_second, X=extra)
    title = first.title if form.startswith("A") else second.title
    sentences = [Stated(title, f"{text}.", "fact")]
    sentences += [
        *other_facts(world, first, ["spouse"], 1),
        *other_facts(world, second, ["spouse"], 1),
    ]
    others = [k[0] for k in tables["kinship"] if general[k[0][0]] != general[there[0]]]
    wrong = rng.choice(others)[genders[first.title]]
    true = [(first, of_first, second), (second, of_second, first)]
    false = [(first, wrong, second)]
    if there != back:
        false.append((second, there[genders[second.title]], first))
        false.append((first, back[genders[first.title]], second))
    claims = []
    for options, label in ((true, TRUE), (false, FALSE)):
        who, word, whose = rng.choice(options)
        wider = general[word]
        # Everybody here is a relative, so that word contradicts nothing.
        is_general = rng.random() < 0.4 and (label == TRUE or wider != "relative")
        is_clear = wider != general[of_first if who is first else of_second]
        word = article(wider) if is_general and (label == TRUE or is_clear) else f"the {word}"
        parts = [Part(who.mention, None), Part(" is ", TRUE), Part(f"{word} of", label)]
        claims.append(claim([*parts, Part(f" {whose.mention}", TRUE)], label))
    return Scene(sentences, claims)


def rank(world: World) -> Scene:
    """Return claims on a superlative or a rank, and on what it implies."""
    rng = world.rng
    kind, name, more, less, most, least, noun, plural = rng.choice(world.lexicon.tables["degrees"])
    entity, other, third = (world.entity(kind) for _ in range(3))
    area = f"{rng.choice(('of', 'in'))} {world.country().name}"
    if rng.random() < 0.4:
        more, less, most, least = less, more, least, most
    ranks = ("second", "third", "fourth", "fifth", "sixth")
    own, wrong = rng.sample(ranks, 2)
    superlative = f"the {most} {noun} {area}"
    form = rng.choice(("rank", "after", "top", "before"))
    if form == "rank":
        text = f"is the {own} {most} {noun} {area}"
        true = [
            (entity, f"is not {superlative}"),
            (entity, f"ranks {own} among the {most} {plural} {area}"),
            (entity, f"is one of the {most} {plural} {area}"),
        ]
        false = [
            (entity, f"is {superlative}"),
            (entity, f"is the {wrong} {most} {noun} {area}"),
            (entity, f"ranks {wrong} among the {most} {plural} {area}"),
            (entity, f"is {more} than any other {noun} {area}"),
        ]
    elif form == "after":
        text = f"is the second {most} {noun} {area}, after {other.mention}"
        true = [
            (other, f"is {more} than {entity.mention}"),
            (entity, f"is {less} than {other.mention}"),
            (other, f"is {superlative}"),
        ]
        false = [
            (entity, f"is {superlative}"),
            (entity, f"is {more} than {other.mention}"),
            (other, f"is {less} than {entity.mention}"),
            (entity, f"is the third {most} {noun} {area}"),
        ]
    else:
        text = f"is {superlative}"
        true = [
            (entity, f"is {more} than any other {noun} {area}"),
            (entity, f"is {superlative}"),
            (entity, f"is one of the {most} {plural} {area}"),
        ]
        false = [
            (entity, f"is the second {most} {noun} {area}"),
            (entity, f"is the {least} {noun} {area}"),
            (entity, f"is not {superlative}"),
        ]
        if form == "before":
            text += f", followed by {other.mention}"
            true.append((entity, f"is {more} than {other.mention}"))
            true.append((other, f"is the second {most} {noun} {area}"))
            false.append((other, f"is {more} than {entity.mention}"))
    sentences = [told(world, entity, text, pronoun=0.1)]
    sentences += other_facts(world, entity, [name], rng.randint(0, 1))
    sentences += other_facts(world, third, [name], 1)
    claims = [
        claim([Part(who.mention, None), Part(f" {words}", label)], label)
        for options, label in ((true, TRUE), (false, FALSE))
        for who, words in [rng.choice(options)]
    ]
    if rng.random() < 0.5:
        words = rng.choice(
            (f"is {more} than {entity.mention}", f"is one of the {most} {plural} {area}")
        )
        claims.append(claim([Part(third.mention, None), Part(f" {words}", OPEN)], OPEN))
    return Scene(sentences, claims)


def comparison(world: World) -> Scene:
    """Return claims that compare numbers or times of two or three entities."""
    rng = world.rng
    kind, name, more, less, most, least, *_ = rng.choice(world.lexicon.tables["degrees"])
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
