"""Search the stored vectors of a knowledge base exactly, in blocks, through their memory maps.

Stored components are integers of eight bits, and a query is rounded to 15 bits, so that every
product and sum is an integer that float64 holds: the result depends neither on the size of the
blocks nor on the order in which a BLAS library adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25.parameters import check_depth
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.store.contents import Contents
from admiral.kb.stored_embeddings import is_complete
from admiral.records import Document

_BLOCK, _SCALE = 16_384, 2**14

Floats = npt.NDArray[np.float32]


class DenseIndex:
    """The vectors of all documents of a knowledge base, for one encoder.

    Raises AdmiralError if a document has no vectors of this encoder.
    """

    def __init__(self, contents: Contents, encoder: SentenceEncoder, path: Path) -> None:
        self._contents, self._encoder = contents, encoder
        self._vectors: list[npt.NDArray[np.int8]] = []
        counts = []
        for number, stored in enumerate(contents.embeddings):
            if stored is None or stored.encoder != encoder.identity:
                raise AdmiralError(
                    f"{path}: has no vectors of {encoder.identity.name}. Add them with `admiral "
                    "library embed`"
                )
            if not is_complete(contents, number, encoder.identity):
                raise AdmiralError(
                    f"{path}: passages were added after the others were embedded. Embed them with "
                    "`admiral library embed`"
                )
            self._vectors.append(stored.vectors)
            counts.append(stored.counts)
        self._starts = np.cumsum([0, *np.concatenate(counts)])
        live = np.zeros(contents.rows, np.bool_)
        live[contents.live_rows()] = True
        self._live = np.repeat(live, np.diff(self._starts))

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[Document, int, float]]]:
        """Return the `k` texts with the highest cosine for each query, best first.

        Each is a document, the number of one of its `parts`, and the cosine. Equal ones are in the
        order of the knowledge base. Raises AdmiralError if `k` is less than one.
        """
        vectors = np.asarray(self._encoder.unit_vectors(queries), np.float32)
        found = best_vectors(self._vectors, self._live, vectors, k)
        return [[(*self._part(number), score) for number, score in each] for each in found]

    def _part(self, number: int) -> tuple[Document, int]:
        row = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._contents.document(row), number - int(self._starts[row])


def best_vectors(
    segments: Sequence[npt.NDArray[np.int8]],
    live: npt.NDArray[np.bool_],
    queries: Floats,
    k: int,
    block: int = _BLOCK,
) -> list[list[tuple[int, float]]]:
    """Return the numbers and cosines of the `k` best vectors for each query, best first.

    `segments` are (vectors, width) each, numbered as one; `live` says which of them count.
    `queries` are unit vectors, (queries, width). `block`: number of vectors that are
    compared together.
    """
    check_depth(k)
    rounded = np.rint(queries.astype(np.float64) * _SCALE)
    numbers = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float64)
    first = 0
    for segment in segments:
        for start in range(0, len(segment), block):
            vectors = segment[start : start + block].astype(np.float64)
            end = first + len(vectors)
            norms = np.linalg.norm(vectors, axis=1)
            cosines = (rounded @ vectors.T) / (_SCALE * np.where(norms > 0, norms, 1.0))
            cosines[:, ~live[first:end]] = -np.inf
            rows = np.broadcast_to(np.arange(first, end), cosines.shape)
            numbers = np.concatenate([numbers, rows], axis=1)
            scores = np.concatenate([scores, cosines], axis=1)
            order = np.lexsort((numbers, -scores), axis=-1)[:, :k]
            numbers = np.take_along_axis(numbers, order, 1)
            scores = np.take_along_axis(scores, order, 1)
            first = end
    return [
        [(n, s) for n, s in zip(*pair, strict=True) if s > -np.inf]
        for pair in zip(numbers.tolist(), scores.tolist(), strict=True)
    ]
