"""The lexicon of the invented worlds: templates, and malformed files."""

from __future__ import annotations

from pathlib import Path

import pytest

import training.data.world_entities as module
from training.data.world_entities import fill, lexicon, read_lexicon

FILE = Path(module.__file__).with_name("worlds.yaml")


def test_values_replace_capital_letters_once() -> None:
    assert fill("S of V in Y", S="V Works", V="the SS Y", Y="1900") == "V Works of the SS Y in 1900"
    assert fill("A and B", A="one") == "one and B"


def test_times_are_in_the_order_in_which_things_happen() -> None:
    assert lexicon().times("person") == ["born", "debut", "withdrew"]


def test_tables_name_known_kinds_and_relations() -> None:
    read = lexicon()
    relations = {(kind, name) for kind, own in read.relations.items() for name in own}
    for table in ("bridges", "shared", "changes", "memberships", "degrees"):
        assert {(kind, name) for kind, name, *_ in read.tables[table]} <= relations
    assert {(k, name) for k, *names in read.tables["orders"] for name in names} <= relations
    for table in ("opposites", "paraphrases", "groups"):
        assert {row[0] for row in read.tables[table]} <= read.kinds.keys()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("predicates: [was born V]", "predicates: [was born]", "relation 'born' of 'person'"),
        (
            "value: time, predicates: [was born V]",
            "value: epoch, predicates: [was born V]",
            "'born'",
        ),
        ("low: 1820, high: 1985", "low: 1985, high: 1820", "'born'"),
        ('["no", not all', "[no, not all", "quote it"),
        ("relations:", "relation:", "is malformed"),
    ],
)
def test_a_malformed_entry_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = FILE.read_text()
    assert old in text
    path = tmp_path / "worlds.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_lexicon(path)
