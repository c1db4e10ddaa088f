"""Documents and titles of an open snapshot, addressed by row.

The rows of a snapshot are those of its base segment, then those of its delta segment, if any.

Files that are open by memory map are watched: a read beyond the end of one that was cut off would
end the process (SIGBUS). Nothing of ours shortens a file in place, but a careless copy or a full
disk elsewhere may. Between two checks a few milliseconds remain.
"""

from __future__ import annotations

import heapq
import os
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.alias_index import FOLDER as ALIASES
from admiral.kb.alias_index import AliasIndex, SegmentAliases, SegmentIndex
from admiral.kb.embeddings import (
    EncoderIdentity,
    QuantisedSentences,
    StoredEmbeddings,
    dequantise,
    embedded_text,
    no_vectors,
    text_checksum,
)
from admiral.kb.store.document_store import IDS, ORIGINS, DocumentStore
from admiral.kb.store.snapshot import Snapshot
from admiral.kb.store.titles import TitleIndex
from admiral.records import Document, Sentence
from admiral.storage.atomic_files import REBUILD
from trie.token_trie import open_array

T = TypeVar("T")
DOCUMENTS, BM25, REMOVED = "documents", "bm25", "removed.npy"
GRAPH = "graph"  # written by `admiral.graph`


class Segment(NamedTuple):
    """A directory of documents that were indexed together."""

    folder: Path
    first: int
    documents: int
    embeddings: Path | None


class Contents:
    """Documents and titles by row.

    Looking up a removed row raises IndexError. `removed`: removed rows, all of the base segment,
    int64, ascending. `embeddings`: sentence embeddings of each segment; None for a segment that has
    none. Raises AdmiralError if files are damaged or do not fit together.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.segments = _segments(snapshot)
        self.removed = _removed_rows(snapshot)
        self.rows = sum(segment.documents for segment in self.segments)
        self._firsts = [segment.first for segment in self.segments]
        self._is_live = bytearray(b"\x01") * self.rows  # one byte per row, 0 if removed
        np.frombuffer(self._is_live, dtype=np.uint8)[self.removed] = 0
        self.stores: list[DocumentStore] = []
        try:
            for segment in self.segments:
                self.stores.append(DocumentStore(segment.folder / DOCUMENTS))
            self.indexes = [TitleIndex(segment.folder) for segment in self.segments]
            for segment, store, index in zip(self.segments, self.stores, self.indexes, strict=True):
                if not segment.documents == len(store) == len(index):
                    raise _inconsistent_error(snapshot)
            self.embeddings = [
                StoredEmbeddings(segment.embeddings) if segment.embeddings else None
                for segment in self.segments
            ]
            for segment, embeddings in zip(self.segments, self.embeddings, strict=True):
                if embeddings is not None and embeddings.documents != segment.documents:
                    raise _inconsistent_error(snapshot)
            self.aliases = SegmentAliases(self._open_aliases(), self.__contains__)
        except BaseException:
            self.close()
            raise

    def _open_aliases(self) -> list[SegmentIndex]:
        return [
            SegmentIndex(AliasIndex(segment.folder), segment.first, segment.documents)
            for segment in self.segments
            if (segment.folder / ALIASES).is_dir()
        ]

    def __contains__(self, row: int) -> bool:
        return 0 <= row < self.rows and self._is_live[row] == 1

    def live_rows(self) -> np.ndarray:
        """Return all rows that are not removed: int64, ascending."""
        return np.flatnonzero(np.frombuffer(self._is_live, dtype=np.uint8))

    def document(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
        number, offset = self._locate(row)
        return self.stores[number].document(offset)

    def embedded(self, row: int, encoder: EncoderIdentity) -> QuantisedSentences:
        """Return the vectors that an encoder made of the sentences of a row; none if not stored."""
        number, offset = self._locate(row)
        embeddings = self.embeddings[number]
        if embeddings is None or embeddings.encoder != encoder:
            return no_vectors(encoder.width)
        return embeddings.row(offset)

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of rows."""
        return self._skip_removed(iter(store) for store in self.stores)

    def titles(self) -> Iterator[str]:
        """Yield all titles in the order of rows."""
        return self._skip_removed(store.titles() for store in self.stores)

    def have(self, *names: str) -> bool:
        """Return whether documents have values in any of some optional files (`DocumentStore`)."""
        return any(store.has(name) for store in self.stores for name in names)

    def titles_of_sources(self) -> dict[str, str]:
        """Return the title of each document that was read from a file, by its source."""
        if not self.have(ORIGINS):
            return {}
        sources = self._skip_removed(store.sources() for store in self.stores)
        return {s: title for s, title in zip(sources, self.titles(), strict=True) if s}

    def titles_of_ids(self) -> dict[str, str]:
        """Return the title of each document that has an id, by its id; the first of equal ids."""
        if not self.have(IDS):
            return {}
        ids = self._skip_removed(store.ids() for store in self.stores)
        titles: dict[str, str] = {}
        for id, title in zip(ids, self.titles(), strict=True):
            if id:
                titles.setdefault(id, title)
        return titles

    def row(self, title: str) -> int | None:
        """Return the row of a cleaned title, or None."""
        for segment, index in zip(self.segments, self.indexes, strict=True):
            row = index.row(title)
            if row is not None and row + segment.first in self:
                return row + segment.first
        return None

    def row_of_id(self, id: str) -> int | None:
        """Return the first row of an id, or None; only indexes of this release have ids."""
        for segment, index in zip(self.segments, self.indexes, strict=True):
            row = index.row_of_id(id)
            if row is not None and row + segment.first in self:
                return row + segment.first
        return None

    def row_of_form(self, form: str) -> int | None:
        """Return the first row of a title with a matching form that the title differs from."""
        for segment, index in zip(self.segments, self.indexes, strict=True):
            for row in index.rows_of_form(form):
                if row + segment.first in self:
                    return row + segment.first
        return None

    def complete_form(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that differ from their matching form, which begins with `prefix`."""
        for segment, index in zip(self.segments, self.indexes, strict=True):
            for title, row in index.complete_form(prefix):
                if row + segment.first in self:
                    yield title, row + segment.first

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        number, offset = self._locate(row)
        return self.indexes[number].title(offset)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order."""
        completions = [self._complete(number, prefix) for number in range(len(self.segments))]
        return completions[0] if len(completions) == 1 else heapq.merge(*completions)

    def _complete(self, number: int, prefix: str) -> Iterator[tuple[str, int]]:
        first, completions = self.segments[number].first, self.indexes[number].complete(prefix)
        if first:
            completions = ((title, row + first) for title, row in completions)
        if self.removed.size:
            completions = ((title, row) for title, row in completions if row in self)
        return completions

    def close(self) -> None:
        """Close the files of the documents."""
        for store in self.stores:
            store.close()

    def _locate(self, row: int) -> tuple[int, int]:
        """Return the number of the segment that holds a row, and the row within the segment."""
        if row not in self:
            raise IndexError(f"row {row} of {self.rows}")
        number = bisect_right(self._firsts, row) - 1
        return number, row - self._firsts[number]

    def _skip_removed(self, segments: Iterable[Iterator[T]]) -> Iterator[T]:
        """Chain the values of all segments, one per row, without those of removed rows."""
        return compress(chain.from_iterable(segments), self._is_live)


def _segments(snapshot: Snapshot) -> list[Segment]:
    base, delta = snapshot.manifest.base, snapshot.manifest.delta
    embeddings = snapshot.embeddings(base.path)
    segments = [Segment(snapshot.base, 0, base.documents, embeddings)]
    if snapshot.delta is not None and delta and delta.documents:
        embeddings = snapshot.embeddings(delta.path)
        segments.append(Segment(snapshot.delta, base.documents, delta.documents, embeddings))
    return segments


def _removed_rows(snapshot: Snapshot) -> np.ndarray:
    base, delta = snapshot.manifest.base, snapshot.manifest.delta
    if snapshot.delta is None or not delta or not delta.removed:
        return np.empty(0, dtype=np.int64)
    removed = read_removed(snapshot.delta / REMOVED, base.documents)
    if len(removed) != delta.removed:
        raise _inconsistent_error(snapshot)
    return removed


def _inconsistent_error(snapshot: Snapshot) -> AdmiralError:
    return AdmiralError(
        f"{snapshot.path}: its files do not hold the same documents. Build it again with "
        "`admiral index`."
    )


def read_removed(path: Path, rows: int) -> np.ndarray:
    """Read the removed rows of a base segment.

    Return int64, ascending. Raises AdmiralError if the file cannot be read or does not hold
    ascending rows of the base segment.
    """
    try:
        removed = open_array(path, mapped=False)
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). {REBUILD}") from error
    valid = removed.ndim == 1 and removed.dtype == np.int64 and (np.diff(removed) > 0).all()
    if not valid or not removed.size or removed[0] < 0 or removed[-1] >= rows:
        raise AdmiralError(f"{path}: damaged (not rows of the base in ascending order). {REBUILD}")
    return removed


class StoredVectors:
    """Unit vectors of the sentences of a knowledge base, as an encoder made them.

    The vectors of other encoders are not used.
    """

    def __init__(self, contents: Contents, encoder: EncoderIdentity) -> None:
        self._contents, self._encoder = contents, encoder

    def unit_vectors(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """Return the vectors of sentences, float32, (sentences, width).

        The vector is zero where none is stored for a sentence with this title, index and text.
        """
        quantised = np.zeros((len(sentences), self._encoder.width), np.int8)
        by_title = groupby(enumerate(sentences), key=lambda pair: pair[1].title)
        for title, group in by_title:
            row = self._contents.row(title)
            if row is None:
                continue
            stored = self._contents.embedded(row, self._encoder)
            for position, sentence in group:
                if sentence.index >= len(stored):
                    continue
                text = embedded_text(title, sentence.text)
                if stored.checksums[sentence.index] == text_checksum(text):
                    quantised[position] = stored.vectors[sentence.index]
        return dequantise(quantised)


# A check asks for the sizes of some tens of files, which takes tens of microseconds.
_INTERVAL = 0.01  # seconds


class ChangedFileError(AdmiralError):
    """Error for a file that is no longer as it was when it was opened.

    `path`: the file. `change`: how it differs.
    """

    def __init__(self, path: Path, change: str) -> None:
        self.path, self.change = path, change
        super().__init__(
            f"{path}: was cut off or replaced while it was open ({change}). Restore it, or build "
            "the knowledge base again with `admiral index`, and start again."
        )


class OpenedFiles:
    """The sizes and inodes of files when they were opened; safe to share between threads."""

    def __init__(self) -> None:
        self._states: dict[Path, _State] = {}
        self._next_check = 0.0
        self._changed: tuple[Path, str] | None = None

    def add(self, files: Iterable[Path]) -> None:
        """Remember files that were just opened; those that do not exist are left out."""
        for path in files:
            known, state = self._states.get(path), _state(path)
            if state is not None and (known is None or known.file != state.file):
                self._states[path] = state

    def check(self) -> None:
        """Raise `ChangedFileError` if a file has another size than when it was opened.

        From then on, every check raises it. Files that were removed, or whose place another file
        has taken, stay open as they were.
        """
        now = time.monotonic()
        if self._changed is None and now >= self._next_check:
            self._next_check = now + _INTERVAL
            for path, opened in list(self._states.items()):
                state = _state(path)
                if state is not None and state.file == opened.file and state != opened:
                    self.refuse(path, f"{state.size:,} bytes instead of {opened.size:,}")
        if self._changed is not None:
            raise ChangedFileError(*self._changed)

    def refuse(self, path: Path, change: str) -> None:
        """Make every check raise the error for a file."""
        self._changed = path, change

    def replaced(self) -> Path | None:
        """Return a file whose place another file has taken, if there is one."""
        for path, opened in list(self._states.items()):
            state = _state(path)
            if state is not None and state.file != opened.file:
                return path
        return None


class _State(NamedTuple):
    file: tuple[int, int]  # device and inode
    size: int


def _state(path: Path) -> _State | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _State((status.st_dev, status.st_ino), status.st_size)
