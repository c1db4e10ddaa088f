"""Documents and titles of the versions that are open: the rows of their parts one after the other.

A version has the rows of its base, then those of its delta, if there is one. Of a joined knowledge
base, the rows of each member follow those of the member before.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.snapshot import Version
from admiral.kb.store.title_index import TitleIndex
from admiral.records import Document
from admiral.storage.checksums import REBUILD
from trie.index.arrays import open_array

T = TypeVar("T")
DOCUMENTS, BM25, REMOVED = "documents", "bm25", "removed.npy"


class Part(NamedTuple):
    """A directory of documents that were indexed together.

    Attributes
    ----------
    member
        The number of the version that it belongs to.
    is_base
        Whether it is that version's base, not its delta.
    folder
        The directory.
    first, documents
        The rows are so many from `first` on.
    """

    member: int
    is_base: bool
    folder: Path
    first: int
    documents: int


class Contents:
    """Looks up documents and titles by row.

    Rows that were removed are not there: a lookup raises IndexError.

    Attributes
    ----------
    parts
        The parts that have documents, in the order of rows.
    rows
        One more than the last row.
    removed
        The rows that are not there, int64, ascending.
    hidden
        Those of them that `hide` was told of.

    Raises
    ------
    AdmiralError
        If the files are damaged or do not fit together.
    """

    def __init__(self, versions: Sequence[Version]) -> None:
        self.parts: list[Part] = []
        self.rows = 0
        removed = [self._place_parts(number, version) for number, version in enumerate(versions)]
        self.removed = np.concatenate(removed)
        self.hidden = np.empty(0, dtype=np.int64)
        self._firsts = [part.first for part in self.parts]
        self._there = bytearray(b"\x01") * self.rows  # one byte a row: 0 for a removed one
        np.frombuffer(self._there, dtype=np.uint8)[self.removed] = 0
        self.stores: list[DocumentStore] = []
        try:
            for part in self.parts:
                self.stores.append(DocumentStore(part.folder / DOCUMENTS))
            self.indexes = [TitleIndex(part.folder) for part in self.parts]
            for part, store, index in zip(self.parts, self.stores, self.indexes, strict=True):
                if not part.documents == len(store) == len(index):
                    raise _unfit(versions[part.member])
        except BaseException:
            self.close()
            raise

    def _place_parts(self, number: int, version: Version) -> np.ndarray:
        """Append the parts of a version; return its removed rows."""
        base, delta = version.manifest.base, version.manifest.delta
        removed = np.empty(0, dtype=np.int64)
        if version.delta is not None and delta and delta.removed:
            removed = read_removed(version.delta / REMOVED, base.documents)
        if len(removed) != (delta.removed if delta else 0):
            raise _unfit(version)
        removed += self.rows
        self.parts.append(Part(number, True, version.base, self.rows, base.documents))
        self.rows += base.documents
        if version.delta is not None and delta and delta.documents:
            self.parts.append(Part(number, False, version.delta, self.rows, delta.documents))
            self.rows += delta.documents
        return removed

    def hide(self, rows: np.ndarray) -> None:
        """Take rows whose titles others have, int64 and ascending, for removed, too.

        It is for whoever has just opened it.
        """
        self.hidden, self.removed = rows, np.union1d(self.removed, rows)
        np.frombuffer(self._there, dtype=np.uint8)[rows] = 0

    def __contains__(self, row: int) -> bool:
        return 0 <= row < self.rows and self._there[row] == 1

    def live(self) -> np.ndarray:
        """Return the rows that are there: int64, ascending."""
        return np.flatnonzero(np.frombuffer(self._there, dtype=np.uint8))

    def document(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
        part, place = self._place(row)
        return self.stores[part].document(place)

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of rows."""
        return self._left(iter(store) for store in self.stores)

    def titles(self) -> Iterator[str]:
        """Yield all titles in the order of rows."""
        return self._left(store.titles() for store in self.stores)

    def titled(self, number: int) -> Iterator[tuple[str, int]]:
        """Yield title and row of the documents of one of the parts."""
        part = self.parts[number]
        rows = range(part.first, part.first + part.documents)
        pairs = zip(self.stores[number].titles(), rows, strict=True)
        return compress(pairs, self._there[rows.start : rows.stop])

    def row(self, title: str) -> int | None:
        """Return the row of a title as it is stored, the first one of several; or None."""
        return next(self.rows_of(title), None)

    def rows_of(self, title: str, member: int | None = None) -> Iterator[int]:
        """Yield all rows of a title as it is stored, ascending; of one member, or of all."""
        for part, index in zip(self.parts, self.indexes, strict=True):
            if member in (None, part.member):
                row = index.row(title)
                if row is not None and row + part.first in self:
                    yield row + part.first

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        part, place = self._place(row)
        return self.indexes[part].title(place)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield title and row of the titles that begin with `prefix`, in order of code points."""
        found = [self._complete(number, prefix) for number in range(len(self.parts))]
        return found[0] if len(found) == 1 else heapq.merge(*found)

    def _complete(self, number: int, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield what one part completes."""
        first, found = self.parts[number].first, self.indexes[number].complete(prefix)
        if first:
            found = ((title, row + first) for title, row in found)
        if self.removed.size:
            found = ((title, row) for title, row in found if row in self)
        return found

    def member(self, row: int) -> int:
        """Return the number of the version that a row belongs to."""
        return self.parts[self._place(row)[0]].member

    def close(self) -> None:
        """Release the memory maps."""
        for store in self.stores:
            store.close()

    def _place(self, row: int) -> tuple[int, int]:
        """Return the number of the part that has a row, and the row there."""
        if row not in self:
            raise IndexError(f"row {row} of {self.rows}")
        part = bisect_right(self._firsts, row) - 1
        return part, row - self._firsts[part]

    def _left(self, parts: Iterable[Iterator[T]]) -> Iterator[T]:
        """Yield what the parts yield, one for each row, but for the removed rows."""
        return compress(chain.from_iterable(parts), self._there)


def _unfit(version: Version) -> AdmiralError:
    return AdmiralError(
        f"{version.path}: its parts do not hold the same documents. Build it again with "
        "`admiral index`."
    )


def read_removed(path: Path, rows: int) -> np.ndarray:
    """Read the removed rows of a base of so many `rows`; AdmiralError if they cannot be."""
    try:
        removed = open_array(path, mapped=False)
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). {REBUILD}") from error
    sound = removed.ndim == 1 and removed.dtype == np.int64 and (np.diff(removed) > 0).all()
    if not sound or not removed.size or removed[0] < 0 or removed[-1] >= rows:
        raise AdmiralError(f"{path}: damaged (not rows of the base in ascending order). {REBUILD}")
    return removed
