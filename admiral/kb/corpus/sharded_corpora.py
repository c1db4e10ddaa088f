"""Read corpora in shards by parallel workers, and stream the documents in corpus order."""

from __future__ import annotations

import shutil
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import Place, corpus_path
from admiral.kb.corpus.corpora import Corpora
from admiral.kb.corpus.file_reports import (
    FileRange,
    FileReport,
    file_size,
    new_report,
    reported_records,
    split_lines,
)
from admiral.kb.corpus.readers import ALL_FILES, WHOLE_FILE_FORMATS, FilePatterns, Record
from admiral.kb.store.contents import DOCUMENTS
from admiral.kb.store.document_store import DocumentStore, DocumentWriter
from admiral.kb.store.index_building import SHARDS, BuildWorkers, new_folder

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
    limits: FileLimits
    directory: str


class ReadReport(NamedTuple):
    """Result of a job."""

    directory: str
    lines: tuple[int, ...]  # number of lines of each range; 0 for whole files
    files: tuple[FileReport, ...]


def read_shard(job: ReadJob) -> ReadReport:
    """Read the files of a job; AdmiralError for the first bad record unless they are skipped."""
    directory = new_folder(job.directory)
    positions, lines, reports = array("Q"), [], []
    with DocumentWriter(directory / DOCUMENTS) as writer:
        for number, file in enumerate(job.files):
            place = file.place()
            report = new_report(place, job.format)
            for record in reported_records(
                place, job.format, report, job.limits, skip_bad=job.skip_bad, strict=job.strict
            ):
                writer.append(record.document)
                positions.append(number << 40 | record.line)
            reports.append(report)
            lines.append(place.lines if isinstance(place, FileRange) else 0)
    values = np.frombuffer(positions, dtype=np.uint64)
    np.save(directory / _POSITIONS, values, allow_pickle=False)
    return ReadReport(str(directory), tuple(lines), tuple(reports))


class ShardedCorpora(Corpora):
    """Corpora that workers read in shards; the records are those of `Corpora`."""

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str,
        skip_bad: bool,
        directory: Path,
        workers: BuildWorkers,
        patterns: FilePatterns = ALL_FILES,
        limits: FileLimits = DEFAULT_LIMITS,
        *,
        strict: bool = False,
        reported: bool = False,
    ) -> None:
        super().__init__(
            corpora, format, skip_bad, patterns, limits, strict=strict, reported=reported
        )
        self._given: dict[str, str] = {}  # paths as they were given, by absolute ones
        self._directory, self._workers = directory / SHARDS, workers

    def _good_records(self) -> Iterator[Record]:
        jobs = list(self._jobs())
        lines: Counter[str] = Counter()  # lines read so far, by file
        for job, result in zip(jobs, self._workers.map(read_shard, jobs), strict=True):
            for file, report in zip(job.files, result.files, strict=True):
                report.path = self._given[file.file]
                self.reports.add(file.file, report)
                self._count(report)
            yield from _records(job, result, lines)
            shutil.rmtree(result.directory)

    def _jobs(self) -> Iterator[ReadJob]:
        for path, format in self._corpora:
            files = [f for file in self._files(path, format) for f in self._split(file, format)]
            files_per_job = -(-len(files) // self._workers.shards)
            for start in range(0, len(files), files_per_job):
                chunk = tuple(files[start : start + files_per_job])
                yield ReadJob(
                    chunk, format, self._skip_bad, self._strict, self._limits, str(self._directory)
                )

    def _split(self, file: Place, format: str) -> list[ShardFile]:
        # Absolute, because a worker may have another current directory.
        name = str(file.absolute() if isinstance(file, Path) else file)
        self._given[name] = str(file)
        size = self._workers.bytes
        if format in WHOLE_FILE_FORMATS or file_size(file) <= size:
            return [ShardFile(name)]
        return [ShardFile(name, *ends) for ends in split_lines(file, size)] or [ShardFile(name)]


def _records(job: ReadJob, report: ReadReport, lines: Counter[str]) -> Iterator[Record]:
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
