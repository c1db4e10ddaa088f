"""Read the files of a bm25s index, or several indexes as one collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import marisa_trie
import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.parameters import (
    DEFAULT,
    FIELDS,
    IndexSettings,
    damaged_index_error,
)
from admiral.kb.bm25.rescoring import FieldStatistics, bm25_scores, term_frequencies
from trie.npy_files import open_array

VOCABULARY, LENGTHS = "vocabulary.marisa", "lengths.npy"
# Errors of numpy and marisa-trie for files that are missing, truncated or modified.
_DAMAGE = (OSError, ValueError, RuntimeError, IndexError)

Postings = tuple[np.ndarray, np.ndarray]  # ascending rows, and the score of each


class _Field:
    """Memory-mapped arrays of one field; column ``c`` holds the postings of term ``c``."""

    def __init__(self, directory: Path, columns: int, documents: int) -> None:
        self._directory = directory
        # Plain views of the maps: slicing a memmap takes several times as long.
        self.data, self.indices, self.indptr = (
            np.asarray(open_array(directory / f"{name}.csc.index.npy"))
            for name in ("data", "indices", "indptr")
        )
        types = [array.dtype for array in (self.data, self.indices, self.indptr)]
        if types != [np.dtype(kind) for kind in (np.float32, np.int32, np.int64)]:
            raise ValueError(f"{directory.name}: arrays of types {types}")
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

    def postings(self, column: int) -> Postings:
        """Return the rows and scores of a column."""
        start, end = self.indptr[column], self.indptr[column + 1]
        return self.indices[start:end], self.data[start:end]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of tokens of each document, (documents,); only rescoring needs it.

        Raises
        ------
        AdmiralError
            If an early release built the index, which did not write lengths.
        """
        if self._lengths is None:
            raise damaged_index_error(self._directory, f"{LENGTHS} is missing")
        return self._lengths


class IndexFiles:
    """One bm25s index on disk.

    Parameters
    ----------
    directory
        Directory of the index.
    first
        Number of its first passage.

    Attributes
    ----------
    first, documents
        First passage and number of passages. Each is a document of its own for BM25.
    saturation
        Parameters of BM25.
    fields
        Arrays of each field that has any term.

    Raises
    ------
    AdmiralError
        If the index is missing or damaged.
    """

    def __init__(self, directory: Path, first: int = 0) -> None:
        settings = IndexSettings.load(directory)
        self.first, self.documents = first, settings.entries
        self.saturation = settings.saturation
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
            raise damaged_index_error(directory, str(error)) from error

    def terms(self) -> Iterator[str]:
        """Yield the terms in the order of their columns."""
        return map(self._vocabulary.restore_key, range(len(self._vocabulary)))

    def document_frequency(self, field: str, term: str) -> int:
        """Return the number of passages whose field has a term."""
        return sum(len(rows) for rows, _ in self.postings(field, term))

    def postings(self, field: str, term: str) -> Iterator[Postings]:
        """Yield the postings of a term, if it occurs in the index."""
        column = self._vocabulary.get(term)
        if column is not None and field in self.fields:
            yield self.fields[field].postings(column)


class CombinedField:
    """One field of several indexes as one collection, without the removed rows.

    Parameters
    ----------
    name
        ``title`` or ``text``.
    indexes
        Indexes whose rows follow each other, all with the same parameters of BM25.
    removed
        Removed rows, int64, ascending.
    """

    def __init__(self, name: str, indexes: Sequence[IndexFiles], removed: np.ndarray) -> None:
        self._name = name
        self._saturation = indexes[0].saturation if indexes else DEFAULT
        self._indexes = [index for index in indexes if name in index.fields]
        self._stored = [FieldStatistics.of(index.fields[name].lengths) for index in self._indexes]
        # Per index, a mask of the rows that are not removed; None if none is.
        self._live = [_live_rows(index, removed) for index in self._indexes]
        remaining = (
            stored if live is None else FieldStatistics.of(index.fields[name].lengths[live])
            for index, stored, live in zip(self._indexes, self._stored, self._live, strict=True)
        )
        self._combined = sum(remaining, start=FieldStatistics(0, 0))

    def postings(self, term: str) -> list[Postings]:
        """Return the postings of a term, scored with the statistics of the collection."""
        batches = []
        for index, stored, live in zip(self._indexes, self._stored, self._live, strict=True):
            for rows, scores in index.postings(self._name, term):
                idf = stored.idf(len(rows))
                if live is not None:
                    kept = live[rows]
                    rows, scores = rows[kept], scores[kept]
                if len(rows):
                    lengths = index.fields[self._name].lengths[rows]
                    batches.append((rows + index.first, scores, lengths, idf, stored.mean_length))
        if not batches:
            return []
        # Rescore all indexes at once: most postings are short, so the cost is per operation.
        sizes = [len(rows) for rows, *_ in batches]
        rows, scores, lengths, idfs, means = zip(*batches, strict=True)
        all_rows, all_lengths = np.concatenate(rows), np.concatenate(lengths)
        frequencies = term_frequencies(
            np.concatenate(scores),
            all_lengths,
            np.repeat(idfs, sizes),
            np.repeat(means, sizes),
            self._saturation,
        )
        idf = self._combined.idf(len(all_rows))
        mean_length = self._combined.mean_length
        scored = bm25_scores(frequencies, all_lengths, idf, mean_length, self._saturation)
        return [(all_rows, scored)]


def _live_rows(index: IndexFiles, removed: np.ndarray) -> npt.NDArray[np.bool_] | None:
    first, end = removed.searchsorted([index.first, index.first + index.documents])
    if first == end:
        return None
    live = np.ones(index.documents, dtype=np.bool_)
    live[removed[first:end] - index.first] = False
    return live
