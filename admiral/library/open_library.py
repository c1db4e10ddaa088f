"""Open a library and search it, by BM25 or by vectors.

Vectors are searched exactly, in blocks, through a memory map. Stored components are integers of
eight bits. A query is rounded to 15 bits and split in two parts,
so that every product and sum is an integer that float32 holds exactly: the result does not depend
on the size of the blocks or on the order in which a BLAS library adds up.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25 import open_bm25
from admiral.kb.bm25.parameters import check_depth
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.collection import Collection, Snapshot, open_with
from admiral.kb.store.contents import BM25, Contents
from admiral.kb.store.manifest import CollectionKind, is_collection, read_manifest
from admiral.library.canonical_urls import canonical
from admiral.library.segment_files import SOURCES, SourceTable
from admiral.library.source_records import Passage, ScoredPassage, Source

BLOCK_PASSAGES = 16_384
_LOW, _SCALE = 128, 2**14

Floats = npt.NDArray[np.float32]


class DenseIndex:
    """The vectors of the passages of a library, for one encoder.

    `block`: number of passages that are compared with the queries together. Raises AdmiralError if
    a passage has no vector of this encoder.
    """

    def __init__(
        self,
        contents: LibraryContents,
        encoder: SentenceEncoder,
        path: Path,
        block: int = BLOCK_PASSAGES,
    ) -> None:
        self._contents, self._encoder, self._block = contents, encoder, block
        self._segments: list[npt.NDArray[np.int8]] = []
        for stored, table in zip(contents.contents.embeddings, contents.tables, strict=True):
            if table.passages == 0:
                self._segments.append(np.empty((0, encoder.identity.width), np.int8))
            elif stored is None or stored.encoder != encoder.identity:
                raise AdmiralError(
                    f"{path}: has no vectors of {encoder.identity.name}. Add them with `admiral "
                    "library embed`"
                )
            elif len(stored) != table.passages:
                raise AdmiralError(
                    f"{path}: passages were added after the others were embedded. Embed them with "
                    "`admiral library embed`"
                )
            else:
                self._segments.append(stored.vectors)
        self._live = np.ones(contents.firsts[-1], np.bool_)
        self._live[contents.removed_passages()] = False

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` passages with the highest cosine for each query, best first.

        Equal scores are in the order of the library. Raises AdmiralError if `k` is less than one.
        """
        vectors = np.asarray(self._encoder.unit_vectors(queries), np.float32)
        return [
            [ScoredPassage(self._contents.passage(number), score) for number, score in found]
            for found in self.search_vectors(vectors, k)
        ]

    def search_vectors(self, queries: Floats, k: int) -> list[list[tuple[int, float]]]:
        """Return the numbers and cosines of the `k` best passages for each unit vector.

        `queries` are (queries, width).
        """
        check_depth(k)
        high, low = _split(queries)
        numbers = np.empty((len(queries), 0), np.int64)
        scores = np.empty((len(queries), 0), np.float64)
        for first, block in self.blocks():
            vectors = block.astype(np.float32)
            norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
            products = (high @ vectors.T).astype(np.float64) * _LOW + low @ vectors.T
            products /= _SCALE * np.where(norms > 0, norms, 1.0)
            products[:, ~self._live[first : first + len(block)]] = -np.inf
            rows = np.broadcast_to(np.arange(first, first + len(block)), products.shape)
            numbers = np.concatenate([numbers, rows], axis=1)
            scores = np.concatenate([scores, products], axis=1)
            numbers, scores = _best(numbers, scores, k)
        return [
            [(n, s) for n, s in zip(*pair, strict=True) if s > -np.inf]
            for pair in zip(numbers.tolist(), scores.tolist(), strict=True)
        ]

    def blocks(self) -> Iterator[tuple[int, npt.NDArray[np.int8]]]:
        """Yield the number of the first passage and the vectors of each block."""
        for start, vectors in zip(self._contents.firsts, self._segments, strict=False):
            for offset in range(0, len(vectors), self._block):
                yield start + offset, vectors[offset : offset + self._block]


def _split(queries: Floats) -> tuple[Floats, Floats]:
    rounded = np.rint(queries.astype(np.float64) * _SCALE)
    high = np.rint(rounded / _LOW)
    return high.astype(np.float32), (rounded - high * _LOW).astype(np.float32)


def _best(
    numbers: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Keep the `k` best of each row, best first, equal scores in the order of numbers."""
    order = np.lexsort((numbers, -scores), axis=-1)[:, :k]
    return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)


class Library:
    """A memory-mapped library; safe to share between threads, and a context manager.

    An open library is one version, whatever other processes add, remove or build.
    """

    def __init__(self, collection: Collection, threads: int) -> None:
        self._collection = collection
        (snapshot,) = collection.snapshots
        self._manifest = snapshot.manifest
        self._open_contents: LibraryContents | None = LibraryContents(snapshot)
        try:
            # Now, not when it is first needed: another build may replace the files until then.
            self._bm25 = open_bm25(
                self._manifest.bm25,
                *(segment.folder / BM25 for segment in self._contents.contents.segments),
                removed=self._contents.removed_passages(),
                title_weight=0.0,
                threads=threads,
            )
        except BaseException:
            self._open_contents.close()
            raise
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, threads: int = 0) -> Library:
        """Open a library.

        Java assumes `threads` processors, at most four for 0; only for Lucene. Raises AdmiralError
        if there is no library, it cannot be read, or files are missing or truncated.
        """
        return open_with(
            checked_library_path(path), lambda collection: cls(collection, threads), LIBRARY
        )

    @property
    def path(self) -> Path:
        """Directory of the library."""
        return self._collection.path

    @property
    def digest(self) -> str:
        """Digest that identifies the version."""
        return self._manifest.digest

    @property
    def current(self) -> bool:
        """Whether this is still the newest version."""
        return read_manifest(self.path, LIBRARY).digest == self.digest

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the build: ``words``, ``stride``, ``bm25``, ``k1``, ``b``."""
        return dict(self._manifest.settings)

    @property
    def passage_count(self) -> int:
        """Number of passages."""
        return self._manifest.counts["passages"]

    def __len__(self) -> int:
        return self._manifest.documents

    def __contains__(self, url: str) -> bool:
        return self._contents.row(canonical(url)) is not None

    def source(self, url: str) -> Source | None:
        """Return the source with the same canonical URL, or None."""
        row = self._contents.row(canonical(url))
        return None if row is None else self._contents.source(row)

    def sources(self) -> Iterator[Source]:
        """Yield all sources."""
        return self._contents.sources()

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in order; none if it is unknown or has no text."""
        row = self._contents.row(canonical(url))
        return () if row is None else self._contents.passages(row)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query by BM25 over titles and texts.

        Only passages that share a term with the query are returned, equal scores in the order of
        the library. Raises AdmiralError if `k` is less than one, or files turn out to be damaged.
        """
        contents = self._contents
        return [
            [ScoredPassage(contents.passage(number), score) for number, score in found]
            for found in self._bm25.search_rows(queries, k)
        ]

    def dense(self, encoder: SentenceEncoder) -> DenseIndex:
        """Return an index of the vectors of an encoder.

        Raises AdmiralError if the library does not have the vectors of all passages from this
        encoder.
        """
        return DenseIndex(self._contents, encoder, self.path)

    def close(self) -> None:
        """Release all files; a second call does nothing."""
        with self._lock:
            if self._open_contents is not None:
                self._bm25.close()
                self._open_contents.close()
                self._open_contents = None
                self._collection.close()

    @property
    def _contents(self) -> LibraryContents:
        if self._open_contents is None:
            raise AdmiralError(f"{self.path}: the library was closed. Open it again")
        return self._open_contents

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


LIBRARY = CollectionKind(
    "admiral-library", "library", "admiral library build SOURCES --library PATH", (SOURCES,)
)


def is_library(directory: Path) -> bool:
    """Return whether a directory holds a library, of any version and in any state."""
    return is_collection(directory, LIBRARY)


def checked_library_path(path: str | Path) -> Path:
    """Return the absolute path of a library, so that it stays the same if the process moves."""
    return checked_kb_path(path, LIBRARY.noun).absolute()


class LibraryContents:
    """Sources and passages of a library.

    Its rows are those of its base segment, then those of its delta segment. Its passages are
    numbered in the same order, including those of removed sources. `firsts`: number of the first
    passage of each segment, and of all passages. Raises AdmiralError if files are damaged or do not
    fit together.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.contents = Contents([snapshot])
        try:
            self.tables = [SourceTable(s.folder) for s in self.contents.segments]
            for segment, table in zip(self.contents.segments, self.tables, strict=True):
                if len(table) != segment.documents:
                    raise AdmiralError(
                        f"{segment.folder}: its files do not hold the same sources. "
                        f"{LIBRARY.rebuild}"
                    )
        except BaseException:
            self.contents.close()
            raise
        sizes = [table.passages for table in self.tables]
        self.firsts = np.cumsum([0, *sizes]).tolist()

    def row(self, canonical_url: str) -> int | None:
        """Return the row of a source, or None."""
        return self.contents.row(canonical_url)

    def source(self, row: int) -> Source:
        """Return the source of a row."""
        table, offset = self._table(row)
        return table.source(offset, self.text(row))

    def sources(self) -> Iterator[Source]:
        """Yield all sources in the order of rows."""
        for row in self.contents.live_rows().tolist():
            yield self.source(row)

    def text(self, row: int) -> str:
        """Return the text of the source of a row."""
        (text,) = self.contents.document(row).sentences
        return text

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the offsets of the passages of a row."""
        table, offset = self._table(row)
        return table.spans(offset)

    def passages(self, row: int) -> tuple[Passage, ...]:
        """Return the passages of the source of a row."""
        table, offset = self._table(row)
        (url, title), text = table.url_and_title(offset), self.text(row)
        return tuple(
            Passage(url, title, number, start, end, text[start:end])
            for number, (start, end) in enumerate(table.spans(offset))
        )

    def passage(self, number: int) -> Passage:
        """Return the passage of a number."""
        segment = bisect_right(self.firsts, number) - 1
        offset = number - self.firsts[segment]
        table = self.tables[segment]
        row = table.row_of_passage(offset)
        url, title = table.url_and_title(row)
        within = offset - int(table.starts[row])
        start, end = table.spans(row)[within]
        text = self.text(self.contents.segments[segment].first + row)
        return Passage(url, title, within, start, end, text[start:end])

    def passage_numbers(self, row: int) -> range:
        """Return the numbers of the passages of a row, which may have been removed."""
        segment = self._segment(row)
        offset = row - self.contents.segments[segment].first
        first, end = self.tables[segment].starts[offset : offset + 2].tolist()
        return range(self.firsts[segment] + first, self.firsts[segment] + end)

    def removed_passages(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the passages of removed sources, ascending."""
        spans = [np.empty(0, np.int64)]
        for row in self.contents.removed.tolist():
            numbers = self.passage_numbers(row)
            spans.append(np.arange(numbers.start, numbers.stop))
        return np.concatenate(spans)

    def close(self) -> None:
        """Release the memory maps."""
        self.contents.close()

    def _segment(self, row: int) -> int:
        return bisect_right([segment.first for segment in self.contents.segments], row) - 1

    def _table(self, row: int) -> tuple[SourceTable, int]:
        """Return the table of the segment that holds a row, and the row within it."""
        segment = self._segment(row)
        return self.tables[segment], row - self.contents.segments[segment].first
