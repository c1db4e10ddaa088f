"""A check of what a joined knowledge base has of its own, once its members are found sound."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.joined.repeated_titles import NAME as DUPLICATES
from admiral.kb.joined.repeated_titles import find_repeated, read_repeated
from admiral.kb.store.collection import Collection, learnt
from admiral.kb.store.contents import Contents
from admiral.kb.store.manifest import NAME
from admiral.kb.tries.title_tries import FOLDER, tries_problems


def join_problems(path: Path) -> list[str]:
    """Return what is wrong with a joined knowledge base whose members are sound."""
    try:
        problems = learnt(path, _duplicate_problems)
    except AdmiralError as error:
        problems = [str(error)]
    # A trie of the bases that were there before a member was compacted is no fault.
    return [*_foreign_files(path), *problems, *tries_problems(path, None)]


def _foreign_files(path: Path) -> list[str]:
    ours = (NAME, DUPLICATES)
    partial = {f"{name}.new.partial" for name in ours}
    return [
        f"{found}: does not belong there"
        for found in sorted(path.iterdir())
        if found.name not in (*ours, *partial, FOLDER)
    ]


def _duplicate_problems(collection: Collection) -> list[str]:
    """Compare the titles of all members anew with what is kept, if it is of these versions."""
    kept = read_repeated(collection.path / DUPLICATES, collection.holdings.digest)
    with closing(Contents(collection.versions)) as contents:
        found = find_repeated(collection, contents)
    if kept is not None and (
        not np.array_equal(kept.rows, found.rows) or kept.counts != found.counts
    ):
        place = collection.path / DUPLICATES
        return [f"{place}: wrong. Delete {place}; it is written again when it is needed."]
    return []
