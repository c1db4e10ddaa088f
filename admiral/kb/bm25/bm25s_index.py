"""Write and search the bm25s backend, without Java: precomputed scores of fields, memory-mapped.

    bm25.json               settings, written last
    vocabulary.marisa       term -> column, for both fields
    title/, text/           bm25s: data, indices and indptr of a compressed sparse column matrix;
                            lengths.npy: the number of tokens of each document

In the format of bm25s, each passage is a document. As in Lucene, document frequencies and mean
lengths count only those whose field has a token. Unlike Lucene's, lengths are exact.

bm25s stores final scores. When documents are added or removed, mean lengths and document
frequencies change, and all scores with them. Given the document lengths, the old statistics are
known: each stored score can be inverted to the term frequency, from which the new score follows,
bit for bit the one that a new index would hold. (Scores have 32 bits. A term frequency above 1,700
in one document may be recovered with a small error; the new score, then almost equal to the idf,
differs in its last bit at most.)
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import marisa_trie
import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25 import analysis
from admiral.kb.bm25.analysis import (
    DEFAULT,
    FIELDS,
    Entry,
    IndexSettings,
    Passages,
    Saturation,
    check_depth,
    clean_index_text,
    clean_query,
    common_saturation,
    common_text_form,
    damaged_index_error,
    first_entries,
    import_bm25s,
    positive_weights,
)
from trie.token_trie import open_array

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

        Raises AdmiralError if an early release built the index, which did not write lengths.
        """
        if self._lengths is None:
            raise damaged_index_error(self._directory, f"{LENGTHS} is missing")
        return self._lengths


class IndexFiles:
    """One bm25s index on disk.

    `first`, `documents`: first passage and number of passages. Each is a document of its own for
    BM25. `fields`: arrays of each field that has any term. Raises AdmiralError if the index is
    missing or damaged.
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

    `indexes`: indexes whose rows follow each other, all with the same parameters of BM25.
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

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the numbers and scores of the top `k` passages for each query."""
        check_depth(k)
        return [_top_k(self._scores(query), k) for query in queries]

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

    def __exit__(self, *_: object) -> None:
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


Floats = npt.NDArray[np.float64]
# The idf of one term, or one value per posting.
Idf = np.float32 | npt.NDArray[np.float32]
# The mean length of one collection, or one value per posting.
MeanLength = float | Floats


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Collection statistics of one field, as BM25 uses them."""

    documents: int  # number of documents that have a term in this field; others do not count
    tokens: int  # number of tokens of all documents

    @classmethod
    def of(cls, lengths: npt.NDArray[np.int32]) -> FieldStatistics:
        """Compute the statistics from the lengths of all documents in tokens, (documents,)."""
        return cls(int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64)))

    def __add__(self, other: FieldStatistics) -> FieldStatistics:
        return FieldStatistics(self.documents + other.documents, self.tokens + other.tokens)

    def idf(self, document_frequency: int) -> np.float32:
        """Return Lucene's idf, ``log(1 + (N - df + 0.5) / (df + 0.5))``."""
        rest = self.documents - document_frequency
        return np.float32(math.log(1 + (rest + 0.5) / (document_frequency + 0.5)))

    @property
    def mean_length(self) -> float:
        """Mean length in tokens of the documents that have this field; there must be some."""
        return self.tokens / self.documents


def length_norms(
    lengths: npt.NDArray[np.int32], mean_length: MeanLength, saturation: Saturation = DEFAULT
) -> Floats:
    """Return the length normalisation in BM25's denominator, ``k1 * (1 - b + b * |d| / avgdl)``."""
    k1, b = saturation
    # Same order of operations as in bm25s, for equal bits.
    return k1 * ((1 - b) + b * lengths.astype(np.float64) / mean_length)


def term_frequencies(
    scores: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    idf: Idf,
    mean_length: MeanLength,
    saturation: Saturation = DEFAULT,
) -> npt.NDArray[np.float32]:
    """Invert `bm25_scores`: recover the term frequencies from scores.

    They are float32, (postings,). `scores`, `lengths`: score and document length of each posting,
    (postings,). `idf`, `mean_length`: statistics that the scores were computed with; scalars or
    (postings,). `saturation`: parameters that the scores were computed with.
    """
    saturations = scores / np.asarray(idf, dtype=np.float64)
    norms = length_norms(lengths, mean_length, saturation)
    return np.rint(norms * saturations / (1 - saturations)).astype(np.float32)


def bm25_scores(
    frequencies: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    idf: Idf,
    mean_length: MeanLength,
    saturation: Saturation = DEFAULT,
) -> npt.NDArray[np.float32]:
    """Return BM25 scores as bm25s computes them (Lucene's variant): ``idf * tf / (norm + tf)``.

    They are float32, (postings,). `frequencies`, `lengths`: term frequency and document length of
    each posting, (postings,). `idf`, `mean_length`: collection statistics; scalars or (postings,).
    """
    norms = length_norms(lengths, mean_length, saturation)
    saturations = frequencies / (norms + frequencies)
    return (idf * saturations).astype(np.float32)


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


def build(
    entries: Iterable[Entry], directory: Path, saturation: Saturation, text_form: int
) -> None:
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
        raise AdmiralError(
            f"{directory}: the BM25 index cannot be written ({error}). "
            "Check the free space and the permissions."
        ) from error


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
    index = library.BM25(k1=saturation.k1, b=saturation.b, method="lucene", backend="numpy")
    scores = index.build_index_from_ids(range(columns), field, show_progress=False)
    # bm25s has numbered the documents that have tokens; replace its numbers by our rows.
    scores["indices"] = np.frombuffer(field.rows, dtype=np.int32)[scores["indices"]]
    scores["num_docs"] = rows
    index.scores, index.nonoccurrence_array, index.vocab_dict = scores, None, {}
    index.save(directory, show_progress=False)
    np.save(directory / LENGTHS, field.lengths(rows), allow_pickle=False)
