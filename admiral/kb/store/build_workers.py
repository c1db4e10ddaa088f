"""Who does a build in parts, and the BM25 index built by them.

What a knowledge base holds does not depend on it. Workers turn files into documents (`shards`), the
expensive part; one process takes these in the order of the corpora, settles duplicates and writes
them. Then workers index ranges of rows, and the indexes are merged under the statistics of all
documents. Workers exchange files: all of them must see the folder of the knowledge base.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore

SHARDS = "shards"


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


class IndexJob(NamedTuple):
    """Batches of the documents in `directory` to be indexed for BM25."""

    directory: str
    backend: str
    first: int
    end: int


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


def index_shard(job: IndexJob) -> str:
    """Index some documents; return where."""
    from admiral.kb.bm25 import build_bm25

    directory = Path(job.directory)
    target = new_folder(str(directory / SHARDS))
    store = DocumentStore(directory / DOCUMENTS)
    try:
        build_bm25(job.backend, store.texts(job.first, job.end), target)
    finally:
        store.close()
    return str(target)


def new_folder(parent: str) -> Path:
    """Make a folder that no earlier attempt of the same work has written into."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
