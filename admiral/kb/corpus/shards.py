"""Corpora read in parts by workers, and their documents as one stream of records."""

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
from admiral.kb.corpus.corpora import BAD_RECORDS_SHOWN, Sources
from admiral.kb.corpus.file_ranges import FilePart, file_size, split_lines
from admiral.kb.corpus.readers import Record, corpus_files, read_corpus
from admiral.kb.store.arrow_documents import DocumentWriter
from admiral.kb.store.build_workers import SHARDS, Spread, new_folder
from admiral.kb.store.contents import DOCUMENTS
from admiral.kb.store.document_store import DocumentStore

logger = logging.getLogger(__name__)

_PLACES = "places.npy"


class Part(NamedTuple):
    """A file, or a range of its bytes where there is an end."""

    file: str
    first: int = 0
    end: int = 0

    def place(self) -> Place:
        """Return what is to be read."""
        file = corpus_path(self.file)
        # For the readers, a part is a file like any other.
        return cast(Place, FilePart(file, self.first, self.end)) if self.end else file


class ReadJob(NamedTuple):
    """Parts of a corpus to be read into a new folder of `directory`."""

    parts: tuple[Part, ...]
    format: str
    skip_bad: bool
    directory: str


class ReadReport(NamedTuple):
    """What came of a job.

    Attributes
    ----------
    directory
        Where the documents are.
    lines
        How many lines each part has; 0 for a whole file.
    bad, skipped
        How many records were bad, and what is to be said of the first of them.
    """

    directory: str
    lines: tuple[int, ...]
    bad: int
    skipped: tuple[str, ...]


def read_shard(job: ReadJob) -> ReadReport:
    """Read some parts; `AdmiralError` for the first bad record unless they are skipped."""
    directory = new_folder(job.directory)
    places, lines, bad, skipped = array("Q"), [], 0, []
    with DocumentWriter(directory / DOCUMENTS) as writer:
        for number, part in enumerate(job.parts):
            place = part.place()
            for item in read_corpus(place, job.format):
                if isinstance(item, Record):
                    writer.append(item.document)
                    places.append(number << 40 | item.line)
                    continue
                bad += 1
                if not job.skip_bad or bad <= BAD_RECORDS_SHOWN:
                    item = _placed(item, place)
                    skipped.append(str(item))
                if not job.skip_bad:
                    raise item
            lines.append(place.lines if isinstance(place, FilePart) else 0)
    np.save(directory / _PLACES, np.frombuffer(places, dtype=np.uint64), allow_pickle=False)
    return ReadReport(str(directory), tuple(lines), bad, tuple(skipped))


class ShardedSources(Sources):
    """Corpora that are read in parts, below `directory`; the records are those of `Sources`."""

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str,
        skip_bad: bool,
        directory: Path,
        spread: Spread,
    ) -> None:
        super().__init__(corpora, format, skip_bad)
        self._directory, self._spread = directory / SHARDS, spread

    def _sound(self) -> Iterator[Record]:
        jobs = list(self._jobs())
        lines: Counter[str] = Counter()  # of each file, those that have been read
        for job, report in zip(jobs, self._spread.map(read_shard, jobs), strict=True):
            for message in report.skipped[: max(BAD_RECORDS_SHOWN - self.bad, 0)]:
                logger.warning("skipped: %s", message)
            self.bad += report.bad
            yield from _records(job, report, lines)
            shutil.rmtree(report.directory)

    def _jobs(self) -> Iterator[ReadJob]:
        for path, format in self._files:
            parts = [p for f in corpus_files(path, format) for p in self._parts(f, format)]
            size = -(-len(parts) // self._spread.shards)
            for at in range(0, len(parts), size):
                some = tuple(parts[at : at + size])
                yield ReadJob(some, format, self._skip_bad, str(self._directory))

    def _parts(self, file: Place, format: str) -> list[Part]:
        # A worker may have another current directory.
        name = str(file.absolute() if isinstance(file, Path) else file)
        if format in ("text", "feverous") or file_size(file) <= self._spread.bytes:
            return [Part(name)]
        return [Part(name, *one) for one in split_lines(file, self._spread.bytes)] or [Part(name)]


def _records(job: ReadJob, report: ReadReport, lines: Counter[str]) -> Iterator[Record]:
    """Yield the records of a job; `lines` counts those of the same file in parts before it."""
    files, before = [corpus_path(part.file) for part in job.parts], []
    for part, count in zip(job.parts, report.lines, strict=True):
        if not part.first:  # the file may be a corpus twice
            lines[part.file] = 0
        before.append(lines[part.file])
        lines[part.file] += count
    places = np.load(Path(report.directory, _PLACES), allow_pickle=False)
    store = DocumentStore(Path(report.directory, DOCUMENTS))
    try:
        for document, place in zip(store, places.tolist(), strict=True):
            number, line = place >> 40, place & ((1 << 40) - 1)
            yield Record(document, files[number], line + before[number])
    finally:
        store.close()


def _placed(error: RecordError, place: Place) -> RecordError:
    """Return an error that names the line of the file, where it names that of a part."""
    if not isinstance(place, FilePart):
        return error
    name, _, line = error.where.rpartition(":")
    where = f"{name}:{int(line) + place.lines_before()}"
    return RecordError(where, error.field, error.problem, error.remedy)
