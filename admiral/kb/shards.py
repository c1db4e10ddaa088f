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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from admiral.kb.contents import BM25, DOCUMENTS
from admiral.kb.documents import DocumentWriter
from admiral.kb.readers import Record, corpus_files, read_corpus
from admiral.kb.remote import corpus_path
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
        A corpus is read in so many parts at most, each of whole files.
    """

    map: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
    rows: int = 65_536
    shards: int = 256


class ReadJob(NamedTuple):
    """Files of a corpus to be read into a new folder of `directory`."""

    files: tuple[str, ...]
    format: str
    skip_bad: bool
    directory: str


class ReadReport(NamedTuple):
    """Where the documents of a job are, how many records were bad, and what is said of them."""

    directory: str
    bad: int
    skipped: tuple[str, ...]


class IndexJob(NamedTuple):
    """Batches of the documents in `directory` to be indexed for BM25."""

    directory: str
    backend: str
    first: int
    end: int


def read_shard(job: ReadJob) -> ReadReport:
    """Read some files; `AdmiralError` for the first bad record unless they are skipped."""
    directory = _new_folder(job.directory)
    places, bad, skipped = array("Q"), 0, []
    with DocumentWriter(directory / DOCUMENTS) as writer:
        for number, file in enumerate(job.files):
            for item in read_corpus(corpus_path(file), job.format):
                if isinstance(item, Record):
                    writer.append(item.document)
                    places.append(number << 40 | item.line)
                    continue
                if not job.skip_bad:
                    raise item
                bad += 1
                if bad <= BAD_RECORDS_SHOWN:
                    skipped.append(str(item))
    np.save(directory / _PLACES, np.frombuffer(places, dtype=np.uint64), allow_pickle=False)
    return ReadReport(str(directory), bad, tuple(skipped))


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
        for job, report in zip(jobs, self._spread.map(read_shard, jobs), strict=True):
            for message in report.skipped[: max(BAD_RECORDS_SHOWN - self.bad, 0)]:
                logger.warning("skipped: %s", message)
            self.bad += report.bad
            yield from _records(job, Path(report.directory))
            shutil.rmtree(report.directory)

    def _jobs(self) -> Iterator[ReadJob]:
        for path, format in self._files:
            # A worker may have another current directory.
            files = tuple(
                str(file.absolute() if isinstance(file, Path) else file)
                for file in corpus_files(path, format)
            )
            size = -(-len(files) // self._spread.shards)
            for at in range(0, len(files), size):
                some = files[at : at + size]
                yield ReadJob(some, format, self._skip_bad, str(self._directory))


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


def _records(job: ReadJob, directory: Path) -> Iterator[Record]:
    files = [corpus_path(file) for file in job.files]
    places = np.load(directory / _PLACES, allow_pickle=False)
    store = DocumentStore(directory / DOCUMENTS)
    try:
        for document, place in zip(store, places.tolist(), strict=True):
            yield Record(document, files[place >> 40], place & ((1 << 40) - 1))
    finally:
        store.close()


def _new_folder(parent: str) -> Path:
    """Make a folder that no earlier attempt of the same work has written into."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
