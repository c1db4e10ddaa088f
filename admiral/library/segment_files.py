"""Write and read the files of a segment of a library.

``sources/sources.arrow`` holds the metadata of the sources, ``sources/spans.npy`` the offsets of
all passages in the texts of their sources, and ``sources/starts.npy`` where those of each source
begin. Texts, canonical URLs (in place of titles), BM25 and vectors are stored as in a knowledge
base, with the source as the document; overlapping passages take no second copy of the text.
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb.bm25 import Saturation, build_bm25, merge_bm25
from admiral.kb.embeddings import QuantisedSentences, SentenceEncoder, no_vectors
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore, DocumentWriter
from admiral.kb.store.title_index import write_titles
from admiral.kb.stored_embeddings import embed_segment
from admiral.library.canonical_urls import canonical
from admiral.library.passage_windows import windows
from admiral.library.source_records import Source
from admiral.records import Document
from trie.token_trie import open_array

SOURCES = "sources"
_TABLE, _SPANS, _STARTS = "sources.arrow", "spans.npy", "starts.npy"
_FIELDS = ("url", "title", "site", "date", "language", "archive_url")
_SCHEMA = pa.schema([pa.field(name, pa.string(), nullable=False) for name in _FIELDS])
_BATCH_ROWS = 4096

Spans = Sequence[tuple[int, int]]


class SourceTableWriter:
    """Append the metadata and the passages of sources to a new folder."""

    def __init__(self, segment: Path) -> None:
        self._folder = segment / SOURCES
        self._folder.mkdir()
        # Not compressed, so that one row can be read from the memory map.
        self._sink = pa.OSFile(str(self._folder / _TABLE), "wb")
        self._writer = pa.ipc.new_file(self._sink, _SCHEMA)
        self._pending: list[Source] = []
        self._spans, self._starts = array("i"), array("q", [0])
        self.sources = self.passages = 0

    def append(self, source: Source, spans: Spans) -> None:
        """Add a source and the offsets of its passages."""
        self._pending.append(source)
        for span in spans:
            self._spans.extend(span)
        self.sources += 1
        self.passages += len(spans)
        self._starts.append(self.passages)
        if len(self._pending) == _BATCH_ROWS:
            self._flush()

    def close(self, *, complete: bool) -> None:
        """Finish the files, or abandon them."""
        try:
            if complete:
                self._flush()
                self._writer.close()
        finally:
            self._sink.close()
        if complete:
            spans = np.frombuffer(self._spans, np.int32).reshape(-1, 2)
            np.save(self._folder / _SPANS, spans, allow_pickle=False)
            starts = np.frombuffer(self._starts, np.int64)
            np.save(self._folder / _STARTS, starts, allow_pickle=False)

    def _flush(self) -> None:
        columns = [
            pa.array([getattr(source, name) for source in self._pending], pa.string())
            for name in _FIELDS
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
        self._pending = []


class SourceTable:
    """The metadata and the passages of the sources of a segment, by row, memory-mapped.

    Raises AdmiralError if the files are damaged or do not fit together.
    """

    def __init__(self, segment: Path) -> None:
        self._folder = segment / SOURCES
        try:
            table = pa.ipc.open_file(pa.memory_map(str(self._folder / _TABLE))).read_all()
            # Otherwise Arrow would follow damaged offsets beyond the buffers.
            table.validate(full=True)
            spans, starts = open_array(self._folder / _SPANS), open_array(self._folder / _STARTS)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from error
        if not table.schema.equals(_SCHEMA):
            raise self._damaged("unexpected columns")
        self._columns = {name: table.column(name) for name in _FIELDS}
        # Plain views of the maps: reading an element of a memmap takes ten times as long.
        self._spans, self.starts = np.asarray(spans), np.asarray(starts)
        fits = spans.dtype == np.int32 and spans.shape[1:] == (2,) and starts.dtype == np.int64
        if not fits or starts.shape != (table.num_rows + 1,):
            raise self._damaged("its files do not fit together")
        if self.starts[0] != 0 or self.starts[-1] != len(spans) or (np.diff(starts) < 0).any():
            raise self._damaged(f"{_STARTS}: not ascending to the number of passages")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def passages(self) -> int:
        """The number of passages."""
        return len(self._spans)

    def source(self, row: int, text: str) -> Source:
        """Return the source of a row, whose text is stored elsewhere."""
        return Source(text=text, **{n: column[row].as_py() for n, column in self._columns.items()})

    def url_and_title(self, row: int) -> tuple[str, str]:
        """Return the URL, as given, and the title of a row."""
        return self._columns["url"][row].as_py(), self._columns["title"][row].as_py()

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the offsets of the passages of a row."""
        part = self._spans[self.starts[row] : self.starts[row + 1]]
        return [(start, end) for start, end in part.tolist()]

    def row_of_passage(self, passage: int) -> int:
        """Return the row of the source of a passage."""
        return int(np.searchsorted(self.starts, passage, side="right")) - 1

    def _damaged(self, reason: object) -> AdmiralError:
        return AdmiralError(
            f"{self._folder}: damaged ({reason}). Run `admiral library verify`, then build the "
            "library again with `admiral library build`."
        )


# Passages that are indexed together. Indexing takes about 40 bytes of memory a posting; merging
# such indexes takes eight.
_SHARD_PASSAGES = 131_072


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """Settings of a library, which all its segments share."""

    # words, stride: number of words in a passage, and from one passage to the next
    words: int = 100
    stride: int = 50
    bm25: str = "bm25s"
    k1: float = 0.9  # k1, b: parameters of BM25. The defaults are those of SIDE (Pyserini's).
    b: float = 0.4

    @classmethod
    def of(cls, settings: dict[str, Any]) -> LibrarySettings:
        """Return the settings that a manifest records."""
        return cls(**{name: settings[name] for name in cls.__slots__})


def clean_source(source: Source) -> Source:
    """Return a source whose texts can be stored."""
    return Source(
        url=clean_title(source.url),
        title=clean_title(source.title),
        text=clean_text(source.text),
        site=clean_title(source.site),
        date=clean_title(source.date),
        language=clean_title(source.language),
        archive_url=clean_title(source.archive_url),
    )


class SegmentWriter:
    """Append cleaned sources to a new segment; a context manager."""

    def __init__(self, folder: Path, settings: LibrarySettings) -> None:
        self._folder, self._settings = folder, settings
        self._texts = DocumentWriter(folder / DOCUMENTS)
        self._table = SourceTableWriter(folder)

    @property
    def sources(self) -> int:
        """Number of sources written so far."""
        return self._table.sources

    @property
    def passages(self) -> int:
        """Number of passages of these sources."""
        return self._table.passages

    def append(self, source: Source, spans: Spans | None = None) -> None:
        """Add a source; `spans` are those of its passages, if they are known."""
        if spans is None:
            spans = windows(source.text, self._settings.words, self._settings.stride)
        self._texts.append(Document(canonical(source.url), (source.text,)))
        self._table.append(source, spans)

    def __enter__(self) -> Self:
        self._texts.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._texts.__exit__(kind, error, trace)
        finally:
            self._table.close(complete=error is None)


def write_source_indexes(folder: Path, settings: LibrarySettings, progress: bool) -> None:
    """Write the indexes of a segment whose sources are complete."""
    store, table = DocumentStore(folder / DOCUMENTS), SourceTable(folder)
    try:
        write_titles(folder, store.titles)
        entries = track_documents(
            _entries(store, table), "indexing passages", total=table.passages, enabled=progress
        )
        _write_bm25(folder / BM25, entries, settings)
    finally:
        store.close()


def _entries(store: DocumentStore, table: SourceTable) -> Iterator[tuple[str, str]]:
    """Yield the title and text of each passage as BM25 indexes them: in one field, as in SIDE."""
    for row, document in enumerate(store):
        (text,) = document.sentences
        _, title = table.url_and_title(row)
        for start, end in table.spans(row):
            yield "", f"{title}\n{text[start:end]}"


def _write_bm25(
    directory: Path, entries: Iterator[tuple[str, str]], settings: LibrarySettings
) -> None:
    saturation = Saturation(settings.k1, settings.b)
    shards: list[Path] = []
    while (first := next(entries, None)) is not None or not shards:
        shard = directory.with_name(f"{directory.name}-{len(shards)}")
        some = islice(chain([first], entries), _SHARD_PASSAGES) if first else iter(())
        build_bm25(settings.bm25, some, shard, saturation=saturation)
        shards.append(shard)
    if len(shards) == 1:
        shards[0].rename(directory)
        return
    merge_bm25(settings.bm25, shards, directory)
    for shard in shards:
        shutil.rmtree(shard)


def passages_as_document(table: SourceTable, row: int, text: str) -> Document:
    """Return the passages of a source as the sentences of a document, for an encoder."""
    _, title = table.url_and_title(row)
    return Document(title, tuple(text[start:end] for start, end in table.spans(row)))


def embed_new_sources(folder: Path, encoder: SentenceEncoder, progress: bool) -> None:
    """Embed all passages of a segment that no manifest lists yet."""
    store, table = DocumentStore(folder / DOCUMENTS), SourceTable(folder)
    try:
        documents = _documents(store, table, encoder.identity.width)
        embed_segment(folder, encoder, documents, len(table), progress)
    finally:
        store.close()


def _documents(
    store: DocumentStore, table: SourceTable, width: int
) -> Iterator[tuple[Document, QuantisedSentences]]:
    for row, document in enumerate(store):
        (text,) = document.sentences
        yield passages_as_document(table, row, text), no_vectors(width)
