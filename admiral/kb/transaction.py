"""Change a knowledge base atomically: one writer at a time, new files first, then the manifest.

A transaction writes the files of a new segment into its own folder below ``segments/``, forces them
to disk and replaces the manifest by a rename. Before the rename readers see the old version, and
after it the new one; a crash leaves at most files that no manifest lists. Those files, and segments
that the new version does not use, are removed once no reader holds them: at the end of this
transaction or of a later one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.alias_index import FOLDER as ALIASES
from admiral.kb.embeddings import EMBEDDINGS
from admiral.kb.store import (
    NAME,
    SEGMENTS,
    BaseSegment,
    DeltaSegment,
    Manifest,
    copy_permissions,
    read_manifest,
    replace_manifest,
    split_segment,
)
from admiral.kb.store.contents import BM25, DOCUMENTS, REMOVED, Contents
from admiral.kb.store.snapshot import Snapshot, try_exclusive_lock
from admiral.kb.store.titles import FOLDER as TRIES
from admiral.kb.store.titles import FORMS, IDS, KEYS, ROWS, TRIE
from admiral.storage.atomic_files import describe_files, exclusive_access, sync_path, sync_tree

_RANDOM_NAME = "[0-9a-f]" * 16
# What `admiral index` writes into the knowledge base itself. After a compaction it is obsolete.
_BUILT = (DOCUMENTS, BM25, ALIASES, TRIE, KEYS, ROWS, FORMS, IDS, TRIES, EMBEDDINGS)


class Transaction:
    """A change in progress.

    `manifest`: manifest of the current version: that of `snapshot` until `publish`. `folder`: empty
    folder for the files of the new segment.
    """

    def __init__(self, snapshot: Snapshot, folder: Path) -> None:
        self.snapshot, self.manifest, self.folder = snapshot, snapshot.manifest, folder

    @property
    def segment(self) -> str:
        """Path of the new segment relative to the knowledge base."""
        return f"{SEGMENTS}/{self.folder.name}"

    def publish(
        self,
        counts: dict[str, int],
        settings: dict[str, Any],
        base: BaseSegment,
        delta: DeltaSegment | None,
    ) -> None:
        """Replace the manifest by one of these segments, each of them new or already there."""
        copy_permissions(self.folder, self.snapshot.path)
        sync_tree(self.folder)
        sync_path(self.folder.parent)
        sync_path(self.snapshot.path)
        paths = {base.path, delta.path} if delta else {base.path}
        new = {f"{self.segment}/{name}": e for name, e in describe_files(self.folder).items()}
        known = {**self.manifest.files, **new}
        files = {name: entry for name, entry in known.items() if split_segment(name)[0] in paths}
        self.manifest = replace_manifest(self.snapshot.path, counts, settings, files, base, delta)

    def publish_base(self, documents: int) -> None:
        """Publish the new segment as a base that holds all documents."""
        base = BaseSegment(self.segment, documents, secrets.token_hex(32))
        self.publish(self.manifest.counts, self.manifest.settings, base, None)

    def publish_delta(
        self,
        removed_before: np.ndarray,
        removed_rows: Iterable[int],
        documents: int,
        counts: dict[str, int],
        settings: dict[str, Any],
    ) -> None:
        """Publish the new segment as the delta, with the rows of the base that are removed."""
        base = self.manifest.base
        gone = np.array([row for row in removed_rows if row < base.documents], np.int64)
        removed = np.union1d(removed_before, gone)
        if removed.size:
            np.save(self.folder / REMOVED, removed, allow_pickle=False)
        is_empty = not documents and not removed.size
        delta = None if is_empty else DeltaSegment(self.segment, documents, len(removed))
        self.publish(counts, settings, base, delta)

    def publish_embeddings(self, folders: Mapping[str, Path]) -> None:
        """Replace the manifest by one that lists new embeddings, in place of older ones.

        `folders` has that of each changed segment, by the path of the segment.
        """
        kb, manifest = self.snapshot.path, self.manifest
        old = {n for n in manifest.embedding_files if split_segment(n)[0] in folders}
        files = {name: entry for name, entry in manifest.files.items() if name not in old}
        for folder in folders.values():
            copy_permissions(folder.parent, kb)
            sync_tree(folder)
            sync_path(folder.parent)
            sync_path(folder.parent.parent)
            parent = folder.relative_to(kb).as_posix()
            files |= {f"{parent}/{name}": e for name, e in describe_files(folder).items()}
        self.manifest = replace_manifest(
            kb,
            manifest.counts,
            manifest.settings,
            files,
            manifest.base,
            manifest.delta,
        )


@contextmanager
def changing(kb: Path, wait: bool) -> Iterator[tuple[Transaction, Contents]]:
    """Give this process exclusive write access to a knowledge base, and its contents.

    Raises AdmiralError if there is no knowledge base, another writer is at work, or the disk is
    full or not writable.
    """
    read_manifest(kb)  # before anything is written beside a mistyped path
    path = Path(os.path.realpath(kb))
    try:
        with exclusive_access(path, wait):
            remove_leftovers(path)
            folder = path / SEGMENTS / secrets.token_hex(8)
            try:
                with Snapshot.open(path) as snapshot:
                    if not folder.parent.exists():
                        folder.parent.mkdir()
                        copy_permissions(folder.parent, path)
                    folder.mkdir()
                    with closing(Contents(snapshot)) as contents:
                        yield Transaction(snapshot, folder), contents
            finally:
                remove_leftovers(path)
    except OSError as error:
        raise AdmiralError(
            f"{path}: cannot be changed ({error.strerror or error}). Check the permissions and the "
            "free space; nothing is lost."
        ) from error


def leftovers(directory: Path, manifest: Manifest) -> list[Path]:
    """Return the paths that older versions and interrupted changes have left, sorted."""
    current = {manifest.base.path, manifest.delta.path if manifest.delta else manifest.base.path}
    paths = list(directory.glob(f"{NAME}.*.partial"))
    for path in directory.glob(f"{SEGMENTS}/{_RANDOM_NAME}"):
        if f"{SEGMENTS}/{path.name}" not in current:
            paths.append(path)
    for segment in current:
        embeddings = manifest.embeddings(segment)
        for path in (directory / segment).glob(f"{EMBEDDINGS}/{_RANDOM_NAME}"):
            if embeddings is None or path != directory / embeddings:
                paths.append(path)
    if manifest.base.path != ".":
        paths += (directory / name for name in _BUILT if (directory / name).exists())
    return sorted(paths)


def remove_leftovers(directory: Path) -> None:
    """Remove leftovers that no reader holds; the caller must be the only writer."""
    for path in leftovers(directory, read_manifest(directory)):
        with try_exclusive_lock(_locked_folder(path, directory)) as is_free:
            if is_free and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif is_free or path.name.startswith(NAME):
                path.unlink(missing_ok=True)
            if path.parent.name == EMBEDDINGS:
                with suppress(OSError):
                    path.parent.rmdir()  # fails unless it is empty
    with suppress(OSError):
        (directory / SEGMENTS).rmdir()


def remove_older_versions(kb: Path) -> None:
    """Remove what no reader holds of older versions; another writer at work will do it."""
    path = Path(os.path.realpath(kb))
    with suppress(AdmiralError, OSError), exclusive_access(path, wait=False):
        remove_leftovers(path)


def _locked_folder(path: Path, directory: Path) -> Path:
    """Return the folder by which readers lock a leftover: that of its segment."""
    if path.parent == directory:
        return directory
    return path.parent.parent if path.parent.name == EMBEDDINGS else path
