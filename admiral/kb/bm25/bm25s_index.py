"""Write and search the backend bm25s, which needs no Java.

    vocabulary.marisa    term -> column, for both fields
    title/, text/        an index of bm25s each, in which every passage is a document; counts.npy:
                         the number of times that the term of each score occurs

bm25s stores final scores. When passages come or go, so do mean lengths and document frequencies,
and all scores change: an update computes them anew from the counts. As in Lucene, statistics count
only passages whose field has a token; unlike Lucene's, lengths are exact.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from scipy import sparse

from admiral.kb.bm25.analysis import import_bm25s, terms
from admiral.kb.bm25.passages import FIELDS, Base, Entry, Saturation, Scores

VOCABULARY, COUNTS = "vocabulary.marisa", "counts.npy"


class Bm25sIndex:
    """A memory-mapped index of passages, whose numbers break ties of scores."""

    def __init__(self, folder: Path, passages: int, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._vocabulary = marisa_trie.Trie().mmap(str(folder / VOCABULARY))
        self._fields = {name: _load(folder / name) for name in FIELDS}
        self._passages: int = self._fields["text"].scores["num_docs"]
        if passages != self._passages:
            raise ValueError(f"it holds {self._passages} passages instead of {passages}")

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the numbers and scores of the best `k` passages."""
        scores = self._scores(query)
        numbers = np.flatnonzero(scores > 0)
        if k < len(numbers):
            kth_score = np.partition(scores[numbers], -k)[-k]
            numbers = numbers[scores[numbers] >= kth_score]
        numbers = numbers[np.argsort(-scores[numbers], kind="stable")[:k]]
        return list(zip(numbers.tolist(), scores[numbers].tolist(), strict=True))

    def scores(self, query: str, spans: Sequence[range]) -> list[Scores]:
        """Return the scores of the passages of each span."""
        scores = self._scores(query)
        return [scores[span.start : span.stop] for span in spans]

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each term."""
        starts, columns = self._fields["text"].scores["indptr"], map(self._vocabulary.get, terms)
        return [0 if c is None else int(starts[c + 1] - starts[c]) for c in columns]

    def _scores(self, query: str) -> Scores:
        scores = np.zeros(self._passages, dtype=np.float32)
        found = map(self._vocabulary.get, terms(query))
        if columns := [column for column in found if column is not None]:
            for name, weight in self._weights.items():
                scores += weight * self._fields[name].get_scores_from_ids(columns)
        return scores

    def close(self) -> None:
        """Release the files."""
        self._fields.clear()


class _FieldTokens:
    """Term ids of one field of all passages, in four bytes each."""

    def __init__(self) -> None:
        self.ids, self.ends = array("i"), array("q", [0])

    def add(self, ids: Iterable[int]) -> None:
        self.ids.extend(ids)
        self.ends.append(len(self.ids))

    def counts(self, terms: int) -> sparse.csr_array:
        """Return how often each term occurs in each passage, (passages, terms)."""
        ids = np.asarray(self.ids)
        ends = np.asarray(self.ends, dtype=sparse.get_index_dtype(maxval=len(ids)))
        ones = np.ones(len(ids), dtype=np.int32)
        counts = sparse.csr_array((ones, ids, ends), shape=(len(ends) - 1, terms))
        counts.sum_duplicates()
        return counts


def write(
    folder: Path, entries: Iterable[Entry], saturation: Saturation, base: Base | None
) -> None:
    """Index the passages of `base` that are kept, and then others.

    It takes four bytes of memory for each token of `entries`, and about 30 for each term of a
    passage.
    """
    term_ids: dict[str, int] = {}
    if base is not None:
        term_ids.update(marisa_trie.Trie().mmap(str(base.folder / VOCABULARY)).items())
    fields = {name: _FieldTokens() for name in FIELDS}
    for entry in entries:
        for field, text in zip(fields.values(), entry, strict=True):
            field.add(term_ids.setdefault(term, len(term_ids)) for term in terms(text))
    vocabulary = marisa_trie.Trie(term_ids)
    (folder / VOCABULARY).write_bytes(vocabulary.tobytes())  # `save` does not say what failed
    columns = np.empty(len(term_ids), dtype=np.int32)
    columns[list(term_ids.values())] = [vocabulary[term] for term in term_ids]
    for name in FIELDS:
        counts = fields.pop(name).counts(len(term_ids))
        if base is not None:
            kept = _stored_counts(base.folder / name, len(term_ids))[base.kept]
            counts = sparse.vstack([kept, counts], format="csr")
        counts.indices = columns[counts.indices]
        _save(counts.tocsc(), folder / name, saturation)


def _load(folder: Path) -> Any:
    return import_bm25s().BM25.load(folder, mmap=True, load_vocab=False)


def _stored_counts(folder: Path, terms: int) -> sparse.csr_array:
    stored = _load(folder).scores
    counts = np.load(folder / COUNTS, mmap_mode="r")
    shape = (stored["num_docs"], len(stored["indptr"]) - 1)
    matrix = sparse.csc_array((counts, stored["indices"], stored["indptr"]), shape=shape).tocsr()
    matrix.resize(shape[0], terms)
    return matrix


def _save(counts: sparse.csc_array, folder: Path, saturation: Saturation) -> None:
    field = import_bm25s().BM25(k1=saturation.k1, b=saturation.b, method="lucene", backend="numpy")
    field.scores = {
        "data": _bm25(counts, saturation),
        "indices": counts.indices,
        "indptr": counts.indptr,
        "num_docs": counts.shape[0],
    }
    field.vocab_dict, field.nonoccurrence_array = {}, None
    field.save(folder, show_progress=False)
    smallest = np.min_scalar_type(counts.data.max(initial=0))
    np.save(folder / COUNTS, counts.data.astype(smallest), allow_pickle=False)


def _bm25(counts: sparse.csc_array, saturation: Saturation) -> Scores:
    """Return the score of each count by Lucene's variant of BM25, as bm25s does, in one go."""
    k1, b = saturation
    lengths = np.asarray(counts.sum(axis=1))
    filled = np.count_nonzero(lengths)
    mean = lengths.sum() / filled if filled else 1.0
    norms = (k1 * (1 - b + b * lengths / mean)).astype(np.float32)
    frequencies = np.diff(counts.indptr)
    idf = np.log1p((filled - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)
    times = counts.data.astype(np.float32)
    scores: Scores = np.repeat(idf, frequencies) * (times / (norms[counts.indices] + times))
    return scores
