"""Scenes of the invented worlds about what happened, when, to how many, and between which two."""

from __future__ import annotations

from training.data.world_scenes import (
    Claim,
    Entity,
    Part,
    Scene,
    Stated,
    World,
    capitalised,
    changed,
    claim,
    fill,
    named,
    other_facts,
    predicate,
    relation_of,
    sentence,
    stating,
    told,
    whole,
)
from training.data.world_values import FALSE, MONTHS, OPEN, TRUE, article, time_phrase

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
