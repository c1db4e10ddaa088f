"""Build the indexes of a directory of documents: titles, and BM25 if asked for.

With `BuildWorkers`, a build is split into shards. Workers first parse corpus files into documents
(`admiral.kb.corpus.sharded_corpora`), which is the expensive part. One process then reads these
documents in corpus order, resolves duplicate titles and writes them. Finally, workers index ranges
of rows, and the BM25 indexes are merged under the statistics of all documents. The result does not
depend on the workers. Workers exchange files, so all of them must see the knowledge base directory.

BM25 indexes long documents by passages. A text begins with the headings of its sections, since no
sentence has them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from admiral.io.text_cleaning import MATCHING_FORM
from admiral.kb.alias_index import write_aliases
from admiral.kb.bm25 import build_bm25, merge_bm25
from admiral.kb.bm25.passages import Text
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.title_index import write_titles
from admiral.records import SECTION_SEPARATOR, Document

# Longer documents are split into passages.
LONGEST_WHOLE = 40  # sentences
LONGEST_PASSAGE = 32  # sentences


def index_texts(documents: Iterable[Document], *, passages: bool) -> Iterator[tuple[str, Text]]:
    """Yield the title and the text of each document.

    `passages`: whether to split documents of more than `LONGEST_WHOLE` sentences. The text of these
    is a list of passages, each with the number of its first sentence.
    """
    for document in documents:
        count = len(document.sentences)
        if not passages or count <= LONGEST_WHOLE:
            yield document.title, _text(document, 0, count)
            continue
        bounds = [*passage_starts(document), count]
        spans = pairwise(bounds)
        yield document.title, [(start, _text(document, start, end)) for start, end in spans]


def passage_starts(document: Document) -> list[int]:
    """Return the first sentence of each passage of a document, ascending from 0.

    A passage holds as many whole sections as fit into `LONGEST_PASSAGE` sentences. Longer sections
    are split into passages of about equal length.
    """
    starts = [0]
    end = 0
    for length in _section_lengths(document):
        parts = -(-length // LONGEST_PASSAGE)
        for part in range(parts):
            part_length = length * (part + 1) // parts - length * part // parts
            if end + part_length - starts[-1] > LONGEST_PASSAGE:
                starts.append(end)
            end += part_length
    return starts


def _section_lengths(document: Document) -> Iterator[int]:
    """Yield the number of sentences of each section, in order."""
    if not document.sections:
        yield len(document.sentences)
        return
    for _, sentences in groupby(document.sections):
        yield sum(1 for _ in sentences)


def _text(document: Document, start: int, end: int) -> str:
    headings = dict.fromkeys(
        heading
        for section in dict.fromkeys(document.sections[start:end])
        for heading in section.split(SECTION_SEPARATOR)
        if heading
    )
    return " ".join((*headings, *document.sentences[start:end]))


NO_BM25 = "none"
SHARDS = "shards"


@dataclass(frozen=True, slots=True)
class BuildWorkers:
    """A pool of workers and the sizes of the shards that they process."""

    # calls a module-level function on each value and yields the results in order. The function and
    # the values must be picklable.
    map: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
    rows: int = 65_536  # approximate number of documents per BM25 shard
    shards: int = 256  # maximum number of reading jobs per corpus
    # larger uncompressed files of lines are split into ranges of about this many bytes
    bytes: int = 64 * 2**20


class IndexJob(NamedTuple):
    """A range of rows, `first` to `end`, of the documents in `directory`."""

    directory: str
    backend: str
    passages: bool
    first: int
    end: int


def write_indexes(
    directory: Path,
    bm25: str,
    progress: bool,
    workers: BuildWorkers | None = None,
    *,
    passages: bool,
    text_form: int = MATCHING_FORM,
) -> None:
    """Index the documents in ``documents/`` of a directory.

    - `directory`: directory of the documents; the indexes are written beside them.
    - `bm25`: BM25 backend, or ``none`` to build no BM25 index.
    - `workers`: workers that build the BM25 index in shards. None builds it in this process.
    - `passages`: whether the BM25 index scores long documents by their passages (`index_texts`).
    - `text_form`: form in which BM25 indexes texts (`admiral.io.text_cleaning`).
    """
    store = DocumentStore(directory / DOCUMENTS)
    try:
        write_titles(directory, store.titles)
        write_aliases(directory, store, len(store))
        if workers is not None and bm25 != NO_BM25:
            _index_in_shards(directory, bm25, workers, passages)
        elif bm25 != NO_BM25:
            texts = index_texts(store, passages=passages)
            build_bm25(bm25, texts, directory / BM25, progress=progress, text_form=text_form)
    finally:
        store.close()


def _index_in_shards(directory: Path, backend: str, workers: BuildWorkers, passages: bool) -> None:
    store = DocumentStore(directory / DOCUMENTS)
    # Each shard starts at the first batch at or after a multiple of `workers.rows`.
    rows = np.arange(0, len(store), workers.rows)
    firsts = store.rows[np.searchsorted(store.rows, rows)]
    ends = [*np.unique(firsts).tolist(), len(store)]
    store.close()
    jobs = [IndexJob(str(directory), backend, passages, *pair) for pair in pairwise(ends)]
    jobs = [job for job in jobs if job.first < job.end]
    shards = list(map(Path, workers.map(index_shard, jobs)))
    merge_bm25(backend, shards, directory / BM25)


def index_shard(job: IndexJob) -> str:
    """Build the BM25 index of one shard and return its directory."""
    directory = Path(job.directory)
    target = new_folder(str(directory / SHARDS))
    store = DocumentStore(directory / DOCUMENTS)
    try:
        documents = map(store.document, range(job.first, job.end))
        build_bm25(job.backend, index_texts(documents, passages=job.passages), target)
    finally:
        store.close()
    return str(target)


def new_folder(parent: str) -> Path:
    """Create a folder with a random name, so that a retried job never reuses an old one."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
