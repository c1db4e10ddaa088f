"""Add sources to a library, remove them, and compact it, while others read it.

As in a knowledge base, a change writes a new delta segment with all changes since the base segment
was written, and readers see the old version or the new one (`admiral.kb.versions`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.store.contents import REMOVED
from admiral.kb.store.manifest_records import BaseSegment, DeltaSegment
from admiral.kb.versions.embedding import keep_embeddings
from admiral.kb.versions.transaction import Transaction
from admiral.library.canonical_urls import canonical
from admiral.library.library_build import DistinctSources
from admiral.library.library_change import LibraryChange, changing_library, report_change
from admiral.library.library_contents import LibraryContents
from admiral.library.segment_writer import LibrarySettings, SegmentWriter, write_source_indexes
from admiral.library.source_records import Source

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

    New passages have no vectors until `embed_passages` is called.

    Parameters
    ----------
    path
        Directory of the library.
    sources
        Read once. Of several with one canonical URL, the first counts.
    on_duplicate
        What becomes of a source whose canonical URL is in the library already: it replaces the old
        one (``replace``), is left out (``skip``), or is an error (``error``).
    wait
        Whether to wait for another writer instead of raising an error.
    progress
        Whether to report progress on standard error.

    Raises
    ------
    AdmiralError
        If a source or the library cannot be used; the library is then unchanged.
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

    Parameters
    ----------
    path
        Directory of the library.
    urls
        URLs of the sources, in any form.
    ignore_missing
        Whether to count URLs that the library does not have instead of raising an error.
    wait
        Whether to wait for another writer instead of raising an error.
    progress
        Whether to report progress on standard error.

    Raises
    ------
    AdmiralError
        If a URL is missing, no source would be left, or the library cannot be changed; it is then
        unchanged.
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

    Parameters
    ----------
    path
        Directory of the library.
    wait
        Whether to wait for another writer instead of raising an error.
    progress
        Whether to report progress on standard error.

    Raises
    ------
    AdmiralError
        If the library cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with changing_library(path, wait) as (change, contents):
        manifest = change.manifest
        if manifest.delta is not None:
            rows = contents.contents.live_rows().tolist()
            writer = _write_segment(change, contents, rows, iter(()), progress)
            keep_embeddings(change.folder, contents.contents, rows)
            base = BaseSegment(change.segment, writer.sources, secrets.token_hex(32))
            change.publish(manifest.counts, manifest.settings, base, None)
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
    gone = np.array([row for row in removed if row < base.documents], np.int64)
    rows = np.union1d(contents.contents.removed, gone)
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
    if rows.size:
        np.save(change.folder / REMOVED, rows, allow_pickle=False)
    delta = DeltaSegment(change.segment, len(kept) + len(incoming), len(rows))
    is_empty = not delta.documents and not delta.removed
    change.publish(counts, manifest.settings, base, None if is_empty else delta)
    return len(incoming)


def _write_segment(
    change: Transaction,
    contents: LibraryContents,
    rows: Sequence[int],
    new: Iterator[Source],
    progress: bool,
) -> SegmentWriter:
    """Write the segment of a change: old sources, then new ones."""
    settings = LibrarySettings.of(change.manifest.settings)
    old = ((contents.source(row), contents.spans(row)) for row in rows)
    with SegmentWriter(change.folder, settings) as writer:
        for source, spans in chain(old, ((source, None) for source in new)):
            writer.append(source, spans)
    write_source_indexes(change.folder, settings, progress)
    return writer
