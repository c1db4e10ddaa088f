"""Scenes of the invented worlds for kinds of claims that verifiers often get wrong.

Each kind has frames in ``world_kinds.yaml``, which explains their templates: what the evidence
says, its opposite, and claims with two sides of which one is right. So no word of a claim tells its
label: with the opposite evidence, the same claim has the other one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from training.data.world_forms import FORMS, Forms, number_forms
from training.data.world_scenes import (
    Claim,
    Entity,
    Part,
    Relation,
    Scene,
    Stated,
    World,
    capitalised,
    claim,
    claim_parts,
    other_facts,
)
from training.data.world_values import FALSE, OPEN, TRUE, Phrase, number_phrase

_FILE = Path(__file__).with_name("world_kinds.yaml")
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")
_SIDES = re.compile(r"\[([^\[\]~]*)~([^\[\]~]*)\]")
_ARTICLE = re.compile(r"\ba\(n\) (\w)")
_PIECES = re.compile(r"(\[[^\[\]]*\]|\{S\})")
#: Values of which an entity's own facts decide nothing that the frames say.
_HARMLESS = ("place", "country", "award", "product", "genre", "habitat", "food")
#: Where an entity is, which a frame may also say.
_MOVABLE = ("born_place", "grew_up", "lives", "seat", "town", "place", "nationality")
#: A person, a man, a woman, a place, a country, a year, another subject.
_INVENTED = ("X", "M", "F", "P", "C", "Y", "O")
#: Forms of a value of which one excludes all others.
_EXACT = ("dates", "clock", "counts", "scales", "currencies", "quantities", "years")
_DEFAULT_WEIGHT = 0.35


@dataclass(frozen=True, slots=True)
class Frame:
    """Evidence in several wordings, and claims on it."""

    of: Sequence[str] = ("person",)  # kinds of the subject
    # the evidence; its opposite, on which each side of a claim has the other label
    say: Sequence[str] = ()
    flip: Sequence[str] = ()
    claims: Sequence[str] = ()  # claims, each with one pair of sides
    open: Sequence[str] = ()  # claims that neither evidence decides
    # a long claim and a short one, of which one is right
    near: Sequence[str] = ()
    far: Sequence[str] = ()
    ways: Sequence[str] = ()  # wordings with a value, of evidence and claims; `column` in tables
    column: str = ""
    # whether the subject's proposition "holds" by `say`, or is "open"; empty without one
    fact: str = ""
    title: str = ""  # of the evidence, if not the subject's
    alone: bool = False  # whether facts of other entities may decide the claims
    options: Mapping[str, Any] = field(default_factory=dict)  # of the forms of values


def frame(fields: Mapping[str, Any]) -> Frame:
    """Return the frame of an entry of the file."""
    known = Frame.__dataclass_fields__
    own = {name: value for name, value in fields.items() if name in known}
    own = {k: [v] if isinstance(v, str) and k in _LISTS else v for k, v in own.items()}
    if pair := fields.get("pair"):  # what one is to another, in the right and the wrong order
        right = [way.replace("{A}", "{S}").replace("{B}", "{O}") for way in pair]
        wrong = [way.replace("{A}", "{O}").replace("{B}", "{S}") for way in pair]
        sides = [f"[{a}~{b}]" for a, b in zip(right, wrong, strict=True)]
        own |= {"say": right, "flip": wrong, "claims": sides}
    return Frame(**own, options={n: v for n, v in fields.items() if n not in known})


_LISTS = ("of", "say", "flip", "claims", "open", "near", "far", "ways")


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of claims; ``world_kinds.yaml`` explains its parts."""

    frames: Mapping[str, Sequence[Frame]]
    forms: Mapping[str, str]  # by kind, the forms of values that it uses
    weights: Mapping[str, float]
    lists: Mapping[str, Any]
    propositions: Mapping[str, Sequence[Sequence[str]]]
    facts: Sequence[str]  # claims that a proposition holds, or not
    tables: Mapping[str, Any]


@cache
def kinds() -> Kinds:
    """Return the kinds of claims."""
    read = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    own = read["kinds"]
    return Kinds(
        {name: [frame(fields) for fields in kind["frames"]] for name, kind in own.items()},
        {name: kind.get("forms", "numbers") for name, kind in own.items()},
        {name: kind.get("weight", _DEFAULT_WEIGHT) for name, kind in own.items()},
        read["lists"],
        read["propositions"],
        read["facts"],
        read,
    )


class Words:
    """What the placeholders of a frame stand for in a scene, drawn when first used."""

    def __init__(self, world: World, frame: Frame, kind: str, like: Words | None = None) -> None:
        self.world, self.frame = world, frame
        self.subject: Entity = world.entity(
            like.subject.kind if like else world.rng.choice(frame.of)
        )
        shared = like is not None and world.rng.random() < 0.7
        self.drawn: dict[str, str] = dict(like.drawn) if like and shared else {}
        self.forms: Forms = FORMS[kinds().forms.get(kind, "numbers")](world.rng, frame.options)
        self.names: dict[str, str] = {"S": self.subject.mention, **_pronouns(self.subject)}
        self.kind = self.subject.kind
        self.names |= {"kind": self.kind, "kinds": plural(self.kind)}

    def fill(self, template: str) -> str:
        """Return a template with one of its choices and with words for its placeholders."""
        text = chosen(template, self.world.rng)
        while _PLACEHOLDER.search(text):
            text = chosen(
                _PLACEHOLDER.sub(lambda match: self._word(match[1]), text), self.world.rng
            )
        return _ARTICLE.sub(lambda match: f"a{'n' * (match[1] in 'aeiouAEIOU')} {match[1]}", text)

    def _word(self, name: str) -> str:
        rng, base = self.world.rng, name.rstrip("0123456789")
        if name in self.forms:
            forms = self.forms[name]
            return forms if isinstance(forms, str) else rng.choice(forms)
        if base in _INVENTED or re.fullmatch(r"C\d?\.adj", name):
            if name not in self.names:
                self.names |= self._names(name.removesuffix(".adj"))
            return self.names[name]
        if name in self.names:
            return self.names[name]
        if name in _VERB and "do" not in self.drawn:
            self.drawn |= proposition(rng.choice(kinds().propositions[self.subject.kind]))
        if name.endswith(".bare"):  # a word of a list without its article
            return self._word(name.removesuffix(".bare")).partition(" ")[2]
        if name in self.drawn:
            return self.drawn[name]
        if "." in name:  # the opposite of a word, or another word of its row
            self._word(name.partition(".")[0])
            return self.drawn[name]
        taken = {word for own, word in self.drawn.items() if own.rstrip("0123456789") == base}
        words = kinds().lists[base]
        options = [w.split("/") for w in (words if isinstance(words, list) else words[self.kind])]
        row = rng.choice([words for words in options if words[0] not in taken])
        self.drawn |= {f"{name}.{n}": word for n, word in enumerate(row)}
        self.drawn |= {name: row[0], f"{name}.not": row[1] if len(row) > 1 else ""}
        return self.drawn[name]

    def _names(self, name: str) -> dict[str, str]:
        """Return a new name, and what goes with it."""
        world, base = self.world, name.rstrip("0123456789")
        if base == "P":
            return {name: world.name()}
        if base == "Y":
            used = {text for other, text in self.names.items() if other.startswith("Y")}
            years = [year for year in map(str, range(1880, 2015)) if year not in used]
            return {name: world.rng.choice(years)}
        if base == "C":
            country = world.country()
            while country.name in self.names.values():
                country = world.country()
            return {name: country.name, f"{name}.adj": country.adjective}
        if base in "MF":
            return {name: world.person(world.name("surname_ends"), she=base == "F").mention}
        return {name: world.entity("person" if base == "X" else self.kind).mention}

    def stated(self, template: str, key: str) -> Stated:
        """Return the sentences of a template, of the subject's document unless otherwise stated."""
        title = self.fill(self.frame.title) if self.frame.title else self.subject.title
        text = chosen(template.replace("{V}", "{said}"), self.world.rng)
        if not self.frame.title and text.startswith("{S} ") and self.world.rng.random() < 0.15:
            text = capitalised(self.subject.pronoun) + text.removeprefix("{S}")
        text = capitalised(self.fill(text))
        return Stated(capitalised(title), text if text[-1] in ".!?" else f"{text}.", key)

    def claim(self, template: str, is_first: bool, label: str) -> Claim:
        """Return the claim of a template with one of its sides, which has the label."""
        around = OPEN if label == OPEN else TRUE
        parts = []
        for piece in _PIECES.split(chosen(template, self.world.rng)):
            if piece == "{S}":
                parts.append(Part(self.subject.mention, None))
            elif sides := _SIDES.fullmatch(piece):
                parts.append(Part(self.fill(sides[1 if is_first else 2]), label))
            elif piece:
                parts.append(Part(self.fill(piece), around))
        return claim([part for part in parts if part.text], label)


_VERB = ("do", "did", "didnt", "never", "done", "hadnt", "doing", "same", "anti")


def _pronouns(entity: Entity) -> dict[str, str]:
    forms = {"she": ("her", "herself"), "he": ("him", "himself"), "it": ("it", "itself")}
    him, himself = forms[entity.pronoun]
    return {"it": entity.pronoun, "its": entity.possessive, "him": him, "himself": himself}


def chosen(template: str, rng: random.Random) -> str:
    """Return a template with one of the words of each choice."""
    while _CHOICE.search(template):
        template = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    return template


def proposition(row: Sequence[str]) -> dict[str, str]:
    """Return the verb phrases of a proposition.

    `row`: the forms of its verb and what follows it, the same in other words, and its opposite.
    """
    verbs, _, rest = row[0].partition(" ")
    do, did, done, doing = (f"{verb} {rest}" for verb in verbs.split("/"))
    passive = do.startswith("be ")
    return {
        "do": do, "did": did, "done": done, "doing": doing, "same": row[1], "anti": row[2],
        "didnt": f"was not {rest}" if passive else f"did not {do}",
        "never": f"was never {rest}" if passive else f"never {did}",
        "hadnt": f"had not {done}",
    }  # fmt: skip


def framed(world: World, kind: str) -> Scene:
    """Return a scene of a kind: claims on a frame, among similar evidence on other subjects."""
    rng, frame = world.rng, world.rng.choice(kinds().frames[kind])
    words = Words(world, frame, kind)
    twin = Words(world, frame, kind, words) if rng.random() < 0.85 else None
    if twin and kinds().forms[kind] in _EXACT and rng.random() < 0.65:
        _exchange(words.forms, twin.forms)
    is_straight = not frame.flip or rng.random() < 0.5
    if frame.ways and frame.column and rng.random() < 0.3:
        sentences = _rows(words, twin or Words(world, frame, kind, words))
    else:
        evidence = (frame.say or frame.ways) if is_straight else frame.flip
        sentences = [words.stated(rng.choice(evidence), "fact")]
        if twin:
            other = frame.say or frame.ways
            if frame.flip and is_straight == (rng.random() < 0.7):
                other = frame.flip
            sentences.append(twin.stated(rng.choice(other), ""))
    if not frame.title:
        without = _MOVABLE if frame.alone else ()
        sentences += _harmless(world, words.subject, rng.randint(0, 2), without)
    if not (frame.alone or frame.title):
        third = world.entity(words.subject.kind)
        sentences += other_facts(world, third, [], rng.randint(0, 1))
    return Scene(sentences, _claims(words, is_straight))


def _exchange(forms: Forms, others: Forms) -> None:
    """Let wrong claims on each of two values name the other one."""
    if set(forms["right"]).isdisjoint(others["right"]):
        forms["wrong"] = others["said"]


def _harmless(
    world: World, entity: Entity, count: int, without: Sequence[str] = ()
) -> list[Stated]:
    relations = world.lexicon.relations[entity.kind]
    hidden = [name for name, own in relations.items() if own.value not in _HARMLESS]
    return other_facts(world, entity, [*hidden, *without], count)


def _claims(words: Words, is_straight: bool) -> list[Claim]:
    """Return a right and a wrong claim on a frame, and perhaps an open one."""
    rng, frame = words.world.rng, words.frame
    ways = [way.replace("{V}", "[{right}~{wrong}]") for way in frame.ways]
    decided, undecided = [*frame.claims, *ways], list(frame.open)
    if frame.fact == "open":
        undecided += kinds().facts
    elif frame.fact:
        # As likely as all other claims together.
        facts = kinds().facts
        decided = [rng.choice(rng.choice((decided or facts, facts))) for _ in range(2)]
    claims = []
    if frame.near:
        is_near_right = rng.random() < 0.5
        for texts, is_right in ((frame.near, is_near_right), (frame.far, not is_near_right)):
            claims.append(words.claim(rng.choice(texts), is_right, TRUE if is_right else FALSE))
    elif decided:
        first = rng.choice(decided)
        second = first if rng.random() < 0.5 else rng.choice(decided)
        claims = [
            words.claim(first, is_straight, TRUE),
            words.claim(second, not is_straight, FALSE),
        ]
    if undecided and (not decided or rng.random() < 0.5):
        claims.append(words.claim(rng.choice(undecided), rng.random() < 0.5, OPEN))
    return claims


# ---- Tables -------------------------------------------------------------------------------------


def _row(cells: Mapping[str, str]) -> str:
    """Return a row as the readers of tables write it: ``Name: curl; Licence: MIT.``"""
    return f"{'; '.join(f'{head}: {cell}' for head, cell in cells.items())}."


def _rows(words: Words, twin: Words) -> list[Stated]:
    """Return rows of a table that have the value of a frame in a column."""
    rng, subject = words.world.rng, words.subject
    title, column = rng.choice(_titles(subject)), words.frame.column
    head = rng.choice(("Name", subject.kind.capitalize()))
    relations = words.world.lexicon.relations[subject.kind]
    places = [name for name, own in relations.items() if own.value in ("place", "number")]
    extra = rng.sample(places, min(len(places), rng.randint(0, 2)))
    stated = []
    for own, key in ((words, "fact"), (twin, "")):
        cells = {_head(relations[n], n): _cell(words.world, own.subject, n) for n in extra}
        cells.pop(column, None)
        items = [*cells.items(), (column, own.fill("{said}").removeprefix("in "))]
        rng.shuffle(items)
        stated.append(Stated(title, _row({head: own.subject.title, **dict(items)}), key))
    return stated


def plural(kind: str) -> str:
    """Return the plural of a kind of entities."""
    return str(kinds().tables["plurals"].get(kind, f"{kind}s"))


def _titles(entity: Entity) -> list[str]:
    many = plural(entity.kind)
    return [capitalised(many), f"{many}.csv", f"List of {many}", f"{many}.xlsx", "Sheet1"]


def _head(relation: Relation, name: str) -> str:
    heads: Mapping[str, str] = kinds().tables["heads"]
    head = heads.get(name, capitalised(name.replace("_", " ")))
    is_measured = relation.unit.split(" ")[-1] in _MEASURED and relation.unit != name
    return f"{head} ({relation.unit})" if is_measured else head


_MEASURED = ("metres", "kilometres", "centimetres", "minutes", "days", "weeks")


def _cell(world: World, entity: Entity, name: str) -> str:
    value = world.fact(entity, name)
    is_number = world.lexicon.relations[entity.kind][name].value == "number"
    return f"{int(str(value)):,}" if is_number else _text(value)


def row(world: World) -> Scene:
    """Return claims on a row of a table, with the values of its neighbours and other columns."""
    if world.rng.random() < 0.3:
        return _yearly(world)
    rng = world.rng
    kind = rng.choice([k for k in world.lexicon.relations if len(_columns(world, k)) > 2])
    columns = _columns(world, kind)
    names = rng.sample(columns, rng.randint(2, min(4, len(columns))))
    relations = world.lexicon.relations[kind]
    entities = [world.entity(kind) for _ in range(rng.randint(2, 4))]
    title, head = rng.choice(_titles(entities[0])), rng.choice(("Name", kind.capitalize()))
    sentences, name = [], rng.choice(names)
    for number, entity in enumerate(entities):
        cells = {_head(relations[n], n): _cell(world, entity, n) for n in names}
        text = _row({head: entity.title, **cells})
        sentences.append(Stated(title, text, "" if number else "fact"))
    own = world.fact(entities[0], name)
    wrong = [world.fact(entity, name) for entity in entities[1:]]
    same = [n for n in names if n != name and relations[n].value == relations[name].value]
    wrong += [world.fact(entities[0], n) for n in same]
    wrong = [value for value in wrong if _text(value) != _text(own)]
    claims = []
    for value, label in ((own, TRUE), (rng.choice(wrong), FALSE)) if wrong else ((own, TRUE),):
        words = _text(value)
        if relations[name].value == "time":
            words = f"in {value}"
        elif relations[name].value == "number":
            words = number_phrase(int(str(value)), relations[name].unit, rng)
        claims.append(claim(claim_parts(world, entities[0], name, Phrase(words, label)), label))
    rng.shuffle(sentences)
    return Scene(sentences, claims)


def _columns(world: World, kind: str) -> list[str]:
    relations = world.lexicon.relations[kind].items()
    values = ("time", "number", "place", "person", "country")
    return [name for name, own in relations if own.value in values and not own.many]


def _text(value: object) -> str:
    return str(getattr(value, "mention", None) or getattr(value, "name", None) or value)


def _yearly(world: World) -> Scene:
    """Return claims on a table of the figures of an entity by year."""
    rng = world.rng
    kind, columns = rng.choice(kinds().tables["yearly"])
    entity, first = world.entity(kind), rng.randint(1990, 2018)
    names = rng.sample(list(columns), min(len(columns), 2))
    title = rng.choice((entity.title, f"{entity.title} in figures", f"{entity.title}.csv"))
    years = range(first, first + rng.randint(2, 5))
    table = {year: {n: rng.randint(11, 99_999) for n in names} for year in years}
    asked, name = rng.choice(years), names[0]
    sentences = []
    for year, figures in table.items():
        cells = {n: rng.choice((f"{v:,}", str(v))) for n, v in figures.items()}
        key = "fact" if year == asked else ""
        sentences.append(Stated(title, _row({"Year": str(year), **cells}), key))
    true = table[asked][name]
    others = [figures[name] for year, figures in table.items() if year != asked]
    others += [v for n, v in table[asked].items() if n != name]
    claims = []
    for value, label in ((true, TRUE), (rng.choice([v for v in others if v != true]), FALSE)):
        way = rng.choice(columns[name]).replace("{year}", str(asked))
        known = {"{S}": (entity.mention, None), "{V}": (rng.choice(number_forms(value)), label)}
        pieces = [known.get(piece, (piece, TRUE)) for piece in re.split(r"(\{[SV]\})", way)]
        claims.append(claim([Part(text, own) for text, own in pieces if text], label))
    return Scene(sentences, claims)


#: The scenes, and how often each occurs.
KINDS: dict[str, tuple[Callable[[World], Scene], float]] = {
    **{name: (partial(framed, kind=name), kinds().weights[name]) for name in kinds().frames},
    "row": (row, 1.2),
}
