"""Scenes of the invented worlds about what happened, when, and to how many."""

from __future__ import annotations

from training.data.world_entities import World, fill
from training.data.world_scenes import (
    Claim,
    Part,
    Scene,
    Stated,
    capitalised,
    changed,
    claim,
    named,
    other_facts,
    relation_of,
    sentence,
    told,
    whole,
)
from training.data.world_values import FALSE, MONTHS, OPEN, TRUE, time_phrase

_OPPOSITE = {OPEN: OPEN, TRUE: FALSE, FALSE: TRUE}


def negation(world: World) -> Scene:
    """Return claims on what happened or did not, or what an entity has or lacks."""
    rng, tables = world.rng, world.lexicon.tables
    if rng.random() < 0.5:
        entity = world.entity(rng.choice(list(tables["events"])))
        event, time = (
            rng.choice(tables["events"][entity.kind]),
            time_phrase(rng.randint(1850, 2015), rng),
        )
        values = {"E": event, "T": time}
        yes, no = tables["happened"], tables["happened_not"]
        claims_yes, claims_no = tables["claims_happened"], tables["claims_happened_not"]
    else:
        entity = world.entity(rng.choice(list(tables["features"])))
        thing = rng.choice(tables["features"][entity.kind])
        bare, year = thing.split(" ", 1)[1], str(rng.randint(1950, 2015))
        values = {"H": thing, "B": bare, "Y": year, "K": entity.kind}
        yes, no = tables["has"], tables["has_not"]
        claims_yes, claims_no = tables["claims_has"], tables["claims_has_not"]
    happened = rng.random() < 0.5
    sentences = [told(world, entity, fill(rng.choice(yes if happened else no), **values))]
    sentences += other_facts(world, entity, [], rng.randint(0, 3))
    if rng.random() < 0.5:
        other = world.entity(entity.kind)
        text = fill(rng.choice(no if happened else yes), **values)
        sentences.append(Stated(other.title, sentence(other.mention, text)))
    claims = []
    for wordings, holds in ((claims_yes, happened), (claims_no, not happened)):
        label = TRUE if holds else FALSE
        parts = whole(entity.mention, fill(rng.choice(wordings), **values), label)
        claims.append(claim(parts, label))
    return Scene(sentences, claims)


def modality(world: World) -> Scene:
    """Return claims on what was planned, said or avoided, and need not have happened."""
    rng, tables = world.rng, world.lexicon.tables
    entity, other = (world.entity(kind) for kind in [rng.choice(list(tables["events"]))] * 2)
    event, unrelated = rng.sample(tables["events"][entity.kind], 2)
    text, happened, entailed, contradicted = rng.choice(tables["modalities"])
    values = {"E": event, "R": world.entity("person").mention, "Y": str(rng.randint(1850, 2015))}
    sentences = [told(world, entity, fill(text, **values), pronoun=0.1)]
    # What else is said of the entity may suggest that it was never demolished, or banned.
    sentences += other_facts(world, other, [], rng.randint(0, 3))
    not_ = rng.choice(("was never", "was not"))
    opposite = _OPPOSITE[happened]
    claims = [
        claim(whole(entity.mention, f"was {event}", happened), happened),
        claim(whole(entity.mention, f"{not_} {event}", opposite), opposite),
    ]
    for template, label, own in (
        (entailed, TRUE, values),
        (contradicted, FALSE, values),
        (rng.choice((entailed, contradicted)), OPEN, values | {"E": unrelated}),
    ):
        parts = [Part(fill(template, S=entity.mention, **own), label)]
        claims.append(claim(parts, label))
    return Scene(sentences, rng.sample(claims, 3))


def opposite(world: World) -> Scene:
    """Return a claim and its opposite."""
    rng = world.rng
    kind, *words, tails = rng.choice(world.lexicon.tables["opposites"])
    entity, year = world.entity(kind), rng.randint(1880, 2000)
    tail = fill(rng.choice(tails), Y=str(year), Z=str(year + rng.randint(5, 20)))
    own, other = rng.sample(words, 2)
    sentences = [told(world, entity, f"{own} {tail}".strip())]
    sentences += other_facts(world, entity, [], rng.randint(0, 2))
    if rng.random() < 0.5:
        twin = world.entity(kind)
        sentences.append(Stated(twin.title, sentence(twin.mention, f"{other} {tail}".strip())))
    claims = [
        claim(changed(entity.mention, "", text, label, f" {tail}".rstrip()), label)
        for text, label in ((own, TRUE), (other, FALSE))
    ]
    return Scene(sentences, claims)


def paraphrase(world: World) -> Scene:
    """Return claims that say the same in other words, with the time right or wrong."""
    rng = world.rng
    kind, *ways = rng.choice(world.lexicon.tables["paraphrases"])
    entity, year = world.entity(kind), rng.randint(1850, 1980)
    stated, claimed = rng.sample([fill(way, P=entity.possessive) for way in ways], 2)
    sentences = [told(world, entity, fill(stated, Y=str(year)))]
    # A time of the entity's own may be that of the same event.
    times = world.lexicon.times(kind)
    sentences += other_facts(world, entity, times, rng.randint(0, 2))
    wrong = year + rng.choice((-30, -10, -4, 5, 12, 40))
    before, after = claimed.split("Y")
    claims = [
        claim(changed(entity.mention, before, str(value), label, after), label)
        for value, label in ((year, TRUE), (wrong, FALSE))
    ]
    return Scene(sentences, claims)


def change(world: World) -> Scene:
    """Return claims on a value that another one replaced: what was, and what is."""
    rng = world.rng
    kind, name, move, was, now = rng.choice(world.lexicon.tables["changes"])
    entity, old, new = world.entity(kind), world.name(), world.name()
    year = str(rng.randint(1900, 2015))
    sentences = [told(world, entity, fill(move, A=old, B=new, Y=year))]
    sentences += other_facts(world, entity, [name], rng.randint(0, 2))
    claims = []
    for template, true in ((was, old), (now, new)):
        before, after = fill(template, Y=year).split("V")
        for value in (old, new):
            label = TRUE if value == true else FALSE
            claims.append(claim(changed(entity.mention, before, value, label, after), label))
    return Scene(sentences, rng.sample(claims, 2))


def order(world: World) -> Scene:
    """Return claims on the order of two times, and on the years between them."""
    rng = world.rng
    kind, *names = rng.choice(world.lexicon.tables["orders"])
    entity, begin = world.entity(kind), rng.randint(1860, 1980)
    years = rng.randint(15, 40) if names[0] == "born" else rng.randint(3, 40)
    ends = (begin, begin + years)
    relations = [relation_of(world, entity, name) for name in names]
    for name, year in zip(names, ends, strict=True):
        entity.facts[name] = year
        entity.told.add(name)

    def said(at: int, time: str) -> str:
        words = fill(rng.choice(relations[at].predicates), V=time, P=entity.possessive)
        return words.strip()

    predicates = [said(at, f"in {year}") for at, year in enumerate(ends)]
    keys = ["fact0", "fact1"]
    if rng.random() < 0.5:
        text = sentence(named(world, entity), *predicates)
        sentences, keys = [Stated(entity.title, text, "fact")], ["fact", "fact"]
    else:
        sentences = [told(world, entity, p, key) for p, key in zip(predicates, keys, strict=True)]
    sentences += other_facts(world, entity, world.lexicon.times(kind), rng.randint(0, 2))
    wrong = rng.choice([n for n in (years - 2, years + 3, years + 10, 2 * years) if n > 1])
    middle = f"the year {rng.randint(begin + 1, begin + years - 1)}"
    first, second, it = said(0, ""), said(1, ""), entity.pronoun
    # The order alone goes without saying, so claims on it are never open.
    options: list[tuple[str, str, list[str], list[str]]] = []
    for label, before, after, count in ((TRUE, 0, 1, years), (FALSE, 1, 0, wrong)):
        texts = (first, second)
        options += [
            (f"{texts[before]} before {it} {texts[after]}", label, keys, []),
            (f"{texts[after]} after {it} {texts[before]}", label, keys, []),
            (f"{second} {count} years after {it} {first}", label, keys, keys),
            (
                f"{second} {'after' if label == TRUE else 'before'} {middle}",
                label,
                keys[1:],
                keys[1:],
            ),
            (
                f"{first} {'before' if label == TRUE else 'after'} {middle}",
                label,
                keys[:1],
                keys[:1],
            ),
        ]
    claims = []
    for wanted in (TRUE, FALSE):
        text, label, needs, removable = rng.choice([o for o in options if o[1] == wanted])
        claims.append(claim(whole(entity.mention, text, label), label, needs, removable))
    return Scene(sentences, claims)


def duration(world: World) -> Scene:
    """Return claims on how long something lasted, from its begin and its end."""
    rng = world.rng
    kind, what = rng.choice(list(world.lexicon.tables["durations"].items()))
    entity = world.entity(kind)
    if rng.random() < 0.5:
        begin = rng.randint(0, 8)
        end, year = rng.randint(begin + 1, 11), rng.randint(1850, 2015)
        count = end - begin  # it lasted at least count - 1 and at most count + 1 months
        first, last, unit, fewest = f"{MONTHS[begin]} {year}", f"{MONTHS[end]} {year}", "months", 2
        text = f"{what} from {MONTHS[begin]} to {last}"
        true, false = ["for less than a year"], ["for more than a year", "for two years"]
        if count <= 4:
            true.append("for less than half a year")
            false.append("for more than half a year")
        elif count >= 8:
            true.append("for more than half a year")
            false.append("for less than half a year")
    else:
        count, year = rng.randint(4, 25), rng.randint(1850, 1990)
        first, last, unit, fewest = str(year), str(year + count), "years", 2
        text = f"{what} from {first} to {last}"
        true, false = (
            ["for less than a century"],
            ["for only a few days", "for more than a century"],
        )
    true += [f"until {last}", f"for less than {count + 3} {unit}"]
    false += [f"until {first}", f"for more than {count + 3} {unit}"]
    if count - 2 >= fewest:
        true.append(f"for more than {count - 2} {unit}")
        false.append(f"for less than {count - 2} {unit}")
    sentences = [
        told(world, entity, text),
        *other_facts(world, entity, ["weeks"], rng.randint(0, 2)),
    ]
    claims = []
    for options, label in ((true, TRUE), (false, FALSE)):
        words = rng.choice(options)
        words = words.removeprefix("for ") if what == "lasted" else words
        claims.append(claim(changed(entity.mention, f"{what} ", words, label), label))
    return Scene(sentences, claims)


def age(world: World) -> Scene:
    """Return claims on the age of a person at something, from two months or two years."""
    rng = world.rng
    person, deed = world.entity("person"), rng.choice(world.lexicon.tables["life_events"])
    year, years = rng.randint(1850, 1940), rng.randint(21, 78)
    born, done = f"in {year}", f"in {year + years}"
    is_exact = rng.random() < 0.5
    if is_exact:
        months = sorted(rng.sample(range(12), 2))
        born, done = f"in {MONTHS[months[0]]} {year}", f"in {MONTHS[months[1]]} {year + years}"
    birth, what = f"was born {born}", f"{deed} {done}"
    if rng.random() < 0.4:
        text = sentence(named(world, person), birth, what)
        sentences = [Stated(person.title, text, "fact")]
    else:
        sentences = [told(world, person, birth, "fact0"), told(world, person, what, "fact1")]
    keys = [stated.key for stated in sentences]
    others = [*world.lexicon.times("person"), "spouse", "children"]
    sentences += other_facts(world, person, others, rng.randint(0, 2))
    # Of years alone, the age is known but for one year.
    far = years + rng.choice((-15, -9, 12, 20))
    tens = years // 10 * 10
    true = [f"before turning {tens + 20}", f"after turning {tens - 5}"]
    false = [f"before turning {tens - 5}", f"after turning {tens + 20}"]
    if years % 10:
        true.append(f"in {person.possessive} {_TENS[tens]}")
        false.append(f"in {person.possessive} {_TENS[tens + 20 if tens < 70 else tens - 30]}")
    if is_exact:
        true.append(f"at the age of {years}")
    false.append(f"at the age of {far}")
    claims = [
        claim(changed(person.mention, f"{deed} ", rng.choice(options), label), label, keys)
        for options, label in ((true, TRUE), (false, FALSE))
    ]
    return Scene(sentences, claims)


_TENS = {
    20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies",
    80: "eighties", 90: "nineties",
}  # fmt: skip


def quantifier(world: World) -> Scene:
    """Return claims on how many of a group do something."""
    rng, tables = world.rng, world.lexicon.tables
    kind, members, deeds = rng.choice(tables["groups"])
    entity = world.entity(kind)
    first, second, third = rng.sample(deeds, 3)
    amount, entailed, contradicted = rng.choice(tables["quantities"])
    text = f"{amount} {members} of {entity.mention} {first}"
    if rng.random() < 0.5:
        text += rng.choice((f"; none {second}", f", while most {second}", f", but few {second}"))
    sentences = [Stated(entity.title, f"{capitalised(text)}.", "fact")]
    sentences += other_facts(world, entity, [], rng.randint(0, 2))

    def told_of(words: str, label: str, deed: str) -> Claim:
        around = OPEN if label == OPEN else TRUE
        parts = [Part(f"{words} ", label), Part(f"{members} of ", around)]
        return claim([*parts, Part(entity.mention, None), Part(f" {deed}", around)], label)

    claims = [
        told_of(rng.choice(words), label, first)
        for words, label in ((entailed, TRUE), (contradicted, FALSE))
    ]
    if rng.random() < 0.4:
        _, *known = rng.choice(tables["quantities"])
        claims.append(told_of(rng.choice(rng.choice(known)), OPEN, third))
    return Scene(sentences, claims)
