"""Knowledge bases that are searched as one, without building them again."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.joined.repeated_titles import NAME, find_repeated, write_repeated
from admiral.kb.kb_paths import kb_place
from admiral.kb.store.collection import Collection
from admiral.kb.store.contents import BM25, Contents
from admiral.kb.store.file_modes import share
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.manifest import is_knowledge_base, read_manifest
from admiral.kb.store.members import POLICIES, Join, name_of, read_join, write_join
from admiral.storage.atomic_directories import staging


@dataclass(frozen=True, slots=True)
class JoinReport:
    """What was joined.

    Attributes
    ----------
    path
        The knowledge base that was made.
    members
        How many it joins.
    documents
        How many documents count.
    hidden
        Documents whose titles members before theirs have.
    seconds
        Time taken.
    """

    path: Path
    members: int
    documents: int
    hidden: int
    seconds: float


def join(
    members: Sequence[str | Path] | str | Path,
    path: str | Path,
    *,
    on_duplicate: str = "error",
    overwrite: bool = False,
) -> JoinReport:
    """Make a knowledge base of others, which stay where they are and are searched as one.

    Its rows are those of the members, one after the other, and BM25 counts the documents of all of
    them. It shows what the members hold when it is opened, also what was added to them or removed
    since.

    Parameters
    ----------
    members
        Knowledge bases with the same BM25 backend, none of them joined itself; or a single one.
    path
        The directory to make; it takes a few kilobytes.
    on_duplicate
        What to do with a title that several members have, now or later: ``error``, or ``skip``
        (the document of the first of them counts).
    overwrite
        Replace an existing knowledge base.

    Raises
    ------
    AdmiralError
        For anything that the user can put right; nothing has changed then.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, POLICIES)
    given = [members] if isinstance(members, str | Path) else members
    target, places = kb_place(path), [kb_place(member) for member in given]
    if not places:
        raise AdmiralError("no knowledge base given. Name at least one to be joined.")
    _check_places(places, target)
    made = Join(tuple(name_of(place, target) for place in places), on_duplicate)
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        with closing(Collection(target, made)) as collection, collection.unchanged():
            _check_bm25(collection)
            with closing(Contents(collection.versions)) as contents:
                found = find_repeated(collection, contents)
        write_repeated(directory / NAME, collection.holdings.digest, found)
        write_join(directory, made)
        if is_knowledge_base(target):
            share(directory, target)
    hidden = len(found.rows)
    documents = collection.holdings.counts["documents"] - hidden
    return JoinReport(target, len(places), documents, hidden, time.monotonic() - began)


def _check_places(members: Sequence[Path], target: Path) -> None:
    """Refuse members that are joined, named twice, or in the way of what is made."""
    home = Path(os.path.realpath(target))
    seen: dict[str, Path] = {}
    for member in members:
        joined = read_join(member)
        if joined is not None:
            inside = " ".join(map(str, joined.paths(member)))
            raise AdmiralError(f"{member}: joins others itself. Name its members instead: {inside}")
        read_manifest(member)
        place = os.path.realpath(member)
        if place in seen:
            raise AdmiralError(f"{member}: is named twice (as {seen[place]}). Name it once.")
        seen[place] = member
        if home.is_relative_to(place) or Path(place).is_relative_to(home):
            raise AdmiralError(
                f"{target}: would lie in its member {member}, or that in it. Choose another path."
            )


def _check_bm25(collection: Collection) -> None:
    """Refuse indexes that cannot be searched together."""
    if (backend := collection.holdings.bm25) != NO_BM25:
        from admiral.kb.bm25 import check_updatable

        for version in collection.versions:
            check_updatable(backend, version.base / BM25)
