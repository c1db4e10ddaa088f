"""Write the documents of corpora, resolving duplicate titles by one of five policies."""

from __future__ import annotations

import json
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import LONGEST_RECORD
from admiral.kb.corpus.corpora import Incoming, RecordPositions
from admiral.kb.corpus.file_reports import DUPLICATES, GIVEN_TWICE, FileReports
from admiral.kb.corpus.files.document_titles import distinct_titles
from admiral.kb.corpus.readers import Record
from admiral.kb.store.document_store import DocumentStore, DocumentWriter, document_size
from admiral.records import Document


class TitleSet:
    """The titles seen so far, each with its row (at most 2**32 - 1), in little memory.

    A hash table of 64-bit fingerprints with open addressing, twelve bytes per slot, is at most two
    thirds full: 5.2 million titles take 100 MB, where a Python dict of strings takes 1 GB. The
    fingerprints of two out of 5.2 million distinct titles collide once in 1.4 million corpora.
    Titles that differ only in the Unicode form of their letters are the same.
    """

    def __init__(self) -> None:
        self._size = 0
        self._allocate(1 << 10)

    def _allocate(self, slots: int) -> None:
        self._mask = slots - 1
        # Fingerprint 0 marks a free slot.
        self._fingerprints = array("Q", bytes(8 * slots))
        self._rows = array("I", bytes(4 * slots))

    def __len__(self) -> int:
        return self._size

    def __contains__(self, title: str) -> bool:
        return bool(self._fingerprints[self._slot(_fingerprint(title))])

    def find_or_add(self, title: str, row: int) -> int | None:
        """Return the row of `title` if it has been seen; otherwise add it with `row`."""
        fingerprint = _fingerprint(title)
        slot = self._slot(fingerprint)
        if self._fingerprints[slot]:
            return self._rows[slot]
        self._fingerprints[slot], self._rows[slot] = fingerprint, row
        self._size += 1
        if 3 * self._size > 2 * self._mask:
            self._grow()
        return None

    def _slot(self, fingerprint: int) -> int:
        fingerprints, mask = self._fingerprints, self._mask
        slot = fingerprint & mask
        while (stored := fingerprints[slot]) and stored != fingerprint:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        fingerprints, rows = self._fingerprints, self._rows
        self._allocate(2 * len(fingerprints))
        for fingerprint, row in zip(fingerprints, rows, strict=True):
            if fingerprint:
                slot = self._slot(fingerprint)
                self._fingerprints[slot], self._rows[slot] = fingerprint, row


def _fingerprint(title: str) -> int:
    if not title.isascii():
        title = unicodedata.normalize("NFC", title)
    digest = blake2b(title.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


T = TypeVar("T")

POLICIES = ("auto", "error", "merge", "skip", "rename")
# Files with the same title are distinguished by their paths, and records by their ids; under auto,
# a second record with the same title and no id is an error.
_BY_PATH = ("auto", "rename")


class UniqueTitleWriter:
    """Write corpora into ``documents/`` of a directory, so that every title occurs once.

    `on_duplicate` is one of `POLICIES`. `duplicates`: number of records whose title had occurred
    before, and of files that others share a title with.
    """

    def __init__(self, directory: Path, on_duplicate: str) -> None:
        self.duplicates = 0
        self._directory, self._policy = directory, on_duplicate
        self._seen, self._ids = TitleSet(), TitleSet()
        self._reports = FileReports(kept=False)
        self._last_numbers: dict[str, int] = {}
        self._positions = RecordPositions()
        self._files: dict[str, tuple[int, str]] = {}  # source -> row and title, to tell apart

    def write(self, corpora: Incoming, progress: bool) -> DocumentWriter:
        """Write all documents and return the finished writer, which has the counts.

        Raises AdmiralError if the corpora hold no document, or a title is duplicate and the policy
        is ``error``, or two documents have the same id.
        """
        documents = self._directory / "documents"
        self._reports = corpora.reports
        with _DeferredMerges(self._directory / "extras.jsonl") as merges:
            with DocumentWriter(documents) as writer:
                for record in corpora.records(progress):
                    self._add(record, writer, merges)
            if not writer.documents:
                raise AdmiralError(f"{corpora}: no documents in it. Check the corpus and --format.")
            if len(merges):
                writer = _rewrite(documents, merges.merged)
            if titles := self._new_titles():
                self.duplicates += len(titles)
                writer = _rewrite(documents, lambda store: _renamed(store, titles))
                self._reports.retitled(
                    {
                        source: titles[row]
                        for source, (row, _) in self._files.items()
                        if row in titles
                    }
                )
        return writer

    def _new_titles(self) -> dict[int, str]:
        """Return the titles of the files that another document shares its title with, by row."""
        documents = [(title, source) for source, (_, title) in self._files.items()]
        titles = distinct_titles(documents, lambda title: "" if title in self._seen else None)
        return {
            row: new
            for (row, old), new in zip(self._files.values(), titles, strict=True)
            if new != old
        }

    def _add(self, record: Record, writer: DocumentWriter, merges: _DeferredMerges) -> None:
        document, row = record.document, writer.documents
        if document.source and self._policy in _BY_PATH:
            if document.source in self._files:  # the corpora name it twice
                self.duplicates += 1
                self._reports.left_out(record, GIVEN_TWICE)
                return
            self._files[document.source] = row, document.title
            self._store(record, document, writer)
            return
        first = self._seen.find_or_add(document.title, row)
        if first is not None and document.id and self._policy in _BY_PATH:
            self.duplicates += 1
            document = replace(document, title=f"{document.title} ({document.id})")
            first = self._seen.find_or_add(document.title, row)
        if first is not None:
            if self._policy in ("auto", "error"):
                remedy = "choose --on-duplicate merge, skip or rename"
                raise self._positions.duplicate_error(record, first, remedy)
            self.duplicates += 1
            if self._policy == "merge":
                merges.add(first, document)
                self._reports.stored(record, document)
            if self._policy == "skip":
                self._reports.left_out(record, DUPLICATES)
            if self._policy != "rename":
                return
            document = replace(document, title=self._unused_title(document.title, row))
        if document.id and self._ids.find_or_add(document.id, row) is not None:
            problem = f"{document.id!r} is the id of an earlier document"
            remedy = "Ids are unique: correct or remove one of the two records."
            raise RecordError(record.where, "_id", problem, remedy)
        self._store(record, document, writer)

    def _store(self, record: Record, document: Document, writer: DocumentWriter) -> None:
        self._positions.append(record)
        self._reports.stored(record, document)
        writer.append(document)

    def _unused_title(self, title: str, row: int) -> str:
        # Start after the last number given to this title; else many duplicates take quadratic time.
        number = self._last_numbers.get(title, 1)
        while True:
            number += 1
            candidate = f"{title} ({number})"
            if self._seen.find_or_add(candidate, row) is None:
                self._last_numbers[title] = number
                return candidate


class _DeferredMerges:
    """Documents to merge into earlier ones, kept in a file until all corpora have been read.

    It is a context manager that deletes the file at the end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("w+b")
        self._rows, self._offsets = array("I"), array("Q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, document: Document) -> None:
        """Add a document to merge into the one in `row`."""
        self._rows.append(row)
        self._offsets.append(self._file.tell())
        fields = [document.sentences, document.links, document.sections]
        self._file.write(json.dumps(fields).encode() + b"\n")

    def merged(self, documents: DocumentStore) -> Iterator[Document]:
        """Yield all documents in order, with the sentences of their duplicates appended."""
        # A stable sort keeps the duplicates of one document in corpus order.
        order = np.argsort(np.frombuffer(self._rows, np.uint32), kind="stable").tolist()
        position = 0
        for row, document in enumerate(documents):
            same_title = [document]
            size = document_size(document)
            while position < len(order) and self._rows[order[position]] == row:
                same_title.append(self._read(order[position], document.title))
                size += document_size(same_title[-1])
                position += 1
                if size > LONGEST_RECORD:
                    raise AdmiralError(
                        f"the documents with the title {document.title!r} are longer than "
                        f"{LONGEST_RECORD >> 20} MiB together. Give them distinct titles, or use "
                        "--on-duplicate rename."
                    )
            yield document if len(same_title) == 1 else _merge_documents(same_title)

    def _read(self, number: int, title: str) -> Document:
        self._file.seek(self._offsets[number])
        sentences, links, sections = json.loads(self._file.readline())
        rows = tuple(map(tuple, links))
        return Document(title, tuple(sentences), rows, "", tuple(sections))

    def __enter__(self) -> _DeferredMerges:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink()


def _rewrite(
    documents: Path, change: Callable[[DocumentStore], Iterable[Document]]
) -> DocumentWriter:
    old = documents.rename(documents.with_name("unchanged"))
    store = DocumentStore(old)
    try:
        with DocumentWriter(documents) as writer:
            for document in change(store):
                writer.append(document)
    finally:
        store.close()
    for file in old.iterdir():
        file.unlink()
    old.rmdir()
    return writer


def _renamed(documents: Iterable[Document], titles: dict[int, str]) -> Iterator[Document]:
    for row, document in enumerate(documents):
        yield replace(document, title=titles.get(row, document.title))


def _merge_documents(documents: list[Document]) -> Document:
    """Return one document with the sentences and links of all, under the first title.

    Its source is that of the first. Sentences of the others have sections, but no offsets.
    """
    merged = replace(documents[0], sentences=_chained(d.sentences for d in documents), offsets=())
    if any(document.links for document in documents):
        links = _chained(d.links or ((),) * len(d.sentences) for d in documents)
        merged = replace(merged, links=links)
    if any(document.sections for document in documents):
        sections = _chained(d.sections or ("",) * len(d.sentences) for d in documents)
        merged = replace(merged, sections=sections)
    return merged


def _chained(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))
