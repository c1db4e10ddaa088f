"""Write a segment of a library: texts, metadata, passages, canonical URLs, BM25 and vectors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb.bm25 import Saturation, build_bm25, merge_bm25
from admiral.kb.embeddings import (
    QuantisedSentences,
    SentenceEncoder,
    no_vectors,
)
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore, DocumentWriter
from admiral.kb.store.title_index import write_titles
from admiral.kb.versions.embedding import embed_segment
from admiral.library.canonical_urls import canonical
from admiral.library.passage_windows import windows
from admiral.library.segment_files import SourceTable, SourceTableWriter, Spans
from admiral.library.source_records import Source
from admiral.records import Document

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
