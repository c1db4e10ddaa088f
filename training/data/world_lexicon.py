"""Words and phrasings of the invented worlds, read from ``worlds.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("worlds.yaml")
#: Kinds of values beside the words and entities of the lexicon.
VALUES = ("time", "number", "place", "country", "profession", "product")
_PLACEHOLDER = re.compile(r"\b[A-Z]\b")


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a kind of entity has one value of, unless it is `many`.

    Attributes
    ----------
    value
        Kind of its values: one of `VALUES`, a kind of words, or a kind of entities.
    predicates
        What follows the subject.
    sentences
        Whole sentences, without a full stop.
    many
        Whether an entity may have several values, so that another one contradicts nothing.
    low, high
        Bounds of numbers; years of times.
    unit
        Unit of numbers.
    """

    value: str
    predicates: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    many: bool = False
    low: int = 0
    high: int = 0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entities: titles with ``N`` for an invented name, and whether they take "the"."""

    titles: tuple[str, ...] = ()
    article: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lexicon; ``worlds.yaml`` explains its parts.

    Attributes
    ----------
    names
        Lists of words that names and titles are made of.
    general
        The general word of a profession or product, or an empty one, by ``profession`` and
        ``product``.
    words
        The values of other kinds of words.
    kinds, relations
        Kinds of entities, and their relations by name.
    countries
        Names and adjectives of real countries.
    country_ends
        Ends of the names and adjectives of invented countries.
    tables
        The tables of the scenes.
    """

    names: Mapping[str, Sequence[str]]
    general: Mapping[str, Mapping[str, str]]
    words: Mapping[str, Sequence[str]]
    kinds: Mapping[str, Kind]
    relations: Mapping[str, Mapping[str, Relation]]
    countries: Sequence[tuple[str, str]]
    country_ends: Sequence[tuple[str, str]]
    tables: Mapping[str, Any]

    def times(self, kind: str) -> list[str]:
        """Return the relations of a kind of entities whose values are times, in their order."""
        return [name for name, r in self.relations[kind].items() if r.value == "time"]


def fill(template: str, **values: str) -> str:
    """Return a template with values in place of its capital letters."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), template)


@cache
def lexicon() -> Lexicon:
    """Return the lexicon.

    Raises
    ------
    ValueError
        If an entry of the file is malformed.
    """
    return read_lexicon(_FILE)


def read_lexicon(path: Path) -> Lexicon:
    """Return the lexicon of a file (see `lexicon`)."""
    tables = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        relations = {
            kind: {name: _relation(fields) for name, fields in own.items()}
            for kind, own in tables.pop("relations").items()
        }
        read = Lexicon(
            names={name: text.split() for name, text in tables.pop("names").items()},
            general={
                "profession": tables.pop("professions"),
                "product": tables.pop("products"),
            },
            words=tables.pop("words"),
            kinds={
                name: Kind(tuple(fields.get("titles", ())), fields.get("article", False))
                for name, fields in tables.pop("kinds").items()
            },
            relations=relations,
            countries=list(tables.pop("real_countries").items()),
            country_ends=list(tables.pop("country_ends").items()),
            tables=tables,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: is malformed ({error!r}); restore it") from error
    _check(read, path)
    return read


def _relation(fields: dict[str, Any]) -> Relation:
    lists = {name: tuple(fields.get(name, ())) for name in ("predicates", "sentences")}
    return Relation(**fields | lists)


def _check(read: Lexicon, path: Path) -> None:
    known = {*VALUES, *read.words, *read.kinds}
    for kind, own in read.relations.items():
        for name, relation in own.items():
            templates = (*relation.predicates, *relation.sentences)
            is_bounded = relation.value not in ("time", "number") or relation.low < relation.high
            if (
                kind not in read.kinds
                or relation.value not in known
                or not relation.predicates
                or any(_PLACEHOLDER.findall(text).count("V") != 1 for text in templates)
                or not is_bounded
            ):
                raise ValueError(f"{path}: relation {name!r} of {kind!r} is malformed; correct it")
    flags = [value for table in read.tables.values() for value in _leaves(table)]
    if any(isinstance(value, bool) or value is None for value in flags):
        raise ValueError(f"{path}: an unquoted word such as no or yes is not a text; quote it")


def _leaves(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return [leaf for key, value in table.items() for leaf in (key, *_leaves(value))]
    if isinstance(table, list):
        return [leaf for value in table for leaf in _leaves(value)]
    return [table]
