"""Build a library, add sources to it, remove them, embed and compact it, while others read it.

A build takes constant memory but for the index. As in a knowledge base, a change writes a new delta
segment with all changes since the base segment was written, and readers see the old version or the
new one (`admiral.kb.updating`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.kb.bm25 import check_backend
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.embeddings import EncoderIdentity, QuantisedSentences, SentenceEncoder, no_vectors
from admiral.kb.store.manifest import copy_permissions, write_manifest
from admiral.kb.stored_embeddings import embed_segment, keep_embeddings
from admiral.kb.transaction import Transaction, transaction
from admiral.library.canonical_urls import canonical, names_source
from admiral.library.open_library import LIBRARY, LibraryContents, checked_library_path, is_library
from admiral.library.passage_windows import check_window
from admiral.library.segment_files import (
    LibrarySettings,
    SegmentWriter,
    clean_source,
    embed_new_sources,
    passages_as_document,
    write_source_indexes,
)
from admiral.library.source_records import Source
from admiral.records import Document
from admiral.storage.atomic_directories import staging

DUPLICATES = ("skip", "error")


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """Report of the build of a library."""

    path: Path
    sources: int
    passages: int
    empty: int
    duplicates: int  # number of sources left out because an earlier one has the same canonical URL
    bytes: int
    seconds: float


def build_library(
    path: str | Path,
    sources: Iterable[Source],
    *,
    words: int = 100,
    stride: int = 50,
    bm25: str = "bm25s",
    k1: float = 0.9,
    b: float = 0.4,
    encoder: SentenceEncoder | None = None,
    on_duplicate: str = "skip",
    overwrite: bool = False,
    progress: bool = False,
) -> LibraryReport:
    """Build a library; it appears only once it is complete.

    `words`, `stride`: number of words in a passage, and from one passage to the next; see
    `admiral.library.passage_windows`. `encoder`: encoder whose vectors of all passages are stored;
    None stores none. `on_duplicate`: whether a source whose canonical URL has occurred before is
    left out (``skip``) or an error. Raises AdmiralError if there is no source, one has no URL of
    the web, or the directory cannot be written. An existing library is then unchanged.
    """
    began = time.monotonic()
    check_window(words, stride)
    check_backend(bm25)
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    settings = LibrarySettings(words, stride, bm25, k1, b)
    target = checked_library_path(path)
    with staging(target, overwrite=overwrite, owned=is_library) as folder:
        incoming = DistinctSources(sources, on_duplicate)
        with SegmentWriter(folder, settings) as writer:
            for source in track_documents(incoming, "reading", enabled=progress):
                writer.append(source)
        if not writer.sources:
            raise AdmiralError(f"{target}: no source given. Check the files and their format")
        write_source_indexes(folder, settings, progress)
        if encoder is not None:
            embed_new_sources(folder, encoder, progress)
        counts = {"documents": writer.sources, "passages": writer.passages}
        manifest = write_manifest(folder, counts, asdict(settings), LIBRARY)
        if is_library(target):
            copy_permissions(folder, target)
    return LibraryReport(
        path=target,
        sources=writer.sources,
        passages=writer.passages,
        empty=incoming.empty,
        duplicates=incoming.duplicates,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=time.monotonic() - began,
    )


class DistinctSources:
    """Iterate over cleaned sources with different canonical URLs.

    `on_duplicate`: whether a source whose canonical URL has occurred before is left out (``skip``)
    or an error. `duplicates`, `empty`: numbers of sources so far that were left out, and that have
    no text.
    """

    def __init__(self, sources: Iterable[Source], on_duplicate: str) -> None:
        self._sources, self._policy = sources, on_duplicate
        self._seen: set[str] = set()
        self.duplicates = self.empty = 0

    def __iter__(self) -> Iterator[Source]:
        for number, given in enumerate(self._sources, start=1):
            source = clean_source(given)
            if not names_source(source.url):
                raise AdmiralError(
                    f"source {number}: its URL {source.url!r} is not one of the web. "
                    "Correct it, or leave the source out"
                )
            url = canonical(source.url)
            if url in self._seen:
                if self._policy == "error":
                    raise AdmiralError(
                        f"source {number}: an earlier source has the same canonical URL, {url}. "
                        "Leave one of them out, or use --on-duplicate skip"
                    )
                self.duplicates += 1
                continue
            self._seen.add(url)
            self.empty += not source.text
            yield source


@dataclass(frozen=True, slots=True)
class LibraryChange:
    """Report of a change."""

    path: Path
    sources: int
    passages: int
    # added, replaced, removed: numbers of sources with a new URL, with a known URL, and removed
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0
    missing: int = 0
    embedded: int = 0
    pending: int = 0  # number of sources added and removed since the last build or compaction
    seconds: float = 0.0


@contextmanager
def changing_library(path: str | Path, wait: bool) -> Iterator[tuple[Transaction, LibraryContents]]:
    """Give this process exclusive write access to a library."""
    with (
        transaction(checked_library_path(path), wait, LIBRARY) as change,
        closing(LibraryContents(change.snapshot)) as contents,
    ):
        yield change, contents


def report_change(
    path: str | Path, change: Transaction, began: float, **counts: int
) -> LibraryChange:
    """Return the report of a change that began at a monotonic time, with some counts."""
    manifest, delta = change.manifest, change.manifest.delta
    return LibraryChange(
        Path(path),
        manifest.documents,
        manifest.counts["passages"],
        pending=delta.documents + delta.removed if delta else 0,
        seconds=time.monotonic() - began,
        **counts,
    )


def embed_passages(
    path: str | Path, encoder: SentenceEncoder, *, wait: bool = False, progress: bool = False
) -> LibraryChange:
    """Store the vectors of all passages, and keep those that this encoder made before.

    Raises AdmiralError if the library cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    folders: dict[str, Path] = {}
    embedded = 0
    with changing_library(path, wait) as (change, contents):
        for number, segment in enumerate(contents.contents.segments):
            stored, table = contents.contents.embeddings[number], contents.tables[number]
            known = stored is not None and stored.encoder == encoder.identity
            if known and stored is not None and len(stored) == table.passages:
                continue
            embedded += table.passages - (len(stored) if known and stored is not None else 0)
            documents = _with_vectors(contents, number, encoder.identity)
            folder, _ = embed_segment(segment.folder, encoder, documents, len(table), progress)
            folders[segment.folder.relative_to(change.snapshot.path).as_posix()] = folder
        if folders:
            change.publish_embeddings(folders)
    return report_change(path, change, began, embedded=embedded)


def _with_vectors(
    contents: LibraryContents, number: int, encoder: EncoderIdentity
) -> Iterator[tuple[Document, QuantisedSentences]]:
    """Yield the passages of each source of a segment with their stored vectors, if any."""
    table, live = contents.tables[number], contents.contents
    for row, document in enumerate(live.stores[number]):
        whole = live.segments[number].first + row
        stored = live.embedded(whole, encoder) if whole in live else no_vectors(encoder.width)
        yield passages_as_document(table, row, document.sentences[0]), stored


KNOWN = ("replace", "skip", "error")


def add_sources(
    path: str | Path,
    sources: Iterable[Source],
    *,
    on_duplicate: str = "replace",
    wait: bool = False,
    progress: bool = False,
) -> LibraryChange:
    """Add sources to a library.

    New passages have no vectors until `embed_passages` is called. `sources`: read once. Of several
    with one canonical URL, the first counts. `on_duplicate`: what becomes of a source whose
    canonical URL is in the library already: it replaces the old one (``replace``), is left out
    (``skip``), or is an error (``error``). Raises AdmiralError if a source or the library cannot be
    used; the library is then unchanged.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, KNOWN)
    incoming = DistinctSources(sources, "skip")
    skipped, replaced = 0, set[int]()
    with changing_library(path, wait) as (change, contents):

        def new() -> Iterator[Source]:
            nonlocal skipped
            for source in track_documents(incoming, "reading", enabled=progress):
                row = contents.row(canonical(source.url))
                if row is not None and on_duplicate == "error":
                    raise AdmiralError(
                        f"{path}: has a source with the canonical URL {canonical(source.url)} "
                        "already. Leave it out, or use --on-duplicate replace or skip"
                    )
                if row is not None and on_duplicate == "skip":
                    skipped += 1
                    continue
                if row is not None:
                    replaced.add(row)
                yield source

        added = _write_delta(change, contents, new(), replaced, progress)
    return report_change(
        path,
        change,
        began,
        added=added - len(replaced),
        replaced=len(replaced),
        skipped=skipped + incoming.duplicates,
    )


def remove_sources(
    path: str | Path,
    urls: Iterable[str],
    *,
    ignore_missing: bool = False,
    wait: bool = False,
    progress: bool = False,
) -> LibraryChange:
    """Remove sources from a library.

    `ignore_missing`: whether to count URLs that the library does not have instead of raising an
    error. Raises AdmiralError if a URL is missing, no source would be left, or the library cannot
    be changed; it is then unchanged.
    """
    began = time.monotonic()
    names = list(dict.fromkeys(map(canonical, [urls] if isinstance(urls, str) else urls)))
    if not names:
        raise AdmiralError("no URL given. Name at least one source to remove")
    with changing_library(path, wait) as (change, contents):
        rows = {name: contents.row(name) for name in names}
        missing = [name for name, row in rows.items() if row is None]
        if missing and not ignore_missing:
            raise AdmiralError(
                f"{path}: has no source with the canonical URL {missing[0]!r}. Correct it, or use "
                "--ignore-missing"
            )
        removed = {row for row in rows.values() if row is not None}
        if len(removed) == change.manifest.documents:
            raise AdmiralError(
                f"{path}: no source would be left. Delete the folder, or build another library "
                "with --overwrite"
            )
        if removed:
            _write_delta(change, contents, iter(()), removed, progress)
    return report_change(path, change, began, removed=len(removed), missing=len(missing))


def compact_library(
    path: str | Path, *, wait: bool = False, progress: bool = False
) -> LibraryChange:
    """Merge all changes into a new base segment; without changes, do nothing.

    With `wait`, it waits for another writer instead of raising an error. Raises AdmiralError if the
    library cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with changing_library(path, wait) as (change, contents):
        manifest = change.manifest
        if manifest.delta is not None:
            rows = contents.contents.live_rows().tolist()
            writer = _write_segment(change, contents, rows, iter(()), progress)
            keep_embeddings(change.folder, contents.contents, rows)
            change.publish_base(writer.sources)
    return report_change(path, change, began)


def _write_delta(
    change: Transaction,
    contents: LibraryContents,
    new: Iterator[Source],
    removed: set[int],
    progress: bool,
) -> int:
    """Publish a version with new sources and without some rows; return the number of new ones.

    `removed` may grow while `new` is read.
    """
    manifest, base = change.manifest, change.manifest.base
    # New sources decide which old ones are kept, so they are read, into memory, before these.
    incoming = list(new)
    if not incoming and not removed:
        return 0
    kept = [
        row
        for row in contents.contents.live_rows().tolist()
        if row >= base.documents and row not in removed
    ]
    counts = {
        "documents": manifest.counts["documents"] - len(removed) + len(incoming),
        "passages": manifest.counts["passages"]
        - sum(len(contents.passage_numbers(row)) for row in removed),
    }
    if kept or incoming:
        before = sum(len(contents.passage_numbers(row)) for row in kept)
        writer = _write_segment(change, contents, kept, iter(incoming), progress)
        keep_embeddings(change.folder, contents.contents, kept, added=len(incoming))
        counts["passages"] += writer.passages - before
    documents = len(kept) + len(incoming)
    change.publish_delta(contents.contents.removed, removed, documents, counts, manifest.settings)
    return len(incoming)


def _write_segment(
    change: Transaction,
    contents: LibraryContents,
    rows: Sequence[int],
    new: Iterator[Source],
    progress: bool,
) -> SegmentWriter:
    settings = LibrarySettings.of(change.manifest.settings)
    old = ((contents.source(row), contents.spans(row)) for row in rows)
    with SegmentWriter(change.folder, settings) as writer:
        for source, spans in chain(old, ((source, None) for source in new)):
            writer.append(source, spans)
    write_source_indexes(change.folder, settings, progress)
    return writer
