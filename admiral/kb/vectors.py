"""Vectors of the sentences of documents, as an encoder made them: stored, and searched.

Of pages, the passages are embedded in place of the sentences. Vectors have eight bits per
component. Each has its own scale, so that its largest component becomes 127. The scale is not
stored: a unit vector follows from its direction.

Search is exact, in blocks. Stored components are integers of eight bits, and a query is rounded to
15 bits, so that every product and sum is an integer that float64 holds: the result depends neither
on the size of the blocks nor on the order in which a BLAS library adds up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from admiral.errors import AdmiralError
from admiral.kb.bm25.analysis import check_depth
from admiral.kb.store import Store
from admiral.records import Document, Sentence

_LARGEST = 127
# Documents that are encoded together, and held in memory as floats.
_DOCUMENTS_AT_ONCE = 128
_BLOCK, _SCALE = 1024, 2**14  # documents that are compared together

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """The identity of an encoder: only vectors of the same encoder can be compared."""

    name: str
    fingerprint: str  # SHA-256 of the model and of how it is used
    width: int


class SentenceEncoder(Protocol):
    """An encoder of texts."""

    @property
    def identity(self) -> EncoderIdentity:
        """The identity of the encoder."""
        ...

    def unit_vectors(self, texts: Sequence[str]) -> ArrayLike:
        """Return the unit vectors of texts, float32, (texts, width)."""
        ...


def embedded_text(title: str, sentence: str) -> str:
    """Return the text that stands for a sentence when it is embedded."""
    return f"{title}: {sentence}"


def quantise(vectors: np.ndarray) -> Bytes:
    """Round vectors to eight bits.

    The vectors are finite floats, (vectors, width). Zero vectors stay zero. Return int8, (vectors,
    width).
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors * _LARGEST, largest, out=np.zeros_like(vectors), where=largest > 0)
    rounded: Bytes = np.rint(scaled).astype(np.int8)
    return rounded


def dequantise(quantised: Bytes) -> Floats:
    """Return the unit vectors, float32, of vectors that were quantised; zero vectors stay zero."""
    vectors = quantised.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors


def encoded_documents(
    documents: Iterable[tuple[int, Document]], encoder: SentenceEncoder
) -> Iterator[tuple[int, bytes]]:
    """Yield the row and the stored vectors of each document; those of blank parts are zero."""
    remaining = iter(documents)
    while batch := list(islice(remaining, _DOCUMENTS_AT_ONCE)):
        texts = [
            embedded_text(d.title if d.page is None else d.page.name, part) if part.strip() else ""
            for _, d in batch
            for part in d.parts
        ]
        vectors = np.zeros((len(texts), encoder.identity.width), np.int8)
        filled = [number for number, text in enumerate(texts) if text]
        if filled:
            encoded = encoder.unit_vectors([texts[number] for number in filled])
            vectors[filled] = quantise(np.asarray(encoded))
        end = 0
        for row, document in batch:
            first, end = end, end + len(document.parts)
            yield row, vectors[first:end].tobytes()


def stored_encoder(store: Store) -> EncoderIdentity | None:
    """Return the encoder of the stored vectors; None if none are stored."""
    given = store.settings.get("encoder")
    return None if given is None else EncoderIdentity(**given)


def without_vectors(store: Store) -> list[int]:
    """Return the rows of documents that have no vectors, ascending."""
    sql = "SELECT row FROM documents WHERE row NOT IN (SELECT row FROM vectors) ORDER BY row"
    return [row for (row,) in store.all(sql)]


class StoredVectors:
    """Unit vectors of the sentences of a knowledge base."""

    def __init__(self, store: Store, encoder: EncoderIdentity) -> None:
        self._store, self._encoder = store, encoder

    def unit_vectors(self, sentences: Sequence[Sentence]) -> Floats:
        """Return the vectors of sentences, float32, (sentences, width).

        The vector is zero where none is stored for a sentence with this title, index and text.
        """
        quantised = np.zeros((len(sentences), self._encoder.width), np.int8)
        for title, group in groupby(enumerate(sentences), key=lambda pair: pair[1].title):
            row = self._store.row(title)
            found = (
                []
                if row is None
                else self._store.all("SELECT vectors FROM vectors WHERE row = ?", row)
            )
            if row is None or not found:
                continue
            stored = np.frombuffer(found[0][0], np.int8).reshape(-1, self._encoder.width)
            document = self._store.document(row)
            texts = document.sentences if document.page is None else ()
            for position, sentence in group:
                if sentence.index < len(texts) and texts[sentence.index] == sentence.text:
                    quantised[position] = stored[sentence.index]
        return dequantise(quantised)


class DenseIndex:
    """The vectors of all documents of a knowledge base, for one encoder."""

    def __init__(self, store: Store, encoder: SentenceEncoder) -> None:
        self._store, self._encoder = store, encoder
        if stored_encoder(store) != encoder.identity:
            raise AdmiralError(
                f"{store.path}: has no vectors of {encoder.identity.name}. Store them with the "
                "`admiral index` command that built it, and --embeddings"
            )
        if without_vectors(store):
            raise AdmiralError(
                f"{store.path}: passages were added after the others were embedded. Embed them "
                "with the `admiral index` command that built it, and --embeddings"
            )
        lengths = store.all("SELECT row, length(vectors) FROM vectors ORDER BY row")
        self._rows = [row for row, _ in lengths]
        counts = [length // encoder.identity.width for _, length in lengths]
        self._starts = np.cumsum([0, *counts])

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[Document, int, float]]]:
        """Return the `k` texts with the highest cosine for each query, best first.

        Each is a document, the number of one of its `parts`, and the cosine. Equal ones are in the
        order of the knowledge base.
        """
        vectors = np.asarray(self._encoder.unit_vectors(queries), np.float32)
        found = best_vectors(self._blocks(), vectors, k)
        return [[(*self._part(number), score) for number, score in each] for each in found]

    def _blocks(self) -> Iterator[Bytes]:
        for first in range(0, len(self._rows), _BLOCK):
            last = self._rows[min(first + _BLOCK, len(self._rows)) - 1]
            sql = "SELECT vectors FROM vectors WHERE row BETWEEN ? AND ? ORDER BY row"
            joined = b"".join(v for (v,) in self._store.all(sql, self._rows[first], last))
            yield np.frombuffer(joined, np.int8).reshape(-1, self._encoder.identity.width)

    def _part(self, number: int) -> tuple[Document, int]:
        place = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._store.document(self._rows[place]), number - int(self._starts[place])


def best_vectors(blocks: Iterable[Bytes], queries: Floats, k: int) -> list[list[tuple[int, float]]]:
    """Return the numbers and cosines of the `k` best vectors for each query, best first.

    `blocks` are (vectors, width) each, numbered as one. `queries` are unit vectors, (queries,
    width).
    """
    check_depth(k)
    rounded = np.rint(queries.astype(np.float64) * _SCALE)
    numbers = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float64)
    first = 0
    for block in blocks:
        vectors = block.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1)
        cosines = (rounded @ vectors.T) / (_SCALE * np.where(norms > 0, norms, 1.0))
        new = np.broadcast_to(np.arange(first, first + len(vectors)), cosines.shape)
        numbers = np.concatenate([numbers, new], axis=1)
        scores = np.concatenate([scores, cosines], axis=1)
        order = np.lexsort((numbers, -scores), axis=-1)[:, :k]
        numbers = np.take_along_axis(numbers, order, 1)
        scores = np.take_along_axis(scores, order, 1)
        first += len(vectors)
    pairs = zip(numbers.tolist(), scores.tolist(), strict=True)
    return [list(zip(*pair, strict=True)) for pair in pairs]
