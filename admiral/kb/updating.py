"""Add documents to a knowledge base, remove them, and compact it, while other processes read it.

A knowledge base has a base segment, documents that were indexed together, and at most one delta
segment: documents added since, with their own indexes, and the rows of the base that were removed.
A change writes a new delta and never touches the base. Its cost is therefore that of all changes
since the last build or compaction, and a search reads at most two indexes. Replacing a document
removes it and adds another. Rows of the base stay the same; rows of the delta, which follow, may
shift. `compact` writes a new base of the remaining documents.

See `admiral.kb.store.snapshot` and `admiral.kb.transaction` for concurrent access.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_title
from admiral.kb.bm25 import check_backend
from admiral.kb.corpus.corpora import Corpora, Incoming, RecordPositions, check_choice
from admiral.kb.corpus.duplicates import TitleSet
from admiral.kb.corpus.file_reports import DUPLICATES, GIVEN_TWICE, FileReports, check_report_path
from admiral.kb.corpus.files.document_titles import distinct_titles
from admiral.kb.corpus.readers import Record
from admiral.kb.store import checked_kb_path
from admiral.kb.store.contents import DOCUMENTS, Contents
from admiral.kb.store.document_store import DocumentStore, DocumentWriter, document_counts
from admiral.kb.store.index_building import (
    NO_BM25,
    Indexing,
    update_index,
    write_indexes,
    write_title_indexes,
)
from admiral.kb.stored_embeddings import keep_embeddings
from admiral.kb.transaction import Transaction, changing
from admiral.records import Document


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report of a change."""

    path: Path
    documents: int
    # added, replaced, removed: numbers of documents added with a new title, replaced, and removed
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0  # number of records left out because their title was a duplicate
    bad: int = 0  # number of bad records left out by `skip_bad`
    missing: int = 0  # number of titles to remove that the knowledge base does not have
    # number of documents added and removed since the last build or compaction, which `compact`
    # would merge
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

    `on_duplicate`: policy for a title that is already in the knowledge base or occurs earlier in
    the corpora: ``error``, ``replace`` to keep the last document, or ``skip`` to keep the first.
    Raises AdmiralError if the corpora or the knowledge base cannot be used; the knowledge base is
    then unchanged.
    """
    check_choice("on_duplicate", on_duplicate, POLICIES)
    report = Path(report) if report is not None else None
    incoming = Corpora(
        corpora, format, skip_bad, limits=limits, strict=strict, reported=bool(report)
    )
    if report is not None:
        check_report_path(report, Path(kb_path), incoming.paths)
    done = add_records(incoming, kb_path, on_duplicate=on_duplicate, wait=wait, progress=progress)
    if not done.added + done.replaced + done.skipped:
        raise AdmiralError(f"{incoming}: no documents in it. Check the corpus and --format.")
    if report is not None:
        incoming.reports.write(report)
    return done


def add_records(
    incoming: Incoming,
    kb_path: str | Path,
    *,
    on_duplicate: str,
    wait: bool,
    progress: bool,
) -> UpdateReport:
    """Add records to a knowledge base; AdmiralError as of `add`."""
    began = time.monotonic()
    with changing(checked_kb_path(kb_path), wait) as (change, contents):
        _check_bm25(change)
        additions = Additions(change.folder / "incoming", contents, on_duplicate)
        additions.read(incoming, progress)
        if len(additions):
            settings = dict(change.manifest.settings)
            known = settings["sources"]
            settings["sources"] = known + [s for s in incoming.describe() if s not in known]
            write_delta(change, contents, additions.replaced, additions, settings, progress)
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

    `titles`: titles of the documents, or one title. Repeated titles count once. `ignore_missing`:
    whether to count titles that the knowledge base does not have instead of raising an error.
    Raises AdmiralError if a title is missing, no document would be left, or the knowledge base
    cannot be changed; it is then unchanged.
    """
    given = [titles] if isinstance(titles, str) else titles
    distinct = list(dict.fromkeys(map(clean_title, given)))
    if not distinct:
        raise AdmiralError("no title given. Name at least one document to remove.")

    def unknown(missing: list[str]) -> AdmiralError:
        more = f", nor {len(missing) - 1:,} more of those named" if len(missing) > 1 else ""
        return AdmiralError(
            f"{kb_path}: no document has the title {missing[0]!r}{more}. Titles are matched "
            "exactly; `admiral titles` completes them, and --ignore-missing skips them."
        )

    return remove_documents(
        distinct,
        kb_path,
        Contents.row,
        None if ignore_missing else unknown,
        wait=wait,
        progress=progress,
    )


def remove_documents(
    names: Sequence[str],
    kb_path: str | Path,
    find: Callable[[Contents, str], int | None],
    unknown: Callable[[list[str]], AdmiralError] | None,
    *,
    wait: bool,
    progress: bool,
) -> UpdateReport:
    """Remove the documents that `find` returns for distinct names.

    `unknown`: the error for names that it does not know; None to count them. Raises AdmiralError as
    `remove` does.
    """
    began = time.monotonic()
    with changing(checked_kb_path(kb_path), wait) as (change, contents):
        _check_bm25(change)
        rows = {name: find(contents, name) for name in names}
        missing = [name for name, row in rows.items() if row is None]
        if missing and unknown is not None:
            raise unknown(missing)
        removed = {row for row in rows.values() if row is not None}
        if removed:
            write_delta(change, contents, removed, None, change.manifest.settings, progress)
    return _report(Path(kb_path), change, began, removed=len(removed), missing=len(missing))


def compact(kb_path: str | Path, *, wait: bool = False, progress: bool = True) -> UpdateReport:
    """Merge all changes into a new base segment, with new row numbers.

    It takes the time and the disk space of a build. Without changes it does nothing. With `wait`,
    it waits for another writer instead of raising an error. Raises AdmiralError if the knowledge
    base cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with changing(checked_kb_path(kb_path), wait) as (change, contents):
        manifest = change.manifest
        if manifest.delta is not None:
            _check_bm25(change)
            with DocumentWriter(change.folder / DOCUMENTS) as writer:
                documents = contents.documents()
                for document in track_documents(
                    documents, "copying", total=manifest.documents, enabled=progress
                ):
                    writer.append(document)
            write_indexes(change.folder, Indexing.of(manifest.settings), progress)
            keep_embeddings(change.folder, contents, contents.live_rows().tolist())
            change.publish_base(writer.documents)
    return _report(Path(kb_path), change, began)


def _check_bm25(change: Transaction) -> None:
    """Raise `AdmiralError` if the BM25 index cannot be updated, before any corpus is read."""
    if (backend := change.manifest.bm25) != NO_BM25:
        check_backend(backend)


def _report(path: Path, change: Transaction, began: float, **counts: int) -> UpdateReport:
    manifest, delta = change.manifest, change.manifest.delta
    pending = delta.documents + delta.removed if delta else 0
    seconds = time.monotonic() - began
    return UpdateReport(path, manifest.documents, pending=pending, seconds=seconds, **counts)


POLICIES = ("error", "replace", "skip")
_REMEDY = "choose --on-duplicate replace or skip"


class Additions:
    """Documents to add, stored in a temporary directory until all duplicates are known.

    `on_duplicate`: policy for a title that is already in the knowledge base or occurs earlier in
    the corpora: ``error``, ``replace`` to keep the last document, or ``skip`` to keep the first.
    Documents of files are duplicates if the file is in the knowledge base already. Otherwise they
    are told apart by their paths. Likewise, documents with equal ids are duplicates, and those with
    other ids are told apart by them. `replaced`: rows of the knowledge base whose documents are
    replaced. `skipped`: number of records left out because another document with the same title is
    kept.
    """

    def __init__(self, directory: Path, contents: Contents, on_duplicate: str) -> None:
        self.replaced: set[int] = set()
        self.skipped = 0
        self._directory, self._contents, self._policy = directory, contents, on_duplicate
        self._known_files = contents.titles_of_sources()
        self._titles_of_ids = contents.titles_of_ids()
        self._new_files: dict[str, tuple[int, str]] = {}  # source -> number and title
        self._seen, self._positions = TitleSet(), RecordPositions()
        self._reports = FileReports(kept=False)
        # For repeated titles: number of the first addition -> number of the latest.
        self._latest: dict[int, int] = {}
        self._superseded: list[int] = []
        self._written = 0

    def read(self, corpora: Incoming, progress: bool) -> None:
        """Read all corpora.

        Raises AdmiralError if a title is duplicate and the policy is ``error``.
        """
        self._reports = corpora.reports
        with DocumentWriter(self._directory) as writer:
            for record in corpora.records(progress):
                source, number = record.document.source, writer.documents
                if record.document.id:
                    record = self._with_title_of_id(record)
                if source in self._known_files and self._is_retitled(record):
                    if source not in self._new_files:
                        self._replace(self._known_files[source])
                elif source in self._known_files:
                    same = replace(record.document, title=self._known_files[source])
                    record = replace(record, document=same)
                if source and (source not in self._known_files or self._is_retitled(record)):
                    if source in self._new_files:  # the corpora name it twice
                        self.skipped += 1
                        self._reports.left_out(record, GIVEN_TWICE)
                        continue
                    self._new_files[source] = number, record.document.title
                elif not self._accept(record, number):
                    self._reports.left_out(record, DUPLICATES)
                    continue
                self._positions.append(record)
                self._reports.stored(record, record.document)
                writer.append(record.document)
            self._written = writer.documents

    def _is_retitled(self, record: Record) -> bool:
        """Return whether a file that is replaced has a title from which its old one is not made."""
        document = record.document
        old, new = self._known_files[document.source], document.title
        return self._policy == "replace" and not (
            old in (new, document.source)
            or old.startswith(f"{new} (")
            or old.rpartition("/")[2] == new
        )

    def _replace(self, title: str) -> None:
        """Note that the document with a title is replaced, if the knowledge base has it."""
        row = self._contents.row(title)
        if row is not None:
            self.replaced.add(row)

    def _with_title_of_id(self, record: Record) -> Record:
        """Return a record with the title of the earlier document with its id, or else a new one.

        A document that is replaced gets the title that it has now.
        """
        document = record.document
        title = document.title
        old = self._titles_of_ids.get(document.id)
        row = self._contents.row(old) if old is not None else None
        if (
            self._policy == "replace"
            and row is not None
            and row not in self.replaced
            and old not in (title, f"{title} ({document.id})")
        ):
            self.replaced.add(row)
            del self._titles_of_ids[document.id]
        if document.id not in self._titles_of_ids:
            while self._contents.row(title) is not None or title in self._seen:
                title = f"{title} ({document.id})"
            self._titles_of_ids[document.id] = title
        same = replace(document, title=self._titles_of_ids[document.id])
        return replace(record, document=same)

    def _accept(self, record: Record, number: int) -> bool:
        """Return whether to write a record, as the given number of the additions."""
        title = record.document.title
        row = self._contents.row(title)
        if row is not None and self._policy == "error":
            field, value = ("id", id) if (id := record.document.id) else ("title", title)
            raise RecordError(
                record.where,
                field,
                f"a document with the {field} {value!r} is in the knowledge base already",
                f"Correct the {field}, or {_REMEDY}.",
            )
        if row is not None and self._policy == "skip":
            self.skipped += 1
            return False
        first = self._seen.find_or_add(title, number)
        if first is not None:
            if self._policy == "error":
                raise self._positions.duplicate_error(record, first, _REMEDY)
            self.skipped += 1
            if self._policy == "skip":
                return False
            self._superseded.append(self._latest.get(first, first))
            self._latest[first] = number
        if row is not None:
            self.replaced.add(row)
        return True

    def __len__(self) -> int:
        return self._written - len(self._superseded)

    def documents(self) -> Iterator[Document]:
        """Yield the documents to add in corpus order, then delete the temporary directory."""
        is_kept = bytearray(b"\x01") * self._written
        for number in self._superseded:
            is_kept[number] = 0
        store = DocumentStore(self._directory)
        try:
            titles = self._new_titles()
            for number, document in enumerate(store):
                if is_kept[number]:
                    yield replace(document, title=titles.get(number, document.title))
                else:
                    self._reports.superseded(self._positions.path(number), document)
        finally:
            store.close()
            shutil.rmtree(self._directory)

    def _new_titles(self) -> dict[int, str]:
        documents = [(title, source) for source, (_, title) in self._new_files.items()]
        numbers = (number for number, _ in self._new_files.values())
        titles = distinct_titles(documents, self._other_source)
        self._reports.retitled(dict(zip(self._new_files, titles, strict=True)))
        return dict(zip(numbers, titles, strict=True))

    def _other_source(self, title: str) -> str | None:
        row = self._contents.row(title)
        if row is not None and row not in self.replaced:
            return self._contents.document(row).source
        return "" if title in self._seen else None


def write_delta(
    transaction: Transaction,
    contents: Contents,
    removed_rows: set[int],
    additions: Additions | None,
    settings: dict[str, Any],
    progress: bool,
) -> None:
    """Publish a version without some rows and with additions.

    Raises AdmiralError if no document would be left.
    """
    manifest, folder = transaction.manifest, transaction.folder
    base = manifest.base
    counts = Counter(manifest.counts)
    for row in sorted(removed_rows):
        counts.subtract(document_counts(contents.document(row)))
    kept: list[int] = []
    with DocumentWriter(folder / DOCUMENTS) as writer:
        for store in contents.stores[1:]:
            for row, document in enumerate(store, start=base.documents):
                if row not in removed_rows:
                    writer.append(document)
                    kept.append(row)
        for document in additions.documents() if additions else ():
            writer.append(document)
            counts.update(document_counts(document))
    if not counts["documents"]:
        raise AdmiralError(
            f"{transaction.snapshot.path}: no document would be left. Delete the folder, or build "
            "the knowledge base of another corpus with `admiral index --overwrite`."
        )
    if writer.documents:
        write_title_indexes(folder)
        keep_embeddings(folder, contents, kept, added=writer.documents - len(kept))
    else:
        shutil.rmtree(folder / DOCUMENTS)
    if manifest.bm25 != NO_BM25:
        removed = {*contents.removed.tolist(), *removed_rows}
        indexing = Indexing.of(manifest.settings)
        update_index(transaction.snapshot.base, folder, indexing, removed, base.documents)
    transaction.publish_delta(
        contents.removed, removed_rows, writer.documents, dict(counts), settings
    )
