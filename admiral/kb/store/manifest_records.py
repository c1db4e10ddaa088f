"""Records of a manifest: one version of a knowledge base and its segments.

A version has a base segment, whose documents were indexed together. If it has changed since, it
also has one delta segment: the documents that were added and the rows of the base that were
removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from admiral.kb.embeddings.embedding_files import EMBEDDINGS
from admiral.storage.checksums import FileEntry

FORMAT_VERSION, UPDATED_VERSION, JOINED_VERSION = 2, 3, 4
SEGMENTS = "segments"


@dataclass(frozen=True, slots=True)
class CollectionKind:
    """A kind of collection that is kept in versions with a manifest.

    Attributes
    ----------
    format
        Field ``format`` of its manifests.
    noun
        Its name in messages.
    command
        The command that builds one.
    parts
        What a build writes into the collection itself in addition to what a knowledge base has.
    """

    format: str
    noun: str
    command: str
    parts: tuple[str, ...] = ()

    @property
    def rebuild(self) -> str:
        """The remedy for damaged files."""
        return f"Build it again with `{self.command}`."


KNOWLEDGE_BASE = CollectionKind("admiral-kb", "knowledge base", "admiral index")


@dataclass(frozen=True, slots=True)
class BaseSegment:
    """Documents that were indexed together.

    Attributes
    ----------
    path
        Directory relative to the knowledge base: ``.``, or a folder below ``segments`` after a
        compaction.
    documents
        Number of documents, which have the rows from 0 on, including removed ones.
    digest
        Identifies the documents; token tries are tied to it.
    """

    path: str
    documents: int
    digest: str


@dataclass(frozen=True, slots=True)
class DeltaSegment:
    """Changes since the base segment was written.

    Attributes
    ----------
    path
        Directory relative to the knowledge base, a folder below ``segments``.
    documents
        Number of added documents; their rows follow those of the base.
    removed
        Number of removed rows of the base.
    """

    path: str
    documents: int
    removed: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of ``manifest.json``.

    Attributes
    ----------
    counts
        Numbers of ``documents``, ``sentences`` and ``links``.
    settings
        Settings of the build: ``bm25`` (the backend or ``none``), ``passages``, ``on_duplicate``,
        ``sources``.
    files
        All files except the manifest itself and the tries, by path relative to the directory.
    base, delta
        The segments; `delta` is None if nothing has changed since the base was written.
    digest
        SHA-256 of all of the above, which identifies this version of the knowledge base.
    kind
        What the manifest describes.
    """

    counts: dict[str, int]
    settings: dict[str, Any]
    files: dict[str, FileEntry]
    base: BaseSegment
    delta: DeltaSegment | None
    digest: str
    kind: CollectionKind = KNOWLEDGE_BASE

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.counts["documents"]

    @property
    def bm25(self) -> str:
        """The backend of the BM25 index, or ``none``."""
        return str(self.settings["bm25"])

    @property
    def passages(self) -> bool:
        """Whether BM25 scores long documents by passages; not in releases before 0.2.0."""
        return bool(self.settings.get("passages", False))

    def embeddings(self, segment: str) -> str | None:
        """Return the folder of the embeddings of a segment, given its path; None if it has none."""
        folders = (
            name.rpartition("/")[0]
            for name in self.embedding_files
            if split_segment(name)[0] == segment
        )
        return next(folders, None)

    @property
    def embedding_files(self) -> dict[str, FileEntry]:
        """The files of the embeddings of all segments."""
        prefix = f"{EMBEDDINGS}/"
        files = self.files.items()
        return {name: e for name, e in files if split_segment(name)[1].startswith(prefix)}

    @property
    def version(self) -> int:
        """The format version, which differs once the knowledge base has been changed."""
        return FORMAT_VERSION if self.digest == self.base.digest else UPDATED_VERSION


def split_segment(name: str) -> tuple[str, str]:
    """Split the path of a file into the path of its segment and the path in that segment."""
    if not name.startswith(f"{SEGMENTS}/"):
        return ".", name
    top, folder, inside = name.split("/", 2)
    return f"{top}/{folder}", inside
