"""Add documents to a knowledge base, remove them, and compact it, while other processes read it.

A knowledge base has a base segment, documents that were indexed together, and at most one delta
segment: documents added since, with their own indexes, and the rows of the base that were removed.
A change writes a new delta and never touches the base. Its cost is therefore that of all changes
since the last build or compaction, and a search reads at most two indexes. Replacing a document
removes it and adds another. Rows of the base stay the same; rows of the delta, which follow, may
shift. `compact` writes a new base of the remaining documents.

See `admiral.kb.store.collection` and `admiral.kb.versions.transaction` for concurrent access.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_title
from admiral.kb.bm25 import check_updatable
from admiral.kb.corpus.corpora import Corpora, check_choice
from admiral.kb.corpus.file_reports import check_report_path
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.contents import BM25, DOCUMENTS, Contents
from admiral.kb.store.document_store import DocumentWriter
from admiral.kb.store.index_building import NO_BM25, write_indexes
from admiral.kb.store.manifest import BaseSegment
from admiral.kb.versions.delta import POLICIES, Additions, write_delta
from admiral.kb.versions.embedding import keep_embeddings
from admiral.kb.versions.transaction import Transaction, transaction


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report of a change.

    Attributes
    ----------
    documents
        Number of documents after the change.
    added, replaced, removed
        Numbers of documents added with a new title, replaced, and removed.
    skipped
        Number of records left out because their title was a duplicate.
    bad
        Number of bad records left out by `skip_bad`.
    missing
        Number of titles to remove that the knowledge base does not have.
    pending
        Number of documents added and removed since the last build or compaction, which `compact`
        would merge.
    """

    path: Path
    documents: int
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0
    bad: int = 0
    missing: int = 0
    pending: int = 0
    seconds: float = 0.0


def add(
    corpora: Sequence[str | Path] | str | Path,
    kb_path: str | Path,
    *,
    format: str = "auto",
    on_duplicate: str = "error",
    skip_bad: bool = False,
    strict: bool = False,
    wait: bool = False,
    progress: bool = True,
    report: str | Path | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
) -> UpdateReport:
    """Add the documents of one or more corpora to a knowledge base.

    Parameters
    ----------
    corpora
        Files or folders, or URLs (see `admiral.io.remote`).
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    on_duplicate
        Policy for a title that is already in the knowledge base or occurs earlier in the corpora:
        ``error``, ``replace`` to keep the last document, or ``skip`` to keep the first.
    skip_bad
        Whether to count and report bad records instead of raising an error for the first.
    strict
        Whether to raise an error for the first damaged file of a folder of documents.
    wait
        Whether to wait for another writer instead of raising an error.
    report
        File to write, with a line of JSON on what became of each input file, as of
        `build`.
    limits
        Limits of time and size of each file of a folder of documents, as of `build`.

    Raises
    ------
    AdmiralError
        If the corpora or the knowledge base cannot be used; the knowledge base is then unchanged.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, POLICIES)
    report = Path(report) if report is not None else None
    incoming = Corpora(
        corpora, format, skip_bad, limits=limits, strict=strict, reported=bool(report)
    )
    if report is not None:
        check_report_path(report, Path(kb_path), incoming.paths)
    with (
        transaction(checked_kb_path(kb_path), wait) as change,
        closing(Contents([change.snapshot])) as contents,
    ):
        _check_bm25(change)
        additions = Additions(change.folder / "incoming", contents, on_duplicate)
        additions.read(incoming, progress)
        if len(additions):
            settings = dict(change.manifest.settings)
            known = settings["sources"]
            settings["sources"] = known + [s for s in incoming.describe() if s not in known]
            write_delta(change, contents, additions.replaced, additions, settings, progress)
    if report is not None:
        incoming.reports.write(report)
    replaced = len(additions.replaced)
    return _report(
        Path(kb_path),
        change,
        began,
        added=len(additions) - replaced,
        replaced=replaced,
        skipped=additions.skipped,
        bad=incoming.bad,
    )


def remove(
    titles: str | Iterable[str],
    kb_path: str | Path,
    *,
    ignore_missing: bool = False,
    wait: bool = False,
    progress: bool = True,
) -> UpdateReport:
    """Remove documents from a knowledge base.

    Parameters
    ----------
    titles
        Titles of the documents, or one title. Repeated titles count once.
    ignore_missing
        Whether to count titles that the knowledge base does not have instead of raising an error.
    wait
        Whether to wait for another writer instead of raising an error.

    Raises
    ------
    AdmiralError
        If a title is missing, no document would be left, or the knowledge base cannot be changed;
        it is then unchanged.
    """
    began = time.monotonic()
    given = [titles] if isinstance(titles, str) else titles
    distinct = list(dict.fromkeys(map(clean_title, given)))
    if not distinct:
        raise AdmiralError("no title given. Name at least one document to remove.")
    with (
        transaction(checked_kb_path(kb_path), wait) as change,
        closing(Contents([change.snapshot])) as contents,
    ):
        _check_bm25(change)
        rows = {title: contents.row(title) for title in distinct}
        missing = [title for title, row in rows.items() if row is None]
        if missing and not ignore_missing:
            more = f", nor {len(missing) - 1:,} more of those named" if len(missing) > 1 else ""
            raise AdmiralError(
                f"{kb_path}: no document has the title {missing[0]!r}{more}. Titles are matched "
                "exactly; `admiral titles` completes them, and --ignore-missing skips them."
            )
        removed = {row for row in rows.values() if row is not None}
        if removed:
            write_delta(change, contents, removed, None, change.manifest.settings, progress)
    return _report(Path(kb_path), change, began, removed=len(removed), missing=len(missing))


def compact(kb_path: str | Path, *, wait: bool = False, progress: bool = True) -> UpdateReport:
    """Merge all changes into a new base segment, with new row numbers.

    It takes the time and the disk space of a build. Without changes it does nothing. With `wait`,
    it waits for another writer instead of raising an error.

    Raises
    ------
    AdmiralError
        If the knowledge base cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with (
        transaction(checked_kb_path(kb_path), wait) as change,
        closing(Contents([change.snapshot])) as contents,
    ):
        manifest = change.manifest
        if manifest.delta is not None:
            _check_bm25(change)
            with DocumentWriter(change.folder / DOCUMENTS) as writer:
                documents = contents.documents()
                for document in track_documents(
                    documents, "copying", total=manifest.documents, enabled=progress
                ):
                    writer.append(document)
            write_indexes(change.folder, manifest.bm25, progress, passages=manifest.passages)
            keep_embeddings(change.folder, contents, contents.live_rows().tolist())
            base = BaseSegment(change.segment, writer.documents, secrets.token_hex(32))
            change.publish(manifest.counts, manifest.settings, base, None)
    return _report(Path(kb_path), change, began)


def _check_bm25(change: Transaction) -> None:
    """Raise `AdmiralError` if the BM25 index cannot be updated, before any corpus is read."""
    if (backend := change.manifest.bm25) != NO_BM25:
        check_updatable(backend, change.snapshot.base / BM25)


def _report(path: Path, change: Transaction, began: float, **counts: int) -> UpdateReport:
    manifest, delta = change.manifest, change.manifest.delta
    pending = delta.documents + delta.removed if delta else 0
    seconds = time.monotonic() - began
    return UpdateReport(path, manifest.documents, pending=pending, seconds=seconds, **counts)
