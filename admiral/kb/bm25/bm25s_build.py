"""Build and merge indexes of the bm25s backend; `bm25s_index` describes the files."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25 import analysis
from admiral.kb.bm25.bm25s_index import (
    LENGTHS,
    VOCABULARY,
    FieldStatistics,
    IndexFiles,
    bm25_scores,
    term_frequencies,
)
from admiral.kb.bm25.parameters import FIELDS, Saturation, clean_index_text, common_saturation
from admiral.kb.bm25.passages import Entry


def import_bm25s() -> Any:
    """Import and return bm25s, which imports numba if it is installed."""
    import bm25s

    # bm25s sets its own logger to DEBUG, and would report every index that is built.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


class _FieldTokens:
    """Token ids of one field of all documents, in four bytes per token."""

    def __init__(self) -> None:
        self.ids = array("i")
        self.ends = array("q")
        self.rows = array("i")

    def add(self, row: int, ids: Iterable[int]) -> None:
        """Append one document, unless it has no tokens."""
        before = len(self.ids)
        self.ids.extend(ids)
        if len(self.ids) > before:
            self.ends.append(len(self.ids))
            self.rows.append(row)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[array[int]]:
        start = 0
        for end in self.ends:
            yield self.ids[start:end]
            start = end

    def lengths(self, documents: int) -> np.ndarray:
        """Return the number of tokens of each document, int32, (documents,)."""
        lengths = np.zeros(documents, dtype=np.int32)
        rows = np.frombuffer(self.rows, dtype=np.int32)
        lengths[rows] = np.diff(np.frombuffer(self.ends, dtype=np.int64), prepend=0)
        return lengths

    def renumber(self, columns: np.ndarray) -> None:
        """Replace every token id by ``columns[id]``."""
        ids = np.frombuffer(self.ids, dtype=np.int32)
        ids[:] = columns[ids]


def build(entries: Iterable[Entry], directory: Path, saturation: Saturation, text_form: int) -> int:
    """Index passages into the new folder `directory`.

    It takes four bytes of memory per token of the corpus, and about 40 per posting of one field.
    Raises AdmiralError if a package is missing or the index cannot be written.
    """
    terms, library = analysis.terms, import_bm25s()
    fields = {name: _FieldTokens() for name in FIELDS}
    term_ids: dict[str, int] = {}
    count = 0
    for count, entry in enumerate(entries, start=1):
        for field, text in zip(fields.values(), entry, strict=True):
            found = terms(clean_index_text(text, text_form))
            ids = (term_ids.setdefault(term, len(term_ids)) for term in found)
            field.add(count - 1, ids)
    vocabulary = marisa_trie.Trie(term_ids)
    columns = np.fromiter((vocabulary[term] for term in term_ids), np.int32, len(term_ids))
    try:
        # marisa's own `save` does not say what failed.
        (directory / VOCABULARY).write_bytes(vocabulary.tobytes())
        for name, field in fields.items():
            field.renumber(columns)
            _write_field(library, field, len(columns), count, directory / name, saturation)
    except OSError as error:
        raise _unwritable_error(directory, error) from error
    return count


def _write_field(
    library: Any,
    field: _FieldTokens,
    columns: int,
    rows: int,
    directory: Path,
    saturation: Saturation,
) -> None:
    """Write the index of one field in the format of bm25s, unless the field has no tokens."""
    if not len(field):  # the mean length would be undefined
        return
    index = _new_bm25s(library, saturation)
    scores = index.build_index_from_ids(range(columns), field, show_progress=False)
    # bm25s has numbered the documents that have tokens; replace its numbers by our rows.
    scores["indices"] = np.frombuffer(field.rows, dtype=np.int32)[scores["indices"]]
    _save(index, scores, field.lengths(rows), directory)


def merge(directories: Sequence[Path], directory: Path) -> int:
    """Write one index of the documents of several, in order.

    It takes eight bytes of memory per posting of one field, and about 60 per posting of one part.
    Raises AdmiralError if an index is missing or damaged, or the new one cannot be written.
    """
    library, saturation = import_bm25s(), common_saturation(directories)
    indexes: list[IndexFiles] = []
    documents = 0
    for part in directories:
        indexes.append(IndexFiles(part, first=documents))
        documents += indexes[-1].documents
    vocabulary = marisa_trie.Trie(chain.from_iterable(index.terms() for index in indexes))
    # Per index, the new column of each of its columns.
    columns = [
        np.fromiter((vocabulary[term] for term in index.terms()), np.int64) for index in indexes
    ]
    try:
        vocabulary.save(str(directory / VOCABULARY))
        for name in FIELDS:
            parts = [
                (index, new_columns)
                for index, new_columns in zip(indexes, columns, strict=True)
                if name in index.fields
            ]
            if parts:
                scores, lengths = _merge_field(name, parts, len(vocabulary), documents, saturation)
                _save(_new_bm25s(library, saturation), scores, lengths, directory / name)
    except OSError as error:
        raise _unwritable_error(directory, error) from error
    return documents


def _merge_field(
    name: str,
    parts: list[tuple[IndexFiles, np.ndarray]],
    columns: int,
    documents: int,
    saturation: Saturation,
) -> tuple[dict[str, Any], npt.NDArray[np.int32]]:
    """Join the columns of one field, scored with the statistics of all documents.

    - `parts`: each index, and the new column of each of its columns.
    - `columns`, `documents`: numbers of terms and documents of the merged index.
    - Returns the matrix as bm25s stores it: ``data``, ``indices`` and ``indptr``.
    - Returns number of tokens of each document, int32, (documents,).
    """
    lengths = np.zeros(documents, dtype=np.int32)
    frequencies = np.zeros(columns, dtype=np.int64)  # document frequency of each term
    for index, new_columns in parts:
        field = index.fields[name]
        lengths[index.first : index.first + index.documents] = field.lengths
        frequencies[new_columns] += np.diff(field.indptr)
    ends = np.cumsum(frequencies)
    indptr = np.concatenate(([0], ends)).astype(np.int64)
    merged, data = FieldStatistics.of(lengths), np.empty(int(ends[-1]), dtype=np.float32)
    indices = np.empty(len(data), dtype=np.int32)
    idfs, next_free = merged.idfs(frequencies), indptr[:-1].copy()
    for index, new_columns in parts:
        field = index.fields[name]
        starts, counts = field.indptr[:-1], np.diff(field.indptr)
        stored = FieldStatistics.of(field.lengths)
        # Each posting goes after those of earlier indexes in its column.
        places = np.repeat(next_free[new_columns] - starts, counts) + np.arange(len(field.data))
        posting_lengths = field.lengths[field.indices]
        old_idfs, new_idfs = stored.idfs(counts), idfs[new_columns]
        term_counts = term_frequencies(
            field.data, posting_lengths, np.repeat(old_idfs, counts), stored.mean_length, saturation
        )
        data[places] = bm25_scores(
            term_counts,
            posting_lengths,
            np.repeat(new_idfs, counts),
            merged.mean_length,
            saturation,
        )
        indices[places] = field.indices + index.first
        next_free[new_columns] += counts
    return {"data": data, "indices": indices, "indptr": indptr}, lengths


def _new_bm25s(library: Any, saturation: Saturation) -> Any:
    return library.BM25(k1=saturation.k1, b=saturation.b, method="lucene", backend="numpy")


def _save(index: Any, scores: dict[str, Any], lengths: np.ndarray, directory: Path) -> None:
    scores["num_docs"] = len(lengths)
    index.scores, index.nonoccurrence_array, index.vocab_dict = scores, None, {}
    index.save(directory, show_progress=False)
    np.save(directory / LENGTHS, lengths, allow_pickle=False)


def _unwritable_error(directory: Path, error: OSError) -> AdmiralError:
    return AdmiralError(
        f"{directory}: the BM25 index cannot be written ({error}). "
        "Check the free space and the permissions."
    )
