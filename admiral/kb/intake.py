"""Add the records of corpora to a knowledge base, resolving duplicate titles by a policy.

The documents of files are recognised by their paths and told apart by them; those with ids by their
ids. Others are recognised by their titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NoReturn, TypeVar

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import LONGEST_RECORD, Place
from admiral.kb.change import Change
from admiral.kb.corpus.corpora import Incoming
from admiral.kb.corpus.file_reports import DUPLICATES, GIVEN_TWICE
from admiral.kb.corpus.readers import Record
from admiral.kb.corpus.readers.corpus_records import source_of
from admiral.records import Document

T = TypeVar("T")

#: Policies of `admiral index` and `admiral add` for a second document with the same title.
POLICIES = ("auto", "error", "merge", "skip", "rename")
ADDING = ("error", "replace", "skip")
#: Policies under which paths identify files.
BY_PATH = ("auto", "rename")
_REMEDY = "choose --on-duplicate merge, skip or rename"
_ADDING_REMEDY = "choose --on-duplicate replace or skip"
# What a dictionary for compression is trained on.
_SAMPLES, _SAMPLE_CHARACTERS = 1000, 4 * 2**20
# Text of documents to merge that is held in memory.
_MERGED_AT_ONCE = 64 * 2**20


class Intake:
    """Adds records to a change.

    `policy`: one of `POLICIES`, or if `adding` to what is there already, of `ADDING`. `duplicates`:
    number of records whose title had occurred before, and of files that others share a title with.
    `replaced`, `skipped`: numbers of documents that were replaced by later ones, and of records
    left out because another document with the same title is kept.
    """

    def __init__(self, change: Change, policy: str, *, adding: bool = False) -> None:
        self.duplicates = self.replaced = self.skipped = 0
        self._change, self._policy, self._adding = change, policy, adding
        self._store = change.store
        self._places: dict[str, Place] = {}
        self._last_numbers: dict[str, int] = {}
        self._merges: dict[int, list[Document]] = {}
        self._merged_size = 0

    def read(self, incoming: Incoming, progress: bool, *, all_files: bool = False) -> None:
        """Add all records.

        `all_files`: whether the titles of earlier files may change, see `Change.settle_titles`.
        Raises AdmiralError if a title is duplicate and the policy is ``error``, or two documents
        have the same id.
        """
        self._reports = incoming.reports
        records = incoming.records(progress)
        if not self._change.first:
            first = list(_first(records))
            if first:
                self._change.use_samples(record.document for record in first)
            records = chain(first, records)
        for record in records:
            self._add(record)
            if self._merged_size > _MERGED_AT_ONCE:
                self._merge_all()
        self._merge_all()
        titles = self._change.settle_titles(all_files=all_files)
        self._reports.retitled(titles)
        if not self._adding:
            self.duplicates += len(titles)

    def _add(self, record: Record) -> None:
        document = record.document
        if document.source:
            self._places.setdefault(source_of(record.path), record.path)
        elif document.file:
            self._places.setdefault(document.file, record.path)
        if document.source and (self._adding or self._policy in BY_PATH):
            self._add_file(record)
        elif self._adding:
            self._add_to_others(record)
        else:
            self._add_first(record)

    def _add_file(self, record: Record) -> None:
        document = record.document
        known = self._store.all(
            "SELECT row, title, coalesce(own, title) FROM documents WHERE source = ?",
            document.source,
        )
        for row, title, own in known:
            if row >= self._change.first:  # the corpora name it twice
                self.duplicates += 1
                self.skipped += 1
                self._reports.left_out(record, GIVEN_TWICE)
                return
            if self._policy == "error":
                self._refuse(record, "title", title)
            if self._policy == "skip":
                self._leave_out(record)
                return
            self._change.remove(row)
            self.replaced += 1
            if own == document.title:
                self._store_record(record, title, own)
                return
        self._reports.stored(record, document)
        self._change.add_file(document, source_of(record.path), record.line)

    def _add_to_others(self, record: Record) -> None:
        """Add a record to documents that are there already."""
        id, own = record.document.id, record.document.title
        row = self._store.row_of_id(id) if id else self._store.row_like(own)
        title = own
        if row is not None:
            if self._policy == "error":
                if row >= self._change.first:
                    self._refuse_second(record, row, _ADDING_REMEDY)
                self._refuse(record, *(("id", id) if id else ("title", own)))
            if self._policy == "skip":
                self._leave_out(record)
                return
            known, known_own, file = self._store.all(
                "SELECT title, coalesce(own, title), "
                "(SELECT path FROM files WHERE number = file) FROM documents WHERE row = ?",
                row,
            )[0]
            removed = self._change.remove(row)
            if row >= self._change.first:
                self.skipped += 1
                self._reports.superseded(self._places.get(file, record.path), removed)
            else:
                self.replaced += 1
            title = known if id and known_own == own else own
        while id and self._store.row_like(title) is not None:
            title = f"{title} ({id})"
        self._store_record(record, title, own)

    def _add_first(self, record: Record) -> None:
        """Add a record of a new knowledge base."""
        id = record.document.id
        own = title = record.document.title
        row = self._store.row_like(title)
        if row is not None and id and self._policy in BY_PATH:
            self.duplicates += 1
            title = f"{title} ({id})"
            row = self._store.row_like(title)
        if row is not None:
            if self._policy in ("auto", "error"):
                self._refuse_second(record, row, _REMEDY)
            self.duplicates += 1
            if self._policy == "merge":
                self._merges.setdefault(row, []).append(record.document)
                self._merged_size += _size(record.document)
                self._reports.stored(record, record.document)
            if self._policy == "skip":
                self._reports.left_out(record, DUPLICATES)
            if self._policy != "rename":
                return
            title = self._unused_title(title)
        if id and self._store.row_of_id(id) is not None:
            problem = f"{id!r} is the id of an earlier document"
            remedy = "Ids are unique: correct or remove one of the two records."
            raise RecordError(record.where, "_id", problem, remedy)
        self._store_record(record, title, own)

    def _store_record(self, record: Record, title: str, own: str) -> None:
        document = replace(record.document, title=title) if title != own else record.document
        self._reports.stored(record, document)
        file = document.file or (source_of(record.path) if document.source else "")
        self._change.add(document, file, record.line, own)

    def _leave_out(self, record: Record) -> None:
        self.skipped += 1
        self._reports.left_out(record, DUPLICATES)

    def _refuse(self, record: Record, field: str, value: str) -> NoReturn:
        problem = f"a document with the {field} {value!r} is in the knowledge base already"
        remedy = f"Correct the {field}, or {_ADDING_REMEDY}."
        raise RecordError(record.where, field, problem, remedy)

    def _refuse_second(self, record: Record, row: int, remedy: str) -> NoReturn:
        file, line = self._store.all(
            "SELECT (SELECT path FROM files WHERE number = file), line FROM documents "
            "WHERE row = ?",
            row,
        )[0]
        raise RecordError(
            record.where,
            "title",
            f"{record.document.title!r} is taken by the document at "
            f"{self._places.get(file, file)}:{line}",
            f"Titles are unique: correct one of them, or {remedy}.",
        )

    def _unused_title(self, title: str) -> str:
        # Start after the last number given to this title; else many duplicates take quadratic time.
        number = self._last_numbers.get(title, 1) + 1
        while self._store.row_like(f"{title} ({number})") is not None:
            number += 1
        self._last_numbers[title] = number
        return f"{title} ({number})"

    def _merge_all(self) -> None:
        for row, others in self._merges.items():
            first = self._store.read_document(row)
            if sum(map(_size, (first, *others))) > LONGEST_RECORD:
                raise AdmiralError(
                    f"the documents with the title {first.title!r} are longer than "
                    f"{LONGEST_RECORD >> 20} MiB together. Give them distinct titles, or use "
                    "--on-duplicate rename."
                )
            self._change.replace_body(row, first, _merge_documents([first, *others]))
        self._merges.clear()
        self._merged_size = 0


def _first(records: Iterator[Record]) -> Iterator[Record]:
    size = 0
    for number, record in enumerate(records, 1):
        yield record
        size += _size(record.document)
        if number == _SAMPLES or size > _SAMPLE_CHARACTERS:
            return


def _size(document: Document) -> int:
    """Return the approximate size of a document in bytes before compression."""
    return (
        len(document.title)
        + sum(len(sentence) + 8 for sentence in document.sentences)
        + sum(len(title) + 8 for row in document.links for title in row)
    )


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
