"""Recompute the scores of a bm25s index under the statistics of another collection.

bm25s stores final scores. When documents are added or removed, mean lengths and document
frequencies change, and all scores with them. Given the document lengths, the old statistics are
known: each stored score can be inverted to the term frequency, from which the new score follows,
bit for bit the one that a new index would hold. (Scores have 32 bits. A term frequency above 1,700
in one document may be recovered with a small error; the new score, then almost equal to the idf,
differs in its last bit at most.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.parameters import DEFAULT, Saturation

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

    def idfs(self, document_frequencies: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the idf of each term, of the shape of `document_frequencies`."""
        distinct, inverse = np.unique(document_frequencies, return_inverse=True)
        return np.array([self.idf(df) for df in distinct.tolist()], dtype=np.float32)[inverse]

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
