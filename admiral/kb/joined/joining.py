"""Join knowledge bases into one that is searched as a whole; the members stay where they are."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.bm25 import check_updatable
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.joined.duplicate_titles import NAME, find_duplicates, write_duplicates
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.collection import Collection
from admiral.kb.store.contents import BM25, Contents
from admiral.kb.store.file_modes import copy_permissions
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.manifest import is_knowledge_base, read_manifest
from admiral.kb.store.member_manifests import (
    POLICIES,
    JoinManifest,
    member_name,
    read_join,
    write_join,
)
from admiral.storage.atomic_directories import staging


@dataclass(frozen=True, slots=True)
class JoinReport:
    """Report of a join.

    Attributes
    ----------
    path
        Directory of the joined knowledge base.
    members
        Number of members.
    documents
        Number of documents, without hidden ones.
    hidden
        Number of documents hidden because an earlier member has a document of the same title.
    seconds
        Time taken, in seconds.
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
    """Join knowledge bases into one that is searched as a whole.

    The members stay where they are. Their rows follow each other, and BM25 uses the statistics of
    all documents. Opening the joined knowledge base opens the current versions of the members, with
    all documents added or removed since.

    Parameters
    ----------
    members
        One or more knowledge bases with the same BM25 backend, none of them joined itself.
    path
        Directory to create; it takes a few kilobytes.
    on_duplicate
        Policy for a title that several members have, now or later: ``error``, or ``skip`` to keep
        the document of the first of them.
    overwrite
        Whether to replace an existing knowledge base.

    Raises
    ------
    AdmiralError
        If the members cannot be joined or `path` cannot be written; nothing has changed then.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, POLICIES)
    given = [members] if isinstance(members, str | Path) else members
    target, paths = checked_kb_path(path), [checked_kb_path(member) for member in given]
    if not paths:
        raise AdmiralError("no knowledge base given. Name at least one to be joined.")
    _check_members(paths, target)
    manifest = JoinManifest(tuple(member_name(member, target) for member in paths), on_duplicate)
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        with closing(Collection(target, manifest)) as collection, collection.unchanged():
            _check_bm25(collection)
            with closing(Contents(collection.snapshots)) as contents:
                duplicates = find_duplicates(collection, contents)
        write_duplicates(directory / NAME, collection.manifest.digest, duplicates)
        write_join(directory, manifest)
        if is_knowledge_base(target):
            copy_permissions(directory, target)
    hidden = len(duplicates.rows)
    documents = collection.manifest.counts["documents"] - hidden
    return JoinReport(target, len(paths), documents, hidden, time.monotonic() - began)


def _check_members(members: Sequence[Path], target: Path) -> None:
    """Raise `AdmiralError` for members that are joined, repeated, or overlap with the target."""
    home = Path(os.path.realpath(target))
    seen: dict[str, Path] = {}
    for member in members:
        joined = read_join(member)
        if joined is not None:
            names = " ".join(map(str, joined.paths(member)))
            raise AdmiralError(f"{member}: joins others itself. Name its members instead: {names}")
        read_manifest(member)
        place = os.path.realpath(member)
        if place in seen:
            raise AdmiralError(f"{member}: is named twice (as {seen[place]}). Name it once.")
        seen[place] = member
        if home.is_relative_to(place) or Path(place).is_relative_to(home):
            raise AdmiralError(
                f"{target}: would contain its member {member} or lie in it. Choose another path."
            )


def _check_bm25(collection: Collection) -> None:
    """Raise `AdmiralError` if the BM25 indexes cannot be searched together."""
    if (backend := collection.manifest.bm25) != NO_BM25:
        for snapshot in collection.snapshots:
            check_updatable(backend, snapshot.base / BM25)
