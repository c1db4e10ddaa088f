"""Search the bm25s backend, which needs no Java: precomputed scores of each field, memory-mapped.

    bm25.json               settings, written last
    vocabulary.marisa       term -> column, for both fields
    title/, text/           bm25s: data, indices and indptr of a compressed sparse column matrix;
                            lengths.npy: the number of tokens of each document

In the format of bm25s, each passage is a document. As in Lucene, document frequencies and mean
lengths count only those whose field has a token. Unlike Lucene's, lengths are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25 import analysis
from admiral.kb.bm25.bm25s_files import CombinedField, IndexFiles
from admiral.kb.bm25.parameters import (
    check_depth,
    clean_query,
    common_saturation,
    common_text_form,
    damaged_index_error,
    positive_weights,
)
from admiral.kb.bm25.passages import Passages, first_entries

BACKEND = "bm25s"


def check_updatable(directory: Path) -> None:
    """Raise `AdmiralError` if an index lacks document lengths, as those of early releases do."""
    index = IndexFiles(directory)
    for name in index.fields:
        CombinedField(name, [index], np.empty(0, dtype=np.int64))


class Bm25sIndex:
    """A memory-mapped bm25s index; `RowIndex` documents its methods.

    The files are those of bm25s, but numpy sums the postings: bm25s has no field weights and no
    defined order of equal scores, its numba loop does not check the bounds of a damaged file, and
    compiling that loop takes longer than a hundred queries.

    With several indexes or removed rows, the postings of a query are rescored with the statistics
    of all remaining documents (`rescoring`), so the results are those of a new index.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        removed: np.ndarray,
        title_weight: float,
        text_weight: float,
    ) -> None:
        self._weights = positive_weights(title_weight, text_weight)
        self._directory = directories[0]
        self._terms = analysis.terms
        self.passages = Passages.open(*directories)
        firsts = first_entries(directories)
        common_saturation(directories)  # raises if they differ
        self.text_form = common_text_form(directories)
        self._indexes: list[IndexFiles] | None = [
            IndexFiles(directory, first)
            for directory, first in zip(directories, firsts[:-1], strict=True)
        ]
        # None: one index without removed rows, whose stored scores are used as they are.
        self._combined = None
        if len(directories) > 1 or removed.size:
            passages = self.passages.of_rows(removed)
            self._combined = {
                name: CombinedField(name, self._indexes, passages) for name in self._weights
            }

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query."""
        check_depth(k)
        return [_top_k(self.passages.best(self._scores(query)), k) for query in queries]

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return the scores of the passages of each row."""
        scores = self._scores(query)
        spans = map(self.passages.of_row, rows)
        return [scores[span.start : span.stop] for span in spans]

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each index term."""
        indexes = self._open_indexes()
        return [sum(i.document_frequency("text", term) for i in indexes) for term in terms]

    def _open_indexes(self) -> list[IndexFiles]:
        if self._indexes is None:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        return self._indexes

    def _scores(self, query: str) -> npt.NDArray[np.float32]:
        """Return the weighted scores of all passages, (passages,)."""
        try:
            return self._summed_scores(self._open_indexes(), query)
        except IndexError as error:
            raise damaged_index_error(self._directory, str(error)) from error

    def _summed_scores(self, indexes: list[IndexFiles], query: str) -> npt.NDArray[np.float32]:
        scores = np.zeros(len(self.passages), dtype=np.float32)
        for term, count in Counter(self._terms(clean_query(query, self.text_form))).items():
            for name, weight in self._weights.items():
                field = self._combined[name] if self._combined is not None else None
                postings = field.postings(term) if field else indexes[0].postings(name, term)
                for rows, term_scores in postings:
                    # A row occurs once per posting list, so plain indexing adds every score.
                    scores[rows] += weight * count * term_scores
        return scores

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        self._indexes = self._combined = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _top_k(scores: np.ndarray, k: int) -> list[tuple[int, float]]:
    """Return the rows and scores of the `k` highest positive scores, ties in order of rows."""
    if k < len(scores):
        kth_score = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero((scores >= kth_score) & (scores > 0))
    else:
        rows = np.flatnonzero(scores > 0)
    rows = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(rows.tolist(), scores[rows].tolist(), strict=True))
