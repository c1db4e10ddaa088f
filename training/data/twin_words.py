"""Words by which twins of claims differ, read from ``twins.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_FILE = Path(__file__).with_name("twins.yaml")


@dataclass(frozen=True, slots=True)
class TwinWords:
    """The words of ``twins.yaml``.

    Attributes
    ----------
    one_way
        Verbs whose subject and object cannot change places.
    single
        Verbs that have one value of a kind.
    antonyms
        Words with one that contradicts them.
    countries
        Countries by the adjective of origin.
    """

    one_way: frozenset[str]
    single: frozenset[str]
    antonyms: Mapping[str, str]
    countries: Mapping[str, str]


@cache
def twin_words() -> TwinWords:
    """Return the words."""
    tables = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return TwinWords(
        frozenset(tables["one_way"].split()),
        frozenset(tables["single"].split()),
        tables["antonyms"],
        tables["countries"],
    )
