"""Note what became of each input file: its documents, what was left out, and why it was not read.

The notes give the counts in the summary of a build, and the lines of ``--report``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import FileLimits
from admiral.io.streams import Place
from admiral.kb.corpus.files.file_types import file_type
from admiral.kb.corpus.readers import Record, read_corpus_file
from admiral.records import Document
from admiral.storage.atomic_files import (
    check_distinct_paths,
    encode_record,
    write_atomically,
)

# Of a corpus of records, which may have millions.
MOST_TITLES = 100
# Messages on one file, and those of all files that are logged.
MESSAGES_SHOWN = 20
UNREADABLE = "cannot be read"
BAD_RECORDS = "bad records"
DUPLICATES = "duplicates of another document"
GIVEN_TWICE = "the file was given twice"
UNCHANGED = "unchanged since it was indexed"


@dataclass(slots=True)
class FileReport:
    """The outcome of reading an input file."""

    path: str  # below the corpus as it was given
    # a format of corpora or the type of a file of documents; empty if the type is not known
    reader: str
    skipped: str = ""  # why nothing of the file was read; empty if it was
    # titles, sources: of its documents, at most `MOST_TITLES`
    titles: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    # documents, sentences: numbers in the knowledge base. Records that were merged into another one
    # count too.
    documents: int = 0
    sentences: int = 0
    # how many records, or elements of a document, were left out, by reason
    left_out: Counter[str] = field(default_factory=Counter)
    split: int = 0  # number of sentences that were too long and have been split
    # what the reader had to assume, or found missing
    notes: list[str] = field(default_factory=list)
    # messages for the first bad records, or for the damaged file
    errors: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """Number of bad records."""
        return self.left_out[BAD_RECORDS]

    def add(self, other: FileReport) -> None:
        """Add the report of another reading of the same file."""
        self.skipped = self.skipped and other.skipped
        self.titles = (self.titles + other.titles)[:MOST_TITLES]
        self.sources = (self.sources + other.sources)[:MOST_TITLES]
        self.documents += other.documents
        self.sentences += other.sentences
        self.left_out += other.left_out
        self.split += other.split
        self.notes = list(dict.fromkeys(self.notes + other.notes))
        self.errors = list(dict.fromkeys(self.errors + other.errors))[:MESSAGES_SHOWN]

    def to_json(self) -> dict[str, Any]:
        """Return the line of ``--report``."""
        return {
            "path": self.path,
            "reader": self.reader or None,
            "documents": self.documents,
            "titles": self.titles,
            "sentences": self.sentences,
            "skipped": self.skipped or None,
            "left_out": dict(self.left_out.most_common()),
            "split_sentences": self.split,
            "notes": self.notes,
            "errors": self.errors,
        }


def new_report(file: Place, format: str) -> FileReport:
    """Return the report of a file that has not been read yet."""
    kind = file_type(file.name) if format == "files" else None
    return FileReport(str(file), format if format != "files" else kind.name if kind else "")


def reported_records(
    file: Place,
    format: str,
    report: FileReport,
    limits: FileLimits,
    *,
    skip_bad: bool,
    strict: bool,
) -> Iterator[Record]:
    """Yield the records of a file, and note in `report` what else it has.

    Raises AdmiralError for the first bad record or a file of records that cannot be read, unless
    `skip_bad`; for a damaged file of a folder of documents, if `strict`.
    """
    documents = 0
    reasons: Counter[str] = Counter()
    try:
        for item in read_corpus_file(file, format, limits):
            if isinstance(item, RecordError):
                report.left_out[BAD_RECORDS] += 1
                if not skip_bad:
                    raise item
                if len(report.errors) < MESSAGES_SHOWN:
                    report.errors.append(str(item))
                continue
            if item.findings is not None:
                report.left_out.update(item.findings.left_out)
                report.notes += item.findings.notes
            if isinstance(item, Record):
                report.split += item.split
                documents += 1
                yield item
                continue
            reasons[item.reason] += 1
            if item.error is not None:
                if strict:
                    raise item.error
                report.errors.append(str(item.error))
    except RecordError:
        raise
    except AdmiralError as error:
        if not skip_bad:
            raise
        reasons[UNREADABLE] += 1
        report.errors.append(str(error))
    if documents:
        report.left_out += reasons
    else:
        report.skipped = next(iter(reasons), "")


class FileReports:
    """The reports of all files of a build or of an addition, in the order of reading.

    Unless they are `kept`, for `lines`, every method does nothing.
    """

    def __init__(self, kept: bool) -> None:
        self._kept = kept
        # By the path in records: a file may be read twice.
        self._by_path: dict[str, list[FileReport]] = {}

    def add(self, path: str, report: FileReport) -> None:
        """Keep a report, which may change until the file has been read."""
        if self._kept:
            self._by_path.setdefault(path, []).append(report)

    def stored(self, record: Record, document: Document) -> None:
        """Note that a record has become a document, whose title may be another."""
        if self._kept:
            report = self._latest(record.path)
            report.documents += 1
            report.sentences += len(document.sentences)
            if len(report.titles) < MOST_TITLES:
                report.titles.append(document.title)
                report.sources.append(document.source)

    def left_out(self, record: Record, reason: str) -> None:
        """Note that a record was read, but has not become a document."""
        if self._kept:
            self._latest(record.path).left_out[reason] += 1

    def superseded(self, path: Place, document: Document) -> None:
        """Note that a document was replaced by a later one of the same title."""
        if self._kept:
            report = self._latest(path)
            report.documents -= 1
            report.sentences -= len(document.sentences)
            report.left_out[DUPLICATES] += 1
            if document.title in report.titles:
                position = report.titles.index(document.title)
                del report.titles[position], report.sources[position]

    def retitled(self, titles: Mapping[str, str]) -> None:
        """Note the titles that files were given at the end, by their sources."""
        for reports in self._by_path.values():
            for report in reports:
                report.titles = [
                    titles.get(source, title)
                    for title, source in zip(report.titles, report.sources, strict=True)
                ]

    def write(self, path: Path) -> None:
        """Write one line of JSON for each file; AdmiralError if the file cannot be written."""
        write_atomically(path, (encode_record(report.to_json()) for report in self.merged()))

    def merged(self) -> Iterator[FileReport]:
        """Yield one report for each file."""
        for first, *others in self._by_path.values():
            for other in others:
                first.add(other)
            yield first

    def _latest(self, path: Place) -> FileReport:
        return self._by_path[str(path)][-1]


def check_report_path(path: Path, kb_path: Path, corpora: Sequence[Place]) -> None:
    """Raise `AdmiralError` unless a report can be written, before anything is read."""
    check_distinct_paths(path, *(corpus for corpus in corpora if isinstance(corpus, Path)))
    if path.resolve().is_relative_to(kb_path.resolve()):
        raise AdmiralError(f"{path}: is in the knowledge base. Name a file outside of {kb_path}")


def skipped_report(file: Place, reason: str) -> FileReport:
    """Return the report of a file of a folder of documents that is not to be read."""
    report = new_report(file, "files")
    report.skipped = reason
    return report
