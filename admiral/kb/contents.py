"""Documents and titles of one version: the rows of its base that are left, then its delta's."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import chain, compress
from pathlib import Path
from typing import TypeVar

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.arrays import open_array
from admiral.kb.checksums import REBUILD
from admiral.kb.store import DocumentStore
from admiral.kb.titles import TitleIndex
from admiral.kb.versions import Version
from admiral.records import Document

T = TypeVar("T")
DOCUMENTS, BM25, REMOVED = "documents", "bm25", "removed.npy"


class Contents:
    """Looks up documents and titles by row.

    A row is the base's by its number; the delta's documents have the rows behind. Rows that were
    removed are not there: a lookup raises IndexError.

    Attributes
    ----------
    folders
        The directories of the parts that have documents.
    rows
        One more than the last row.
    removed
        The rows of the base that are not there, int64, ascending.

    Raises
    ------
    AdmiralError
        If the files are damaged or do not fit together.
    """

    def __init__(self, version: Version) -> None:
        base, delta = version.manifest.base, version.manifest.delta
        self._path, self._first = version.path, base.documents
        self.rows = base.documents + (delta.documents if delta else 0)
        self.removed = np.empty(0, dtype=np.int64)
        if version.delta is not None and delta and delta.removed:
            self.removed = read_removed(version.delta / REMOVED, base.documents)
        self._there = bytearray(b"\x01") * self.rows  # one byte a row: 0 for a removed one
        np.frombuffer(self._there, dtype=np.uint8)[self.removed] = 0
        self.folders, sizes = [version.base], [base.documents]
        if version.delta is not None and delta and delta.documents:
            self.folders.append(version.delta)
            sizes.append(delta.documents)
        self.stores: list[DocumentStore] = []
        try:
            for folder in self.folders:
                self.stores.append(DocumentStore(folder / DOCUMENTS))
            self.indexes = [TitleIndex(folder) for folder in self.folders]
            fit = [*map(len, self.stores)] == sizes == [*map(len, self.indexes)]
            if not fit or len(self.removed) != (delta.removed if delta else 0):
                raise AdmiralError(
                    f"{version.path}: its parts do not hold the same documents. Build it again "
                    "with `admiral index`."
                )
        except BaseException:
            self.close()
            raise

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

    def row(self, title: str) -> int | None:
        """Return the row of a title as it is stored, or None."""
        for part in reversed(range(len(self.indexes))):
            row = self.indexes[part].row(title)
            if row is not None and row + part * self._first in self:
                return row + part * self._first
        return None

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        part, place = self._place(row)
        return self.indexes[part].title(place)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield title and row of the titles that begin with `prefix`, in order of code points."""
        first, *others = self.indexes
        found = first.complete(prefix)
        if self.removed.size:
            found = ((title, row) for title, row in found if row in self)
        if not others:
            return found
        added = ((title, row + self._first) for title, row in others[0].complete(prefix))
        return heapq.merge(found, added)

    def close(self) -> None:
        """Release the memory maps."""
        for store in self.stores:
            store.close()

    def _place(self, row: int) -> tuple[int, int]:
        """Return the number of the part that has a row, and the row there."""
        if row not in self:
            raise IndexError(f"row {row} of {self.rows}")
        return (1, row - self._first) if row >= self._first else (0, row)

    def _left(self, parts: Iterable[Iterator[T]]) -> Iterator[T]:
        """Yield what the parts yield, one for each row, but for the removed rows."""
        return compress(chain.from_iterable(parts), self._there)


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
