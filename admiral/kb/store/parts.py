"""The parts of a knowledge base and the record of one version of it.

A version has a base, documents that were indexed together, and, if something has changed since, one
delta: the documents that were added, and the rows of the base that were removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from admiral.storage.checksums import FileEntry

FORMAT_VERSION, UPDATED_VERSION, JOINED_VERSION = 2, 3, 4
SEGMENTS = "segments"


@dataclass(frozen=True, slots=True)
class Base:
    """The documents that were indexed together.

    Attributes
    ----------
    path
        Their directory in the knowledge base: ``.``, or a folder of ``segments`` after a
        compaction.
    documents
        How many they are: rows 0 and up, removed ones included.
    digest
        Identifies them; the token tries belong to it.
    """

    path: str
    documents: int
    digest: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What has changed since the base was written.

    Attributes
    ----------
    path
        Its directory, a folder of ``segments``.
    documents
        How many documents it adds; their rows follow those of the base.
    removed
        How many rows of the base are no longer there.
    """

    path: str
    documents: int
    removed: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a knowledge base holds.

    Attributes
    ----------
    counts
        Numbers of ``documents``, ``sentences`` and ``links``.
    settings
        How it was built: ``bm25`` (the backend or ``none``), ``on_duplicate``, ``sources``.
    files
        Every file but the manifest itself and the tries, by path relative to the directory.
    base, delta
        Its parts; no delta if nothing has changed since the base was written.
    digest
        SHA-256 of all of the above; it identifies this version of the knowledge base.
    """

    counts: dict[str, int]
    settings: dict[str, Any]
    files: dict[str, FileEntry]
    base: Base
    delta: Delta | None
    digest: str

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.counts["documents"]

    @property
    def bm25(self) -> str:
        """The BM25 backend whose index is there, or ``none``."""
        return str(self.settings["bm25"])

    @property
    def version(self) -> int:
        """The version of the format: another one for what was changed since it was built."""
        return FORMAT_VERSION if self.digest == self.base.digest else UPDATED_VERSION


def part_of(name: str) -> tuple[str, str]:
    """Return the path of the part that a file belongs to, and the file's path in that part."""
    if not name.startswith(f"{SEGMENTS}/"):
        return ".", name
    top, folder, inside = name.split("/", 2)
    return f"{top}/{folder}", inside
