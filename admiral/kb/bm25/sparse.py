"""The JVM-free backend: bm25s, one memory-mapped index of precomputed scores per field.

    bm25.json               settings, written last
    vocabulary.marisa       term -> column, for both fields
    title/, text/           bm25s: data, indices and indptr of a compressed column matrix

Document frequencies and mean lengths are those of the documents whose field has a term at all,
as in Lucene; other than Lucene's, document lengths are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import marisa_trie
import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25.settings import (
    FIELDS,
    Settings,
    check_depth,
    check_weights,
    clean_query,
    damaged,
)

BACKEND = "bm25s"
VOCABULARY = "vocabulary.marisa"
# What numpy and marisa-trie raise on files that are missing, cut or changed.
_DAMAGE = (OSError, ValueError, RuntimeError, IndexError, EOFError)


def load_analysis() -> Any:
    """Return our analysis; `AdmiralError` if one of its packages is missing."""
    try:
        from admiral.kb.bm25 import analysis
    except ImportError as error:
        raise missing(error) from error
    return analysis


def missing(error: ImportError) -> AdmiralError:
    """Return the error for a package that is not installed."""
    return AdmiralError(
        f"The bm25s backend needs a package that is not installed ({error}). "
        "Install it with `pip install bm25s PyStemmer regex`, or use `--bm25 lucene`."
    )


class _Columns:
    """The memory-mapped arrays of one field: column ``c`` holds the scores of term ``c``."""

    def __init__(self, directory: Path, columns: int) -> None:
        self.data, self.indices, self.indptr = (
            np.load(directory / f"{name}.csc.index.npy", mmap_mode="r", allow_pickle=False)
            for name in ("data", "indices", "indptr")
        )
        kinds = (self.data.dtype, self.indices.dtype, self.indptr.dtype)
        if kinds != (np.float32, np.int32, np.int64):
            raise ValueError(f"{directory.name}: arrays of types {kinds}")
        if self.indptr.shape != (columns + 1,) or self.data.shape != self.indices.shape:
            raise ValueError(f"{directory.name}: arrays of unequal lengths")
        ends = self.indptr[[0, -1]].tolist()
        if ends != [0, len(self.data)] or (np.diff(self.indptr) < 0).any():
            raise ValueError(f"{directory.name}: columns out of order")

    def add_to(self, scores: np.ndarray, column: int, weight: float) -> None:
        """Add `weight` times one column to `scores`, float32, one for each row."""
        start, end = self.indptr[column], self.indptr[column + 1]
        # A row occurs once in a column, so that plain indexing adds all of them.
        scores[self.indices[start:end]] += weight * self.data[start:end]


class SparseIndex:
    """A bm25s index on disk, memory mapped; see `RowIndex` for what its methods promise.

    The files are bm25s's own, but it is numpy that adds up the columns: bm25s knows neither
    weights nor an order of equal scores, its numba loop does not check the bounds of a damaged
    file, and compiling it takes longer than a hundred queries.
    """

    def __init__(self, directory: Path, *, title_weight: float, text_weight: float) -> None:
        self._weights = check_weights(title_weight, text_weight)
        self._size = Settings.load(directory).documents
        self._directory = directory
        self._terms = load_analysis().terms
        try:
            self._vocabulary = marisa_trie.Trie().mmap(str(directory / VOCABULARY))
            columns = len(self._vocabulary)
            self._fields: dict[str, _Columns] | None = {
                name: _Columns(directory / name, columns)
                for name in FIELDS
                if (directory / name).is_dir()
            }
            if columns and not self._fields:
                raise ValueError("the arrays of both fields are missing")
        except _DAMAGE as error:
            raise damaged(directory, str(error)) from error

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return rows and scores, best first."""
        check_depth(k)
        if self._fields is None:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        try:
            return [_best(self._scores(self._fields, query), k) for query in queries]
        except IndexError as error:
            raise damaged(self._directory, str(error)) from error

    def _scores(self, fields: dict[str, _Columns], query: str) -> np.ndarray:
        """Return the scores of all rows, float32 of shape (documents,)."""
        scores = np.zeros(self._size, dtype=np.float32)
        for term, times in Counter(self._terms(clean_query(query))).items():
            column = self._vocabulary.get(term)
            if column is not None:
                for name, weight in self._weights.items():
                    if name in fields:
                        fields[name].add_to(scores, column, weight * times)
        return scores

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        self._fields = None
        self._vocabulary = marisa_trie.Trie()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _best(scores: np.ndarray, k: int) -> list[tuple[int, float]]:
    """Return the rows of the `k` highest positive scores; rows of equal scores in order."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero((scores >= least) & (scores > 0))
    else:
        rows = np.flatnonzero(scores > 0)
    rows = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(rows.tolist(), scores[rows].tolist(), strict=True))
