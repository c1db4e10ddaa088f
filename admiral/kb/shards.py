"""A build in parts: workers read the files of the corpora and index the documents, side by side.

What a knowledge base holds does not depend on it. Workers turn files into documents, the expensive
part; one process takes these in the order of the corpora, settles duplicates and writes them. Then
workers index ranges of rows, and the indexes are merged under the statistics of all documents.
Workers exchange files: the folder of the knowledge base must be one that all of them see.
"""

from __future__ import annotations

import logging
import secrets
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from admiral.errors import RecordError
from admiral.kb.contents import BM25, DOCUMENTS
from admiral.kb.documents import DocumentWriter
from admiral.kb.file_parts import FilePart, split_lines
from admiral.kb.readers import Record, corpus_files, read_corpus
from admiral.kb.remote import Place, corpus_path
from admiral.kb.sources import BAD_RECORDS_SHOWN, Sources
from admiral.kb.store import DocumentStore

logger = logging.getLogger(__name__)

SHARDS = "shards"
_PLACES = "places.npy"


@dataclass(frozen=True, slots=True)
class Spread:
    """Who does the parts of a build.

    Attributes
    ----------
    map
        Calls a function of a module with each of some values and yields what it returns, in order;
        both travel to the workers.
    rows
        About so many documents are indexed at a time.
    shards
        A corpus is read in so many jobs at most.
    bytes
        A larger file of lines that is not compressed is read in parts of about this size.
    """

    map: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
    rows: int = 65_536
    shards: int = 256
    bytes: int = 64 * 2**20


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


class IndexJob(NamedTuple):
    """Batches of the documents in `directory` to be indexed for BM25."""

    directory: str
    backend: str
    first: int
    end: int


def read_shard(job: ReadJob) -> ReadReport:
    """Read some parts; `AdmiralError` for the first bad record unless they are skipped."""
    directory = _new_folder(job.directory)
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


def index_shard(job: IndexJob) -> str:
    """Index some documents; return where."""
    from admiral.kb.bm25 import build_bm25

    directory = Path(job.directory)
    target = _new_folder(str(directory / SHARDS))
    store = DocumentStore(directory / DOCUMENTS)
    try:
        build_bm25(job.backend, store.texts(job.first, job.end), target)
    finally:
        store.close()
    return str(target)


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
        ranges = split_lines(file, self._spread.bytes) if format not in ("text", "feverous") else []
        return [Part(name, *one) for one in ranges] if len(ranges) > 1 else [Part(name)]


def index_in_shards(directory: Path, backend: str, spread: Spread) -> None:
    """Write ``bm25/`` for the documents of a directory."""
    from admiral.kb.bm25 import merge_bm25

    store = DocumentStore(directory / DOCUMENTS)
    # A part begins with the first batch at or behind each multiple of so many rows.
    rows = np.arange(0, len(store), spread.rows)
    ends = [*np.unique(np.searchsorted(store.rows, rows)).tolist(), store.batches]
    store.close()
    jobs = [IndexJob(str(directory), backend, *pair) for pair in pairwise(ends)]
    jobs = [job for job in jobs if job.first < job.end]
    parts = list(map(Path, spread.map(index_shard, jobs)))
    merge_bm25(backend, parts, directory / BM25)


def _records(job: ReadJob, report: ReadReport, lines: Counter[str]) -> Iterator[Record]:
    """Yield the records of a job; `lines` counts those of the same file in parts before it."""
    files, before = [corpus_path(part.file) for part in job.parts], []
    for part, count in zip(job.parts, report.lines, strict=True):
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


def _new_folder(parent: str) -> Path:
    """Make a folder that no earlier attempt of the same work has written into."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
