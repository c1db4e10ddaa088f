"""Read the corpora of a build or of an addition as one stream of records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.progress import track_documents
from admiral.io.sentence_splitter import LONGEST_GIVEN_SENTENCE
from admiral.io.streams import Place, RemotePath, corpus_path, numbered_lines
from admiral.kb.corpus.file_reports import (
    MESSAGES_SHOWN,
    UNCHANGED,
    FileReport,
    FileReports,
    new_report,
    reported_records,
    skipped_report,
)
from admiral.kb.corpus.files.file_types import UNKNOWN
from admiral.kb.corpus.readers import (
    ALL_FILES,
    FORMATS,
    FilePatterns,
    Record,
    check_corpus,
    corpus_files,
    detect_format,
)
from admiral.kb.corpus.readers.corpus_records import source_of

logger = logging.getLogger(__name__)

_SUFFIXES_SHOWN = 5


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `AdmiralError` unless the setting `name` has one of the allowed values."""
    if value not in choices:
        raise AdmiralError(f"{name}={value!r}: unknown. Choose one of {', '.join(choices)}.")


class Incoming(Protocol):
    """The corpora that a knowledge base is built from, or that are added to it."""

    reports: FileReports
    bad: int
    split: int
    skipped: Counter[str]

    def describe(self) -> list[dict[str, str]]:
        """Return the name and format of each corpus."""
        ...

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records."""
        ...


class Corpora:
    """One or more corpora, read in order.

    Parameters
    ----------
    corpora
        Files or folders, or URLs.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    skip_bad
        Whether to count and report bad records instead of raising an error for the first.
    patterns
        Which files of folders of documents to read.
    limits
        Limits of time and size of each file of a folder of documents.
    strict
        Whether to raise an error for the first damaged file of a folder of documents, instead of
        counting and reporting it.
    reported
        Whether to keep the reports of all files.

    Attributes
    ----------
    reports
        What became of each file; kept only if `reported`.
    bad
        Number of bad records skipped so far.
    skipped
        How many files of folders of documents were not read, by reason.
    split
        Number of sentences so far that were too long and have been split.
    unchanged
        The files that need not be read, by path.

    Raises
    ------
    AdmiralError
        If there is no corpus, one of them is missing, or its format cannot be detected.
    """

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str,
        skip_bad: bool,
        patterns: FilePatterns = ALL_FILES,
        limits: FileLimits = DEFAULT_LIMITS,
        *,
        strict: bool = False,
        reported: bool = False,
    ) -> None:
        self.bad = self.split = 0
        self.unchanged: Collection[str] = ()
        self.reports = FileReports(reported)
        self.skipped: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._skip_bad, self._patterns, self._strict = skip_bad, patterns, strict
        self._limits = limits
        self._shown = 0  # messages on files
        paths = [
            corpus_path(p) for p in ([corpora] if isinstance(corpora, str | Path) else corpora)
        ]
        if not paths:
            raise AdmiralError("no corpus given. Name at least one file or folder.")
        check_choice("format", format, ("auto", *FORMATS))
        for path in paths:
            check_corpus(path)
        self._corpora = [
            (path, detect_format(path) if format == "auto" else format) for path in paths
        ]

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    @property
    def paths(self) -> list[Place]:
        """The files and folders, as they were given."""
        return [path for path, _ in self._corpora]

    def describe(self) -> list[dict[str, str]]:
        """Return the name and format of each corpus."""
        return [{"name": path.name, "format": format} for path, format in self._corpora]

    def locations(self) -> list[list[str]]:
        """Return where each corpus is, and its format."""
        return [[source_of(path), format] for path, format in self._corpora]

    def states(self) -> dict[str, tuple[int, int]]:
        """Return the size of each file and the time of its last change, by path or URL."""
        return {
            source_of(file): file_state(file)
            for path, format in self._corpora
            for file in corpus_files(path, format, self._patterns).files
        }

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records.

        Raises AdmiralError if a corpus cannot be read, or for the first bad record unless they are
        skipped.
        """
        path, file = None, ""
        for record in track_documents(self._good_records(), "reading", enabled=progress):
            if record.path is not path:
                path, file = record.path, source_of(record.path)
            yield record.placed(file)
        if self.bad:
            logger.warning("%d bad records were skipped", self.bad)
        if self.split:
            logger.warning(
                "%d sentences of more than %d characters were split; the sentences after them "
                "have other numbers than in the corpus",
                *(self.split, LONGEST_GIVEN_SENTENCE),
            )
        if self._shown > MESSAGES_SHOWN:
            logger.warning(
                "messages not shown: %d; --report FILE has them by file",
                self._shown - MESSAGES_SHOWN,
            )
        if self.skipped:
            logger.warning("%s", self._skipped_line())

    def _good_records(self) -> Iterator[Record]:
        for path, format in self._corpora:
            for file in self._files(path, format):
                if source_of(file) in self.unchanged:
                    self.reports.add(str(file), skipped_report(file, UNCHANGED))
                    continue
                report = new_report(file, format)
                self.reports.add(str(file), report)
                yield from reported_records(
                    file, format, report, self._limits, skip_bad=self._skip_bad, strict=self._strict
                )
                self._count(report)

    def _count(self, report: FileReport) -> None:
        """Count what was left out of a file that has been read, and log what is wrong with it."""
        self.bad += report.bad
        self.split += report.split
        if report.skipped:
            self.skipped[report.skipped] += 1
        messages = [f"skipped: {error}" for error in report.errors]
        messages += [f"{report.path}: {note}" for note in report.notes]
        for message in messages[: max(MESSAGES_SHOWN - self._shown, 0)]:
            logger.warning("%s", message)
        self._shown += len(messages)

    def _files(self, path: Place, format: str) -> Sequence[Place]:
        """Return the files of a corpus in reading order, and count those that are not read."""
        chosen = corpus_files(path, format, self._patterns)
        self.skipped += chosen.skipped
        self._unknown += chosen.unknown
        for file, reason in chosen.others:
            self.reports.add(str(file), skipped_report(file, reason))
        return chosen.files

    def _skipped_line(self) -> str:
        """Return one line with the number of files that were not read, by reason."""
        reasons = [f"{count:,} {reason}" for reason, count in self.skipped.most_common()]
        shown = ", ".join(suffix for suffix, _ in self._unknown.most_common(_SUFFIXES_SHOWN))
        more = ", ..." if len(self._unknown) > _SUFFIXES_SHOWN else ""
        total = self.skipped.total()
        files = "1 file was" if total == 1 else f"{total:,} files were"
        line = f"{files} skipped: {'; '.join(reasons)}"
        return line.replace(UNKNOWN, f"{UNKNOWN} ({shown}{more})")


def file_state(file: Place) -> tuple[int, int]:
    """Return the size of a file and the time of its last change."""
    if isinstance(file, RemotePath):
        return file.size(), 0
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def read_titles(path: Path) -> list[str]:
    """Return the titles of a UTF-8 file with one title per line, which may be compressed.

    Raises AdmiralError if the file cannot be read, is not UTF-8, or holds no title.
    """
    titles = []
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise item
        number, line = item
        try:
            titles.append(line.decode("utf-8").strip())
        except UnicodeDecodeError as error:
            raise RecordError(
                f"{path}:{number}",
                "",
                f"not UTF-8 (byte {error.start + 1})",
                "Convert the file to UTF-8, for example with iconv.",
            ) from error
    if not titles:
        raise AdmiralError(f"{path}: no titles in it. Write one title on each line.")
    return titles
