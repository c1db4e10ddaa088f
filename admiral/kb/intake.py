"""Add the records of corpora to a knowledge base, resolving duplicates by a policy.

The documents of files are recognised by their paths, and told apart by them; those with ids by
their ids. Others are recognised by their titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NoReturn, Protocol, TypeVar

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import LONGEST_RECORD
from admiral.kb.change import Change
from admiral.kb.corpus.records import DUPLICATES, MOST_TITLES, FileReport, Record
from admiral.records import Document

T = TypeVar("T")

#: Policies of `admiral index` and `admiral add` for a second document with the same title.
POLICIES = ("auto", "error", "merge", "skip", "rename")
ADDING = ("error", "replace", "skip")
#: Policies under which paths identify files, and ids records.
BY_PATH = ("auto", "rename")
MERGED = "merged into another document"
# What a dictionary for compression is trained on.
_SAMPLES, _SAMPLE_CHARACTERS = 1000, 4 * 2**20


class Incoming(Protocol):
    """The corpora that a knowledge base is built from, or that are added to it."""

    reports: dict[str, FileReport]
    bad: int
    split: int
    skipped: Counter[str]

    def describe(self) -> list[dict[str, str]]:
        """Return the name and format of each corpus."""
        ...

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records."""
        ...

    def without_documents(self) -> str:
        """Return the message for corpora that hold nothing."""
        ...


class Intake:
    """Adds records to a change.

    `policy`: one of `POLICIES`, or if `adding` to what is there already, of `ADDING`. `duplicates`:
    number of records whose title or id had occurred before, and of files that others share a title
    with. `replaced`, `skipped`: numbers of documents that were replaced by later ones, and of
    records left out because another document is kept.
    """

    def __init__(self, change: Change, policy: str, *, adding: bool = False) -> None:
        self.duplicates = self.replaced = self.skipped = 0
        self._change, self._policy, self._adding = change, policy, adding
        self._is_apart = adding or policy in BY_PATH
        self._store = change.store
        self._last_numbers: dict[str, int] = {}

    def read(self, incoming: Incoming, progress: bool, *, all_files: bool = False) -> None:
        """Add all records.

        `all_files`: whether the titles of earlier files may change, see `Change.settle_titles`.
        """
        records = incoming.records(progress)
        if not self._change.first:
            first = list(_first(records))
            if first:
                self._change.use_samples(record.document for record in first)
            records = chain(first, records)
        for record in records:
            if record.document.source and self._is_apart:
                self._add_file(record)
            else:
                self._add(record)
        self.duplicates += self._change.settle_titles(all_files=all_files)
        if incoming.reports:
            self._note_stored(incoming.reports.values())

    def _add_file(self, record: Record) -> None:
        document = record.document
        known = self._store.all(
            "SELECT row, title, coalesce(own, title) FROM documents WHERE source = ?",
            document.source,
        )
        for row, title, own in known:
            if self._policy == "error":
                self._refuse(record, "title", title)
            if self._policy == "skip":
                self._leave_out(record)
                return
            self._change.remove(row)
            self.replaced += 1
            if own == document.title:
                self._change.add(*_placed(record, title), own)
                return
        self._change.add_file(*_placed(record, document.title))

    def _add(self, record: Record) -> None:
        document = record.document
        id, own = document.id, document.title
        of_id = self._store.row_of_id(id) if id else None
        title, by_id = own, bool(id) and self._is_apart
        row = of_id if by_id else self._store.row_like(own)
        if row is not None:
            self.duplicates += 1
            if self._policy in ("auto", "error") or (by_id and self._policy == "rename"):
                self._refuse_second(record, row, of_id)
            if self._policy == "merge":
                self._merge(row, record)
                return
            if self._policy == "skip":
                self._leave_out(record)
                return
            if self._policy == "rename":
                title = self._unused_title(own)
            else:
                title = self._replaced(record, row)
        elif of_id is not None:
            self._refuse_second(record, of_id, of_id)
        while by_id and self._store.row_like(title) is not None:
            self.duplicates += row is None
            title = f"{title} ({id})"
        self._change.add(*_placed(record, title), own)

    def _replaced(self, record: Record, row: int) -> str:
        """Remove a document, and return the title of the one that replaces it."""
        known, own = self._store.all(
            "SELECT title, coalesce(own, title) FROM documents WHERE row = ?", row
        )[0]
        self._change.remove(row)
        if row >= self._change.first:
            self._leave_out(record)
        else:
            self.replaced += 1
        title = record.document.title
        return known if record.document.id and own == title else title

    def _leave_out(self, record: Record) -> None:
        self.skipped += 1
        record.file.left_out[DUPLICATES] += 1

    def _refuse_second(self, record: Record, row: int, of_id: int | None) -> NoReturn:
        document = record.document
        if row < self._change.first:
            by_id = row == of_id
            self._refuse(record, *(("id", document.id) if by_id else ("title", document.title)))
        if row == of_id and not self._adding:
            problem = f"{document.id!r} is the id of an earlier document"
            remedy = "Ids are unique: correct or remove one of the two records."
            raise RecordError(record.where, "_id", problem, remedy)
        earlier = self._store.read_document(row)
        raise RecordError(
            record.where,
            "title",
            f"{document.title!r} is taken by the document at "
            f"{earlier.source or earlier.file}:{earlier.line or 1}",
            f"Titles are unique: correct one of them, or {self._remedy}.",
        )

    def _refuse(self, record: Record, field: str, value: str) -> NoReturn:
        problem = f"a document with the {field} {value!r} is in the knowledge base already"
        raise RecordError(record.where, field, problem, f"Correct the {field}, or {self._remedy}.")

    @property
    def _remedy(self) -> str:
        return f"choose --on-duplicate {'replace' if self._adding else 'merge, rename'} or skip"

    def _unused_title(self, title: str) -> str:
        # Start after the last number given to this title; else many duplicates take quadratic time.
        number = self._last_numbers.get(title, 1) + 1
        while self._store.row_like(f"{title} ({number})") is not None:
            number += 1
        self._last_numbers[title] = number
        return f"{title} ({number})"

    def _merge(self, row: int, record: Record) -> None:
        first = self._store.read_document(row)
        merged = _merged(first, record.document)
        if sum(map(len, merged.sentences)) > LONGEST_RECORD:
            raise AdmiralError(
                f"the documents with the title {first.title!r} are longer than "
                f"{LONGEST_RECORD >> 20} MiB together. Give them distinct titles, or use "
                "--on-duplicate rename."
            )
        self._change.replace_body(row, first, merged)
        record.file.left_out[MERGED] += 1

    def _note_stored(self, reports: Iterable[FileReport]) -> None:
        """Note in the reports which documents have come of the files."""
        by_source = {report.source: report for report in reports}
        paths = dict(self._store.all("SELECT number, path FROM files"))
        first = self._change.first
        files = self._store.all("SELECT file FROM documents WHERE row >= ? ORDER BY row", first)
        documents = self._store.documents(first - 1)
        for (file,), (_, document) in zip(files, documents, strict=True):
            if report := by_source.get(paths.get(file, "")):
                report.documents += 1
                report.sentences += len(document.sentences)
                if len(report.titles) < MOST_TITLES:
                    report.titles.append(document.title)


def _placed(record: Record, title: str) -> tuple[Document, str, int]:
    document = record.document
    file = document.file or (record.file.source if document.source else "")
    document = document if document.title == title else replace(document, title=title)
    return document, file, record.line


def _first(records: Iterator[Record]) -> Iterator[Record]:
    size = 0
    for number, record in enumerate(records, 1):
        yield record
        size += sum(map(len, record.document.sentences))
        if number == _SAMPLES or size > _SAMPLE_CHARACTERS:
            return


def _merged(first: Document, second: Document) -> Document:
    """Return one document with the sentences and links of both, under the first title.

    Its source is that of the first. Sentences of the second have sections, but no offsets.
    """
    both = (first, second)
    merged = replace(first, sentences=_chained(d.sentences for d in both), offsets=())
    if any(document.links for document in both):
        links = _chained(d.links or ((),) * len(d.sentences) for d in both)
        merged = replace(merged, links=links)
    if any(document.sections for document in both):
        sections = _chained(d.sections or ("",) * len(d.sentences) for d in both)
        merged = replace(merged, sections=sections)
    return merged


def _chained(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))
