"""Write the delta segment of a change: documents to add, and rows to remove from the base.

The delta holds all changes since the base segment was written. Each change writes a new delta, with
the earlier additions that remain, and leaves the base as it is.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.matching_form import MATCHING_FORM
from admiral.kb.bm25.parameters import common_text_form
from admiral.kb.corpus.corpora import Corpora, RecordPositions
from admiral.kb.corpus.duplicates import TitleSet
from admiral.kb.corpus.file_reports import DUPLICATES, GIVEN_TWICE, FileReports
from admiral.kb.corpus.files.document_titles import distinct_titles
from admiral.kb.corpus.readers import Record
from admiral.kb.store.contents import BM25, DOCUMENTS, Contents
from admiral.kb.store.document_store import DocumentStore, DocumentWriter, document_counts
from admiral.kb.store.index_building import NO_BM25, write_indexes
from admiral.kb.stored_embeddings import keep_embeddings
from admiral.kb.transaction import Transaction
from admiral.records import Document

POLICIES = ("error", "replace", "skip")
_REMEDY = "choose --on-duplicate replace or skip"


class Additions:
    """Documents to add, stored in a temporary directory until all duplicates are known.

    `on_duplicate`: policy for a title that is already in the knowledge base or occurs earlier in
    the corpora: ``error``, ``replace`` to keep the last document, or ``skip`` to keep the first.
    Documents of files are duplicates if the file is in the knowledge base already. Otherwise they
    are told apart by their paths. Likewise, documents with ids are duplicates if their ids are, and
    are otherwise told apart by them. `replaced`: rows of the knowledge base whose documents are
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

    def read(self, corpora: Corpora, progress: bool) -> None:
        """Read all corpora.

        Raises AdmiralError if they hold no document, or a title is duplicate and the policy is
        ``error``.
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
        if not self._written and not self.skipped:
            raise AdmiralError(f"{corpora}: no documents in it. Check the corpus and --format.")

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
            taken = self._contents.row(title) is not None or title in self._seen
            self._titles_of_ids[document.id] = f"{title} ({document.id})" if taken else title
        same = replace(document, title=self._titles_of_ids[document.id])
        return replace(record, document=same)

    def _accept(self, record: Record, number: int) -> bool:
        """Return whether to write a record, as the given number of the additions."""
        title = record.document.title
        row = self._contents.row(title)
        if row is not None and self._policy == "error":
            raise RecordError(
                record.where,
                "title",
                f"a document with the title {title!r} is in the knowledge base already",
                f"Correct the title, or {_REMEDY}.",
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
        form = MATCHING_FORM
        if manifest.bm25 != NO_BM25:
            form = common_text_form([transaction.snapshot.base / BM25])
        write_indexes(folder, manifest.bm25, progress, passages=manifest.passages, text_form=form)
        keep_embeddings(folder, contents, kept, added=writer.documents - len(kept))
    else:
        shutil.rmtree(folder / DOCUMENTS)
    transaction.publish_delta(
        contents.removed, removed_rows, writer.documents, dict(counts), settings
    )
