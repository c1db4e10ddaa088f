"""Read corpora in shards by parallel workers, and stream the documents in corpus order."""

from __future__ import annotations

import logging
import shutil
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from admiral.errors import RecordError
from admiral.io.remote import Place, corpus_path
from admiral.kb.corpus.corpora import BAD_RECORDS_SHOWN, Corpora
from admiral.kb.corpus.file_ranges import FileRange, file_size, split_lines
from admiral.kb.corpus.readers import (
    ALL_FILES,
    WHOLE_FILE_FORMATS,
    FilePatterns,
    Record,
    SkippedFile,
    read_corpus_file,
)
from admiral.kb.store.contents import DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.document_writer import DocumentWriter
from admiral.kb.store.index_building import SHARDS, BuildWorkers, new_folder

logger = logging.getLogger(__name__)

_POSITIONS = "places.npy"


class ShardFile(NamedTuple):
    """A whole file, or a range of its bytes if `end` is not 0."""

    file: str
    first: int = 0
    end: int = 0

    def place(self) -> Place:
        """Return the file or range to read."""
        file = corpus_path(self.file)
        # Readers treat a range like any other file.
        return cast(Place, FileRange(file, self.first, self.end)) if self.end else file


class ReadJob(NamedTuple):
    """Files of a corpus to read into a new folder below `directory`."""

    files: tuple[ShardFile, ...]
    format: str
    skip_bad: bool
    strict: bool
    directory: str


class ReadReport(NamedTuple):
    """Result of a job.

    Attributes
    ----------
    directory
        Folder of the documents.
    lines
        Number of lines of each range; 0 for whole files.
    bad
        Number of bad records.
    messages, damaged
        Messages for the first bad records and damaged files.
    skipped
        How many files have no document, by reason.
    split
        Number of sentences that were too long and have been split.
    """

    directory: str
    lines: tuple[int, ...]
    bad: int
    messages: tuple[str, ...]
    damaged: tuple[str, ...]
    skipped: dict[str, int]
    split: int


def read_shard(job: ReadJob) -> ReadReport:
    """Read the files of a job; AdmiralError for the first bad record unless they are skipped."""
    directory = new_folder(job.directory)
    positions, lines, messages, damaged = array("Q"), [], [], []
    bad = split = 0
    skipped: Counter[str] = Counter()
    with DocumentWriter(directory / DOCUMENTS) as writer:
        for number, file in enumerate(job.files):
            place = file.place()
            for item in read_corpus_file(place, job.format):
                if isinstance(item, Record):
                    writer.append(item.document)
                    positions.append(number << 40 | item.line)
                    split += item.split
                    continue
                if isinstance(item, SkippedFile):
                    skipped[item.reason] += 1
                    if item.error is not None:
                        if job.strict:
                            raise item.error
                        damaged.append(str(item.error))
                    continue
                bad += 1
                if not job.skip_bad or bad <= BAD_RECORDS_SHOWN:
                    item = _with_line_of_file(item, place)
                    messages.append(str(item))
                if not job.skip_bad:
                    raise item
            lines.append(place.lines if isinstance(place, FileRange) else 0)
    values = np.frombuffer(positions, dtype=np.uint64)
    np.save(directory / _POSITIONS, values, allow_pickle=False)
    return ReadReport(
        str(directory), tuple(lines), bad, tuple(messages), tuple(damaged), dict(skipped), split
    )


class ShardedCorpora(Corpora):
    """Corpora that workers read in shards; the records are those of `Corpora`.

    Parameters
    ----------
    corpora, format, skip_bad, patterns, strict
        As for `Corpora`.
    directory
        Directory below which workers write documents.
    workers
        Workers that read the shards.
    """

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str,
        skip_bad: bool,
        directory: Path,
        workers: BuildWorkers,
        patterns: FilePatterns = ALL_FILES,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(corpora, format, skip_bad, patterns, strict=strict)
        self._directory, self._workers = directory / SHARDS, workers

    def _good_records(self) -> Iterator[Record]:
        jobs = list(self._jobs())
        lines: Counter[str] = Counter()  # lines read so far, by file
        for job, report in zip(jobs, self._workers.map(read_shard, jobs), strict=True):
            for message in report.messages[: max(BAD_RECORDS_SHOWN - self.bad, 0)]:
                logger.warning("skipped: %s", message)
            self._report(report.damaged)
            self.bad += report.bad
            self.skipped.update(report.skipped)
            self.split += report.split
            yield from _records(job, report, lines)
            shutil.rmtree(report.directory)

    def _jobs(self) -> Iterator[ReadJob]:
        for path, format in self._corpora:
            files = [f for file in self._files(path, format) for f in self._split(file, format)]
            files_per_job = -(-len(files) // self._workers.shards)
            for start in range(0, len(files), files_per_job):
                chunk = tuple(files[start : start + files_per_job])
                yield ReadJob(chunk, format, self._skip_bad, self._strict, str(self._directory))

    def _split(self, file: Place, format: str) -> list[ShardFile]:
        # Absolute, because a worker may have another current directory.
        name = str(file.absolute() if isinstance(file, Path) else file)
        size = self._workers.bytes
        if format in WHOLE_FILE_FORMATS or file_size(file) <= size:
            return [ShardFile(name)]
        return [ShardFile(name, *ends) for ends in split_lines(file, size)] or [ShardFile(name)]


def _records(job: ReadJob, report: ReadReport, lines: Counter[str]) -> Iterator[Record]:
    """Yield the records of a job; `lines` counts the lines of earlier ranges of each file."""
    files, before = [corpus_path(file.file) for file in job.files], []
    for file, count in zip(job.files, report.lines, strict=True):
        if not file.first:  # start again, as the corpora may contain a file twice
            lines[file.file] = 0
        before.append(lines[file.file])
        lines[file.file] += count
    positions = np.load(Path(report.directory, _POSITIONS), allow_pickle=False)
    store = DocumentStore(Path(report.directory, DOCUMENTS))
    try:
        for document, position in zip(store, positions.tolist(), strict=True):
            number, line = position >> 40, position & ((1 << 40) - 1)
            yield Record(document, files[number], line + before[number])
    finally:
        store.close()


def _with_line_of_file(error: RecordError, place: Place) -> RecordError:
    """Return the error with the line number counted from the start of the file."""
    if not isinstance(place, FileRange):
        return error
    name, _, line = error.where.rpartition(":")
    where = f"{name}:{int(line) + place.lines_before()}"
    return RecordError(where, error.field, error.problem, error.remedy)
