"""Passages: the parts of long documents that an index scores.

A document is indexed as one passage, or as several if it is long; its score is that of its best
passage. Passages are numbered in the order of rows. ``passages.npy`` lists those that are not the
first of their document; an index without long documents does not have this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.parameters import IndexSettings, damaged_index_error
from trie.token_trie import open_array

FILE = "passages.npy"
# The text of a document, or the first sentence and the text of each of its passages.
Text = str | Sequence[tuple[int, str]]
Rows = npt.NDArray[np.int64]


class Passages:
    """Numbers of the passages of one or more indexes.

    `later` holds the row and the first sentence of each passage that is not the first of its
    document, ascending: int64, (passages - documents, 2).
    """

    def __init__(self, documents: int, later: npt.NDArray[np.int64]) -> None:
        self.documents = documents
        self._later_rows, self._later_sentences = later[:, 0], later[:, 1]
        # The number of each later passage, int64, ascending.
        self._later = self._later_rows + np.arange(1, len(later) + 1)

    @classmethod
    def open(cls, *directories: Path) -> Passages:
        """Read the passages of indexes whose rows follow each other.

        Raises AdmiralError if a file is missing or damaged.
        """
        parts, documents = [np.empty((0, 2), dtype=np.int64)], 0
        for directory in directories:
            settings = IndexSettings.load(directory)
            if settings.passages is not None:
                parts.append(_read(directory, settings) + np.array([documents, 0]))
            documents += settings.documents
        return cls(documents, np.concatenate(parts))

    def __len__(self) -> int:
        return self.documents + len(self._later)

    def rows(self, passages: Rows) -> Rows:
        """Return the row of each passage."""
        return passages - self._later.searchsorted(passages, side="right")

    def of_rows(self, rows: Rows) -> Rows:
        """Return the numbers of all passages of some rows, ascending; `rows` are ascending."""
        if not len(self._later):
            return rows
        return np.flatnonzero(np.isin(self.rows(np.arange(len(self))), rows))

    def of_row(self, row: int) -> range:
        """Return the numbers of the passages of one row."""
        first, end = self._later_rows.searchsorted([row, row + 1])
        return range(row + int(first), row + int(end) + 1)

    def sentences(self, row: int) -> list[tuple[int, int | None]]:
        """Return the first sentence of each passage of a row and the end, None for the last."""
        first, end = self._later_rows.searchsorted([row, row + 1])
        starts = [0, *self._later_sentences[first:end].tolist()]
        return list(zip(starts, [*starts[1:], None], strict=True))

    def best(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the score of the best passage of each row, (documents,)."""
        if not len(self._later):
            return scores
        best = np.delete(scores, self._later)
        np.maximum.at(best, self._later_rows, scores[self._later])
        return best

    def save(self, directory: Path) -> int | None:
        """Write the file, unless no document has several passages.

        Return the number of passages; None if there is no file.
        """
        if not len(self._later):
            return None
        later = np.stack([self._later_rows, self._later_sentences], axis=1)
        np.save(directory / FILE, later, allow_pickle=False)
        return len(self)


class Entry(NamedTuple):
    """The indexed fields of a passage."""

    title: str
    text: str


class PassageRecorder:
    """Turn documents into the entries of an index, and note their passages.

    `documents` are (title, text) pairs, read once.
    """

    def __init__(self, documents: Iterable[tuple[str, Text]]) -> None:
        self._documents = documents
        self._count = 0
        self._later: list[tuple[int, int]] = []

    def entries(self) -> Iterator[Entry]:
        """Yield the entry of each passage, with the title of its document."""
        for row, (title, text) in enumerate(self._documents):
            self._count = row + 1
            passages = [(0, text)] if isinstance(text, str) else text
            for number, (first_sentence, passage) in enumerate(passages):
                if number:
                    self._later.append((row, first_sentence))
                yield Entry(title, passage)

    @property
    def passages(self) -> Passages:
        """The passages of all documents read so far."""
        later = np.array(self._later, dtype=np.int64).reshape(-1, 2)
        return Passages(self._count, later)


def _read(directory: Path, settings: IndexSettings) -> npt.NDArray[np.int64]:
    try:
        later = open_array(directory / FILE, mapped=False)
    except (OSError, ValueError) as error:
        raise damaged_index_error(directory, f"{FILE}: {error}") from error
    expected = (settings.entries - settings.documents, 2)
    valid = later.shape == expected and later.dtype == np.int64 and len(later) > 0
    if valid:
        rows, sentences = later[:, 0], later[:, 1]
        same_row = np.diff(rows, prepend=-1) == 0
        ascending = np.where(same_row, np.diff(sentences, prepend=0), sentences) > 0
        valid = bool((np.diff(rows, prepend=0) >= 0).all() and ascending.all())
        valid = valid and int(rows[-1]) < settings.documents
    if not valid:
        raise damaged_index_error(directory, f"{FILE}: not passages in ascending order")
    return later


def first_entries(directories: Sequence[Path]) -> list[int]:
    """Return the number of the first passage of each index, and the total number."""
    sizes = (IndexSettings.load(directory).entries for directory in directories)
    return list(accumulate(sizes, initial=0))
