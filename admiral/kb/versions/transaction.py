"""The writer's side of a change: one at a time, new files first, then the manifest, then sweep.

A change writes the files of a new part into a folder of its own below ``segments/``, forces them
to the disk and puts a new manifest in the place of the old one. Until that rename the old version
is there, from then on the new one; a crash leaves at most files that no manifest names. Those, and
the parts that the new version no longer has, are removed as soon as no reader holds them: at the
end of the change, or of a later one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.file_modes import share
from admiral.kb.store.manifest import NAME, read_manifest, replace_manifest
from admiral.kb.store.parts import SEGMENTS, Base, Delta, Manifest, part_of
from admiral.kb.store.snapshot import Version, unheld
from admiral.kb.store.title_index import KEYS, ROWS, TRIE
from admiral.kb.tries.title_tries import FOLDER as TRIES
from admiral.storage.atomic_directories import exclusive, sync_tree
from admiral.storage.atomic_replace import sync_file
from admiral.storage.checksums import describe_files

# What `admiral index` puts into the knowledge base itself; after a compaction it is left over.
_BUILT = (DOCUMENTS, BM25, TRIE, KEYS, ROWS, TRIES)


class Change:
    """What a change works with.

    Attributes
    ----------
    version
        The version that was there.
    manifest
        Of the version that is there: the same, until another one is published.
    folder
        An empty folder for the files of the new part.
    """

    def __init__(self, version: Version, folder: Path) -> None:
        self.version, self.manifest, self.folder = version, version.manifest, folder

    @property
    def part(self) -> str:
        """The path of the new part in the knowledge base, as its manifest names it."""
        return f"{SEGMENTS}/{self.folder.name}"

    def publish(
        self, counts: dict[str, int], settings: dict[str, Any], base: Base, delta: Delta | None
    ) -> None:
        """Make these parts, the new one or those that were there, the version that readers see."""
        share(self.folder, self.version.path)
        sync_tree(self.folder)
        sync_file(self.folder.parent)
        sync_file(self.version.path)
        parts = {base.path, delta.path} if delta else {base.path}
        new = describe_files(self.folder)
        known = {**self.manifest.files, **{f"{self.part}/{name}": new[name] for name in new}}
        files = {name: entry for name, entry in known.items() if part_of(name)[0] in parts}
        self.manifest = replace_manifest(self.version.path, counts, settings, files, base, delta)


@contextmanager
def changing(kb: Path, wait: bool) -> Iterator[Change]:
    """Let this process alone change a knowledge base.

    Parameters
    ----------
    kb
        Its directory.
    wait
        Wait for another writer instead of failing.

    Raises
    ------
    AdmiralError
        If there is no knowledge base, another writer is at work, or the disk is full or not
        writable.
    """
    read_manifest(kb)  # before anything is written beside a mistyped path
    path = Path(os.path.realpath(kb))
    try:
        with exclusive(path, wait):
            sweep(path)
            folder = path / SEGMENTS / secrets.token_hex(8)
            try:
                with Version.open(path) as version:
                    if not folder.parent.exists():
                        folder.parent.mkdir()
                        share(folder.parent, path)
                    folder.mkdir()
                    yield Change(version, folder)
            finally:
                sweep(path)
    except OSError as error:
        raise AdmiralError(
            f"{path}: cannot be changed ({error.strerror or error}). Check the permissions and the "
            "free space; nothing is lost."
        ) from error


def leftovers(directory: Path, manifest: Manifest) -> list[Path]:
    """Return what older versions and interrupted changes left beside the version that is there."""
    parts = {manifest.base.path, manifest.delta.path if manifest.delta else ""}
    found = list(directory.glob(f"{NAME}.*.partial"))
    for path in directory.glob(f"{SEGMENTS}/{'[0-9a-f]' * 16}"):
        if f"{SEGMENTS}/{path.name}" not in parts:
            found.append(path)
    if manifest.base.path != ".":
        found += (directory / name for name in _BUILT if (directory / name).exists())
    return sorted(found)


def sweep(directory: Path) -> None:
    """Remove what is left over and held by no reader; the caller is the only writer."""
    for path in leftovers(directory, read_manifest(directory)):
        # What lies in the knowledge base itself is held together with it.
        with unheld(directory if path.parent == directory else path) as free:
            if free and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif free or path.name.startswith(NAME):
                path.unlink(missing_ok=True)
    with suppress(OSError):
        (directory / SEGMENTS).rmdir()  # unless something is in it
