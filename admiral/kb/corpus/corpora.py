"""Read the corpora of a build or of an addition as one stream of records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.progress import track_documents
from admiral.io.sentence_splitter import LONGEST_GIVEN_SENTENCE
from admiral.io.streams import Place, RemotePath, corpus_path, numbered_lines
from admiral.kb.corpus.files.file_types import uncompressed_name
from admiral.kb.corpus.folders import ALL_FILES, UNKNOWN, FilePatterns
from admiral.kb.corpus.formats import (
    FORMATS,
    check_corpus,
    corpus_files,
    detect_format,
    new_report,
    read_file,
)
from admiral.kb.corpus.records import (
    BAD_RECORDS,
    MESSAGES_SHOWN,
    FileReport,
    Record,
    source_of,
)

logger = logging.getLogger(__name__)

UNREADABLE = "cannot be read"
GIVEN_TWICE = "the file was given twice"
UNCHANGED = "unchanged since it was indexed"
_SUFFIXES_SHOWN = 5


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `AdmiralError` unless the setting `name` has one of the allowed values."""
    if value not in choices:
        raise AdmiralError(f"{name}={value!r}: unknown. Choose one of {', '.join(choices)}.")


class Corpora:
    """One or more corpora, read in order.

    Parameters
    ----------
    corpora
        Files or folders, or URLs.
    format
        One of ``admiral.kb.corpus.formats.FORMATS`` for all corpora, or ``auto``.
    skip_bad
        Whether to count and report bad records instead of raising an error for the first.
    patterns, limits
        Of folders of documents: which files to read, and limits of time and size of each.
    strict
        Whether the first damaged file of a folder of documents is an error.
    reported
        Whether to keep the reports of all files.

    Attributes
    ----------
    reports
        What became of each file so far, by its path; of those that were read, only if `reported`.
    bad, split
        Numbers of bad records skipped so far, and of sentences that were too long.
    skipped
        How many files of folders of documents were not read, by reason.
    unchanged
        The files that need not be read, by path.
    """

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str = "auto",
        skip_bad: bool = False,
        patterns: FilePatterns = ALL_FILES,
        limits: FileLimits = DEFAULT_LIMITS,
        *,
        strict: bool = False,
        reported: bool = False,
    ) -> None:
        self.bad = self.split = 0
        self.unchanged: Collection[str] = ()
        self.reports: dict[str, FileReport] = {}
        self.skipped: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()  # files of unknown types, by suffix
        self._skip_bad, self._patterns, self._strict = skip_bad, patterns, strict
        self._limits, self._reported = limits, reported
        self._shown = 0  # messages on files
        paths = [
            corpus_path(p) for p in ([corpora] if isinstance(corpora, str | Path) else corpora)
        ]
        if not paths:
            raise AdmiralError("no corpus given. Name at least one file or folder.")
        self._corpora = [(path, self._format(path, format)) for path in paths]

    def _format(self, path: Place, format: str) -> str:
        check_choice("format", format, ("auto", *FORMATS))
        check_corpus(path)
        return detect_format(path) if format == "auto" else format

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    def without_documents(self) -> str:
        """Return the message for corpora that hold nothing."""
        return f"{self}: no documents in it. Check the corpus and --format."

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
            for file in corpus_files(path, format, self._patterns)[0]
        }

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records; the first bad one is an error, unless they are skipped."""
        yield from track_documents(self._all_records(), "reading", enabled=progress)
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

    def _all_records(self) -> Iterator[Record]:
        read = set()
        for path, format in self._corpora:
            files, others = corpus_files(path, format, self._patterns)
            for place, reason in others:
                self._keep(new_report(place, format)).skipped = reason
                self.skipped[reason] += 1
                if reason == UNKNOWN:
                    suffix = PurePosixPath(uncompressed_name(place.name)).suffix
                    self._unknown[suffix or "no suffix"] += 1
            for place in files:
                file = new_report(place, format)
                if file.source in read:
                    self._keep(file).left_out[GIVEN_TWICE] += 1
                elif file.source in self.unchanged:
                    self._keep(file).skipped = UNCHANGED
                else:
                    read.add(file.source)
                    yield from self._records(self._keep(file), format)
                    self._count(file)

    def _keep(self, file: FileReport) -> FileReport:
        return self.reports.setdefault(str(file.path), file) if self._reported else file

    def _records(self, file: FileReport, format: str) -> Iterator[Record]:
        is_read = False
        try:
            for item in read_file(file, format, self._limits, strict=self._strict):
                if isinstance(item, Record):
                    is_read = True
                    yield item
                    continue
                if not self._skip_bad:
                    raise item
                file.left_out[BAD_RECORDS] += 1
                file.note_error(item)
        except RecordError:
            raise
        except AdmiralError as error:
            if not self._skip_bad:
                raise
            file.skip(UNREADABLE, error)
        if is_read:
            file.skipped = ""
        elif file.skipped:
            del file.left_out[file.skipped]  # the file, and no part of it

    def _count(self, file: FileReport) -> None:
        """Count what was left out of a file that has been read, and log what is wrong with it."""
        self.bad += file.left_out[BAD_RECORDS]
        self.split += file.split
        if file.skipped:
            self.skipped[file.skipped] += 1
        messages = [f"skipped: {error}" for error in file.errors]
        messages += [f"{file.path}: {note}" for note in file.notes]
        for message in messages[: max(MESSAGES_SHOWN - self._shown, 0)]:
            logger.warning("%s", message)
        self._shown += len(messages)

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
    """Return the titles of a UTF-8 file with one title per line, which may be compressed."""
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
