"""Describe a library, and verify it thoroughly: every checksum, array and passage."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.io.progress import track_documents
from admiral.kb.bm25 import open_bm25
from admiral.kb.bm25.passages import Passages
from admiral.kb.store.collection import Snapshot
from admiral.kb.store.contents import BM25
from admiral.kb.store.manifest import split_segment
from admiral.kb.verify import snapshot_problems
from admiral.library.canonical_urls import canonical
from admiral.library.open_library import LIBRARY, LibraryContents, checked_library_path
from admiral.library.segment_files import passages_as_document


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """Facts about a library."""

    path: str
    # sources, passages, empty: numbers of sources, of their passages, and of sources without text
    sources: int
    passages: int
    empty: int
    added: int
    removed: int
    embedded: dict[str, int]
    sizes: dict[str, int]  # bytes on disk of each kind of file and, under ``total``, of all
    settings: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return asdict(self)


def describe_library(path: str | Path) -> LibraryInfo:
    """Describe a library.

    Raises AdmiralError if there is no library, or files are truncated.
    """
    with (
        Snapshot.open(checked_library_path(path), kind=LIBRARY) as snapshot,
        closing(LibraryContents(snapshot)) as contents,
    ):
        manifest, delta = snapshot.manifest, snapshot.manifest.delta
        embedded: Counter[str] = Counter()
        for stored in contents.contents.embeddings:
            if stored is not None:
                embedded[stored.encoder.name] += len(stored)
        sizes: Counter[str] = Counter()
        for name, entry in manifest.files.items():
            top = split_segment(name)[1].split("/")[0]
            sizes["urls" if top.startswith("titles") else top.removesuffix(".npy")] += entry.size
        rows = contents.contents.live_rows().tolist()
        return LibraryInfo(
            path=str(path),
            sources=manifest.documents,
            passages=manifest.counts["passages"],
            empty=sum(not contents.passage_numbers(row) for row in rows),
            added=delta.documents if delta else 0,
            removed=delta.removed if delta else 0,
            embedded=dict(embedded),
            sizes={**sizes, "total": sizes.total()},
            settings=manifest.settings,
        )


def library_problems(path: str | Path, *, progress: bool = False) -> list[str]:
    """Check a library thoroughly.

    Return one message per problem; none if the library is intact. Raises AdmiralError if there is
    no library, or its manifest cannot be read.
    """
    return snapshot_problems(
        checked_library_path(path), lambda snapshot: _content_problems(snapshot, progress), LIBRARY
    )


def _content_problems(snapshot: Snapshot, progress: bool) -> list[str]:
    with closing(LibraryContents(snapshot)) as contents:
        segments = contents.contents.segments
        folders = [segment.folder / BM25 for segment in segments]
        for folder, table in zip(folders, contents.tables, strict=True):
            if (indexed := Passages.open(folder).documents) != table.passages:
                return [f"{folder}: {indexed} passages indexed, but there are {table.passages}"]
        open_bm25(
            snapshot.manifest.bm25, *folders, removed=contents.removed_passages(), title_weight=0.0
        ).close()
        rows = contents.contents.live_rows().tolist()
        passages = 0
        for row in track_documents(rows, "verifying", total=len(rows), enabled=progress):
            if problem := _row_problem(contents, row):
                return [f"{snapshot.path}: {problem}"]
            passages += len(contents.passage_numbers(row))
        expected = snapshot.manifest.counts
        if (len(rows), passages) != (expected["documents"], expected["passages"]):
            return [
                f"{snapshot.path}: {len(rows)} sources and {passages} passages where the manifest "
                f"says {expected['documents']} and {expected['passages']}"
            ]
    return []


def _row_problem(contents: LibraryContents, row: int) -> str:
    """Return what is wrong with a source; "" if nothing."""
    source = contents.source(row)
    if contents.row(canonical(source.url)) != row:
        return f"row {row}: its URL {source.url!r} is indexed elsewhere"
    if any(not 0 <= start < end <= len(source.text) for start, end in contents.spans(row)):
        return f"row {row}: a passage lies outside the text of {source.url!r}"
    for segment, stored, table in zip(
        contents.contents.segments, contents.contents.embeddings, contents.tables, strict=True
    ):
        within = row - segment.first
        if stored is not None and 0 <= within < segment.documents:
            passages = passages_as_document(table, within, source.text)
            return stored.row_problem(within, passages)
    return ""
