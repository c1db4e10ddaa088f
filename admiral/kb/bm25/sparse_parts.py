"""The files of a bm25s index, and the columns of several of them under common statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import marisa_trie
import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.rescoring import Statistics, occurrences, scores_of
from admiral.kb.bm25.settings import FIELDS, Settings, damaged
from trie.index.arrays import open_array

VOCABULARY, LENGTHS = "vocabulary.marisa", "lengths.npy"
# What numpy and marisa-trie raise on files that are missing, cut or changed.
_DAMAGE = (OSError, ValueError, RuntimeError, IndexError)

Column = tuple[np.ndarray, np.ndarray]  # rows, ascending, and the score of each


class _Field:
    """The memory-mapped arrays of one field: column ``c`` holds the scores of term ``c``."""

    def __init__(self, directory: Path, columns: int, documents: int) -> None:
        self._directory = directory
        # Plain views of the maps: a slice of a memmap takes several times as long to make.
        self.data, self.indices, self.indptr = (
            np.asarray(open_array(directory / f"{name}.csc.index.npy"))
            for name in ("data", "indices", "indptr")
        )
        kinds = [array.dtype for array in (self.data, self.indices, self.indptr)]
        if kinds != [np.dtype(kind) for kind in (np.float32, np.int32, np.int64)]:
            raise ValueError(f"{directory.name}: arrays of types {kinds}")
        if self.indptr.shape != (columns + 1,) or self.data.shape != self.indices.shape:
            raise ValueError(f"{directory.name}: arrays of unequal lengths")
        ends = self.indptr[[0, -1]].tolist()
        if ends != [0, len(self.data)] or (np.diff(self.indptr) < 0).any():
            raise ValueError(f"{directory.name}: columns out of order")
        self._lengths: np.ndarray | None = None
        if (directory / LENGTHS).is_file():
            self._lengths = np.asarray(open_array(directory / LENGTHS))
            if self._lengths.shape != (documents,) or self._lengths.dtype != np.int32:
                raise ValueError(f"{directory.name}: lengths of other documents")

    def column(self, number: int) -> Column:
        """Return the rows of a column and their scores."""
        start, end = self.indptr[number], self.indptr[number + 1]
        return self.indices[start:end], self.data[start:end]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """The number of terms of each document; only a changed collection asks for them.

        Raises
        ------
        AdmiralError
            If there are none: earlier releases did not write them.
        """
        if self._lengths is None:
            raise damaged(self._directory, f"{LENGTHS} is missing")
        return self._lengths


class Part:
    """One index on disk.

    Parameters
    ----------
    directory
        Where it lies.
    first
        The row of its first document.

    Attributes
    ----------
    first, documents
        Its rows are these many from `first` on.
    fields
        The arrays of each field that has a term at all.
    """

    def __init__(self, directory: Path, first: int = 0) -> None:
        self.first, self.documents = first, Settings.load(directory).documents
        try:
            self._vocabulary = marisa_trie.Trie().mmap(str(directory / VOCABULARY))
            columns = len(self._vocabulary)
            self.fields = {
                name: _Field(directory / name, columns, self.documents)
                for name in FIELDS
                if (directory / name).is_dir()
            }
            if columns and not self.fields:
                raise ValueError("the arrays of both fields are missing")
        except _DAMAGE as error:
            raise damaged(directory, str(error)) from error

    def terms(self) -> Iterator[str]:
        """Yield the terms in the order of their columns."""
        return map(self._vocabulary.restore_key, range(len(self._vocabulary)))

    def columns(self, field: str, term: str) -> Iterator[Column]:
        """Yield the rows and scores of a term, if there are any."""
        number = self._vocabulary.get(term)
        if number is not None and field in self.fields:
            yield self.fields[field].column(number)


class CollectedField:
    """One field of several parts, without the removed rows, as one collection."""

    def __init__(self, name: str, parts: Sequence[Part], removed: np.ndarray) -> None:
        self._name = name
        self._parts = [part for part in parts if name in part.fields]
        self._before = [Statistics.of(part.fields[name].lengths) for part in self._parts]
        # Of each part, which rows count; None for all.
        self._there = [_there(part, removed) for part in self._parts]
        kept = (
            before if there is None else Statistics.of(part.fields[name].lengths[there])
            for part, before, there in zip(self._parts, self._before, self._there, strict=True)
        )
        self._now = sum(kept, start=Statistics(0, 0))

    def columns(self, term: str) -> list[Column]:
        """Return the rows of a term and their scores in the collection, if there are any."""
        found = []
        for part, before, there in zip(self._parts, self._before, self._there, strict=True):
            for rows, scores in part.columns(self._name, term):
                idf = before.idf(len(rows))
                if there is not None:
                    kept = there[rows]
                    rows, scores = rows[kept], scores[kept]
                if len(rows):
                    lengths = part.fields[self._name].lengths[rows]
                    found.append((rows + part.first, scores, lengths, idf, before.mean))
        if not found:
            return []
        # All parts at once: most columns are short, and each operation has its price.
        each = [len(rows) for rows, *_ in found]
        rows, scores, lengths, idfs, means = zip(*found, strict=True)
        where, long = np.concatenate(rows), np.concatenate(lengths)
        times = occurrences(
            np.concatenate(scores), long, np.repeat(idfs, each), np.repeat(means, each)
        )
        return [(where, scores_of(times, long, self._now.idf(len(where)), self._now.mean))]


def _there(part: Part, removed: np.ndarray) -> npt.NDArray[np.bool_] | None:
    first, end = removed.searchsorted([part.first, part.first + part.documents])
    if first == end:
        return None
    there = np.ones(part.documents, dtype=np.bool_)
    there[removed[first:end] - part.first] = False
    return there
