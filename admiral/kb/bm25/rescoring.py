"""Scores of a bm25s index under the statistics of another collection than its own.

bm25s keeps finished scores. When documents join or leave, every mean length and document frequency
changes, and with them all scores. With the lengths of the documents the old statistics are known,
so that each score gives back how often the term occurs, and from that the score under the new
statistics follows, bit by bit the one that a new index would hold. (A score is a 32-bit number: a
count beyond 1,700 in one document may come back a little off, which the new score, almost the
idf by then, does not show but in its last bit.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.settings import K1, B

Floats = npt.NDArray[np.float64]
# The weight of one term, or of each posting; the mean length of all documents, or of each one's
# collection.
Idf = np.float32 | npt.NDArray[np.float32]
Mean = float | Floats


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 asks of one field of a collection.

    Attributes
    ----------
    documents
        How many documents have a term in this field; the others do not count.
    tokens
        Terms of all of them together, with repetitions.
    """

    documents: int
    tokens: int

    @classmethod
    def of(cls, lengths: npt.NDArray[np.int32]) -> Statistics:
        """Count documents by their lengths; one of length zero has no such field."""
        return cls(int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64)))

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.documents + other.documents, self.tokens + other.tokens)

    def idf(self, frequency: int) -> np.float32:
        """Return the weight of a term that so many documents have."""
        return np.float32(math.log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5)))

    def idfs(self, frequencies: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the weights of terms, of the shape of `frequencies`."""
        different, places = np.unique(frequencies, return_inverse=True)
        weights = np.array([self.idf(one) for one in different.tolist()], dtype=np.float32)
        return weights[places]

    @property
    def mean(self) -> float:
        """The mean length of the documents that have this field, of which there are some."""
        return self.tokens / self.documents


def norms(lengths: npt.NDArray[np.int32], mean: Mean) -> Floats:
    """Return what is added to a term's count in the denominator, for documents by length."""
    # The order of these operations is bm25s's, and of one document at a time.
    return K1 * ((1 - B) + B * lengths.astype(np.float64) / mean)


def occurrences(
    scores: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    idf: Idf,
    mean: Mean,
) -> npt.NDArray[np.float32]:
    """Return how often a term occurs in documents that have these scores.

    Parameters
    ----------
    scores, lengths
        One for each document; (documents,).
    idf, mean
        The weight of the term and the mean length that the scores were computed with; of all
        documents, or (documents,).
    """
    shares = scores / np.asarray(idf, dtype=np.float64)
    return np.rint(norms(lengths, mean) * shares / (1 - shares)).astype(np.float32)


def scores_of(
    times: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    idf: Idf,
    mean: Mean,
) -> npt.NDArray[np.float32]:
    """Return the scores of documents in which a term occurs so many `times`, as bm25s does."""
    shares = times / (norms(lengths, mean) + times)
    return (idf * shares).astype(np.float32)
