"""The JVM-free backend: bm25s, one memory-mapped index of precomputed scores per field.

    bm25.json               settings, written last
    vocabulary.marisa       term -> column, for both fields
    title/, text/           bm25s: data, indices and indptr of a compressed column matrix;
                            lengths.npy: the number of terms of each document

Document frequencies and mean lengths are those of the documents whose field has a term at all,
as in Lucene; other than Lucene's, document lengths are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25.settings import check_depth, check_weights, clean_query, damaged
from admiral.kb.bm25.sparse_parts import CollectedField, Part

BACKEND = "bm25s"


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


def check_updatable(directory: Path) -> None:
    """Raise `AdmiralError` if an index lacks the lengths of its documents, as old ones do."""
    part = Part(directory)
    for name in part.fields:
        CollectedField(name, [part], np.empty(0, dtype=np.int64))


class SparseIndex:
    """A bm25s index on disk, memory mapped; see `RowIndex` for what its methods promise.

    The files are bm25s's own, but it is numpy that adds up the columns: bm25s knows neither
    weights nor an order of equal scores, its numba loop does not check the bounds of a damaged
    file, and compiling it takes longer than a hundred queries.

    With several indexes or removed rows, the columns of a query are scored anew with the statistics
    of all documents that are there (`rescoring`), so that results are those of a new index.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        removed: np.ndarray,
        title_weight: float,
        text_weight: float,
    ) -> None:
        self._weights = check_weights(title_weight, text_weight)
        self._directory = directories[0]
        self._terms = load_analysis().terms
        self._parts: list[Part] | None = []
        self._size = 0
        for directory in directories:
            self._parts.append(Part(directory, first=self._size))
            self._size += self._parts[-1].documents
        self._fields = None
        if len(directories) > 1 or removed.size:
            self._fields = {
                name: CollectedField(name, self._parts, removed) for name in self._weights
            }

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return rows and scores, best first."""
        check_depth(k)
        if self._parts is None:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        try:
            return [_best(self._scores(self._parts, query), k) for query in queries]
        except IndexError as error:
            raise damaged(self._directory, str(error)) from error

    def _scores(self, parts: list[Part], query: str) -> np.ndarray:
        """Return the scores of all rows, float32 of shape (documents,)."""
        scores = np.zeros(self._size, dtype=np.float32)
        for term, times in Counter(self._terms(clean_query(query))).items():
            for name, weight in self._weights.items():
                field = self._fields[name] if self._fields is not None else None
                columns = field.columns(term) if field else parts[0].columns(name, term)
                for rows, column in columns:
                    # A row occurs once in a column, so that plain indexing adds all of them.
                    scores[rows] += weight * times * column
        return scores

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        self._parts = self._fields = None

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
