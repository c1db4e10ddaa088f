"""Scenes of the invented worlds for kinds of claims that verifiers often get wrong.

Each kind has frames in ``world_kinds.yaml``, which explains their templates: what the evidence
says, its opposite, and claims with two sides of which one is right. So no word of a claim tells its
label: with the opposite evidence, the same claim has the other one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
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
    lexicon,
    mention_of,
)
from training.data.world_values import FALSE, MEASURED, OPEN, TRUE, Phrase, article, number_phrase

_FILE = Path(__file__).with_name("world_kinds.yaml")
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")
_SIDES = re.compile(r"\[([^\[\]~]*)~([^\[\]~]*)\]")
_ARTICLE = re.compile(r"\ba\(n\) (\w+)")
_PIECES = re.compile(r"(\[[^\[\]]*\]|\{S\})")
#: Values of which an entity's own facts decide nothing that the frames say.
_HARMLESS = ("place", "country", "award", "product", "genre", "habitat", "food")
#: Where an entity is, which a frame may also say.
_MOVABLE = ("born_place", "grew_up", "lives", "seat", "town", "place", "nationality")
#: A person, a man, a woman, a place, a country, a year, another subject.
_INVENTED = ("X", "M", "F", "P", "C", "Y", "O")
_VERB = ("do", "did", "didnt", "never", "done", "hadnt", "doing", "same", "anti")
_PRONOUNS = {"she": ("her", "herself"), "he": ("him", "himself"), "it": ("it", "itself")}
#: Forms of a value of which one excludes all others.
_EXACT = ("dates", "clock", "counts", "scales", "currencies", "quantities", "years")
_DEFAULT_WEIGHT = 0.35
#: Values that columns of tables have.
_IN_TABLES = ("time", "number", "place", "person", "country")


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


def frame(entry: dict[str, Any]) -> Frame:
    """Return the frame of an entry of the file."""
    known = {each.name for each in fields(Frame)}
    if pair := entry.pop("pair", None):  # what one is to another, in the right and the wrong order
        entry["say"] = [way.replace("{A}", "{S}").replace("{B}", "{O}") for way in pair]
        entry["flip"] = [way.replace("{A}", "{O}").replace("{B}", "{S}") for way in pair]
        sides = zip(entry["say"], entry["flip"], strict=True)
        entry["claims"] = [f"[{right}~{wrong}]" for right, wrong in sides]
    own = {name: value for name, value in entry.items() if name in known}
    return Frame(**own, options={n: v for n, v in entry.items() if n not in known})


@cache
def tables() -> Mapping[str, Any]:
    """Return the tables of ``world_kinds.yaml``, which explains them, with frames in `kinds`."""
    read: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    for kind in read["kinds"].values():
        kind["frames"] = list(map(frame, kind["frames"]))
    return read


class Words:
    """What the placeholders of a frame stand for in a scene, drawn when first used."""

    def __init__(self, world: World, frame: Frame, kind: str, like: Words | None = None) -> None:
        self.world, self.frame = world, frame
        subject = world.entity(like.subject.kind if like else world.rng.choice(frame.of))
        self.subject: Entity = subject
        shared = like is not None and world.rng.random() < 0.7
        self.drawn: dict[str, str] = dict(like.drawn) if like and shared else {}
        form = tables()["kinds"][kind].get("forms", "numbers")
        self.forms: Forms = FORMS[form](world.rng, frame.options)
        him, himself = _PRONOUNS[subject.pronoun]
        self.names = {
            "S": subject.mention, "it": subject.pronoun, "its": subject.possessive, "him": him,
            "himself": himself, "kind": subject.kind, "kinds": plural(subject.kind),
        }  # fmt: skip

    def fill(self, template: str) -> str:
        """Return a template with one of its choices and with words for its placeholders."""
        text = chosen(template, self.world.rng)
        while _PLACEHOLDER.search(text):
            text = _PLACEHOLDER.sub(lambda match: self._word(match[1]), text)
            text = chosen(text, self.world.rng)
        return _ARTICLE.sub(lambda match: article(match[1]), text)

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
            propositions = tables()["propositions"][self.subject.kind]
            self.drawn |= proposition(rng.choice(propositions))
        if name.endswith(".bare"):  # a word of a list without its article
            return self._word(name.removesuffix(".bare")).partition(" ")[2]
        if name in self.drawn:
            return self.drawn[name]
        if "." in name:  # the opposite of a word, or another word of its row
            self._word(name.partition(".")[0])
            return self.drawn[name]
        taken = {word for own, word in self.drawn.items() if own.rstrip("0123456789") == base}
        words = tables()["lists"][base]
        words = words if isinstance(words, list) else words[self.subject.kind]
        rows = [word.split("/") for word in words]
        row = rng.choice([words for words in rows if words[0] not in taken])
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
            while (country := world.country()).mention in self.names.values():
                pass
            return {name: country.mention, f"{name}.adj": country.adjective}
        if base in "MF":
            return {name: world.person(world.name("surname_ends"), she=base == "F").mention}
        return {name: world.entity("person" if base == "X" else self.subject.kind).mention}

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


def chosen(template: str, rng: random.Random) -> str:
    """Return a template with one of the words of each choice."""
    while _CHOICE.search(template):
        template = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    return template


def plural(kind: str) -> str:
    """Return the plural of a kind of entities."""
    return str(tables()["plurals"].get(kind, f"{kind}s"))


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
    rng, frame = world.rng, world.rng.choice(tables()["kinds"][kind]["frames"])
    words = Words(world, frame, kind)
    twin = Words(world, frame, kind, words) if rng.random() < 0.85 else None
    is_exact = tables()["kinds"][kind].get("forms") in _EXACT
    # Let wrong claims on a value name the other one of the evidence.
    others = twin.forms if twin and is_exact and rng.random() < 0.65 else None
    if others and set(words.forms["right"]).isdisjoint(others["right"]):
        words.forms["wrong"] = others["said"]
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
        relations = words.subject.relations
        hidden = [name for name, own in relations.items() if own.value not in _HARMLESS]
        hidden += _MOVABLE if frame.alone else ()
        sentences += world.other_facts(words.subject, hidden, rng.randint(0, 2))
    if not (frame.alone or frame.title):
        third = world.entity(words.subject.kind)
        sentences += world.other_facts(third, [], rng.randint(0, 1))
    return Scene(sentences, _claims(words, is_straight))


def _claims(words: Words, is_straight: bool) -> list[Claim]:
    """Return a right and a wrong claim on a frame, and perhaps an open one."""
    rng, frame, facts = words.world.rng, words.frame, tables()["facts"]
    ways = [way.replace("{V}", "[{right}~{wrong}]") for way in frame.ways]
    decided, undecided = [*frame.claims, *ways], list(frame.open)
    if frame.fact == "open":
        undecided += facts
    elif frame.fact:
        # As likely as all other claims together.
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


def _title_and_head(entity: Entity, rng: random.Random) -> tuple[str, str]:
    many = plural(entity.kind)
    titles = [capitalised(many), f"{many}.csv", f"List of {many}", f"{many}.xlsx", "Sheet1"]
    return rng.choice(titles), rng.choice(("Name", entity.kind.capitalize()))


def _cells(world: World, entity: Entity, names: Sequence[str]) -> dict[str, str]:
    cells = {}
    for name in names:
        relation, value = entity.relations[name], world.fact(entity, name)
        is_number = relation.value == "number"
        cells[_head(relation, name)] = f"{value:,}" if is_number else mention_of(value)
    return cells


def _head(relation: Relation, name: str) -> str:
    head: str = tables()["heads"].get(name, capitalised(name.replace("_", " ")))
    is_measured = relation.unit.split(" ")[-1] in MEASURED and relation.unit != name
    return f"{head} ({relation.unit})" if is_measured else head


def _rows(words: Words, twin: Words) -> list[Stated]:
    """Return rows of a table that have the value of a frame in a column."""
    rng, subject, column = words.world.rng, words.subject, words.frame.column
    title, head = _title_and_head(subject, rng)
    places = [name for name, own in subject.relations.items() if own.value in ("place", "number")]
    extra = rng.sample(places, min(len(places), rng.randint(0, 2)))
    stated = []
    for own, key in ((words, "fact"), (twin, "")):
        cells = _cells(words.world, own.subject, extra)
        cells.pop(column, None)
        items = [*cells.items(), (column, own.fill("{said}").removeprefix("in "))]
        rng.shuffle(items)
        stated.append(Stated(title, _row({head: own.subject.title, **dict(items)}), key))
    return stated


def row(world: World) -> Scene:
    """Return claims on a row of a table, with the values of its neighbours and other columns."""
    if world.rng.random() < 0.3:
        return _yearly(world)
    rng = world.rng
    columns = {
        kind: [n for n, own in relations.items() if own.value in _IN_TABLES and not own.many]
        for kind, relations in lexicon().relations.items()
    }
    kind = rng.choice([kind for kind, own in columns.items() if len(own) > 2])
    names = rng.sample(columns[kind], rng.randint(2, min(4, len(columns[kind]))))
    entities = [world.entity(kind) for _ in range(rng.randint(2, 4))]
    title, head = _title_and_head(entities[0], rng)
    sentences, name = [], rng.choice(names)
    for number, entity in enumerate(entities):
        text = _row({head: entity.title, **_cells(world, entity, names)})
        sentences.append(Stated(title, text, "" if number else "fact"))
    first, relations = entities[0], entities[0].relations
    own, relation = world.fact(first, name), relations[name]
    wrong = [world.fact(entity, name) for entity in entities[1:]]
    same = [n for n in names if n != name and relations[n].value == relation.value]
    wrong += [world.fact(first, n) for n in same]
    wrong = [value for value in wrong if mention_of(value) != mention_of(own)]
    claims = []
    for value, label in ((own, TRUE), (rng.choice(wrong), FALSE)) if wrong else ((own, TRUE),):
        words = mention_of(value)
        if relation.value == "time":
            words = f"in {value}"
        elif relation.value == "number":
            words = number_phrase(value, relation.unit, rng)
        claims.append(world.claim(first, name, Phrase(words, label)))
    rng.shuffle(sentences)
    return Scene(sentences, claims)


def _yearly(world: World) -> Scene:
    """Return claims on a table of the figures of an entity by year."""
    rng = world.rng
    kind, columns = rng.choice(tables()["yearly"])
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
    **{
        name: (partial(framed, kind=name), own.get("weight", _DEFAULT_WEIGHT))
        for name, own in tables()["kinds"].items()
    },
    "row": (row, 1.2),
}
