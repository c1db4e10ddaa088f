"""Build the indexes of a directory of documents: titles, and BM25 if asked for.

With `BuildWorkers`, a build is split into shards. Workers first parse corpus files into documents
(`admiral.kb.build`), which is the expensive part. One process then reads these
documents in corpus order, resolves duplicate titles and writes them. Finally, workers index ranges
of rows, and the BM25 indexes are merged under the statistics of all documents. The result does not
depend on the workers. Workers exchange files, so all of them must see the knowledge base directory.

BM25 indexes long documents by passages. A text begins with the headings of its sections, since no
sentence has them. That of a passage of a page begins with the name of the page.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from admiral.io.text_cleaning import MATCHING_FORM
from admiral.kb.alias_index import write_aliases
from admiral.kb.bm25 import Saturation, build_bm25, merge_bm25
from admiral.kb.bm25.analysis import DEFAULT, Text
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import PAGES, DocumentStore
from admiral.kb.store.titles import write_titles
from admiral.records import SECTION_SEPARATOR, Document

# Longer documents are split into passages.
LONGEST_WHOLE = 40  # sentences
LONGEST_PASSAGE = 32  # sentences


def index_texts(documents: Iterable[Document], *, passages: bool) -> Iterator[tuple[str, Text]]:
    """Yield the title and the text of each document.

    `passages`: whether to split documents of more than `LONGEST_WHOLE` sentences. The text of these
    is a list of passages, each with the number of its first sentence. A page has its own passages,
    each with its number; they begin with the name of the page, which is no field of its own.
    """
    for document in documents:
        if document.page is not None:
            named = (f"{document.page.name}\n{part}" for part in document.parts)
            yield "", list(enumerate(named)) or ""
            continue
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


class Indexing(NamedTuple):
    """The settings of a BM25 index."""

    bm25: str  # the backend, or ``none`` for no index
    passages: bool  # whether it scores long documents by their passages (`index_texts`)
    saturation: Saturation = DEFAULT
    text_form: int = MATCHING_FORM  # of the texts (`admiral.io.text_cleaning`)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Indexing:
        """Return what the settings of a knowledge base say, of early releases too."""
        saturation = Saturation(settings.get("k1", DEFAULT.k1), settings.get("b", DEFAULT.b))
        return cls(str(settings["bm25"]), bool(settings.get("passages", False)), saturation)


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
    indexing: Indexing
    first: int
    end: int


def write_indexes(
    directory: Path, indexing: Indexing, progress: bool, workers: BuildWorkers | None = None
) -> None:
    """Index the documents in ``documents/`` of a directory; the indexes are written beside them.

    `workers`: workers that build the BM25 index in shards. None builds it in this process.
    """
    store = DocumentStore(directory / DOCUMENTS)
    try:
        write_titles(directory, store.titles, store.ids())
        write_aliases(directory, store, len(store))
        if workers is None and store.has(PAGES) and len(store) > _SHARD_PAGES:
            # They have many passages. Merging takes less memory than one index of all.
            workers = BuildWorkers(map, rows=_SHARD_PAGES)
        if indexing.bm25 != NO_BM25 and workers is not None:
            _index_in_shards(directory, indexing, workers)
        elif indexing.bm25 != NO_BM25:
            _build_bm25(store, indexing, directory / BM25, progress)
    finally:
        store.close()
    shutil.rmtree(directory / SHARDS, ignore_errors=True)


def _build_bm25(
    documents: Iterable[Document], indexing: Indexing, target: Path, progress: bool
) -> None:
    build_bm25(
        indexing.bm25,
        index_texts(documents, passages=indexing.passages),
        target,
        progress=progress,
        saturation=indexing.saturation,
        text_form=indexing.text_form,
    )


_SHARD_PAGES = 16_384


def _index_in_shards(directory: Path, indexing: Indexing, workers: BuildWorkers) -> None:
    store = DocumentStore(directory / DOCUMENTS)
    # Each shard starts at the first batch at or after a multiple of `workers.rows`.
    rows = np.arange(0, len(store), workers.rows)
    firsts = store.rows[np.searchsorted(store.rows, rows)]
    ends = [*np.unique(firsts).tolist(), len(store)]
    store.close()
    jobs = [IndexJob(str(directory), indexing, *pair) for pair in pairwise(ends)]
    jobs = [job for job in jobs if job.first < job.end]
    shards = list(map(Path, workers.map(index_shard, jobs)))
    merge_bm25(indexing.bm25, shards, directory / BM25)


def index_shard(job: IndexJob) -> str:
    """Build the BM25 index of one shard and return its directory."""
    directory = Path(job.directory)
    target = new_folder(str(directory / SHARDS))
    store = DocumentStore(directory / DOCUMENTS)
    try:
        documents = map(store.document, range(job.first, job.end))
        _build_bm25(documents, job.indexing, target, progress=False)
    finally:
        store.close()
    return str(target)


def new_folder(parent: str) -> Path:
    """Create a folder with a random name, so that a retried job never reuses an old one."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
