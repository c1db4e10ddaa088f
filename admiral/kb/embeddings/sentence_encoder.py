"""Encoders of sentences as a knowledge base sees them, and the embedding of documents."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from admiral.kb.embeddings.quantisation import quantise
from admiral.records import Document

# Sentences that are encoded together, and held in memory as floats.
_BATCH_SENTENCES = 1024


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """The identity of an encoder: only vectors of the same encoder can be compared.

    Attributes
    ----------
    name
        Name of the model, for people.
    fingerprint
        SHA-256 of the model and of how it is used.
    width
        Number of components of a vector.
    """

    name: str
    fingerprint: str
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


class QuantisedSentences(NamedTuple):
    """The stored vectors of a document's sentences; none, or one for each sentence.

    Attributes
    ----------
    vectors
        int8, (sentences, width); zero for blank sentences.
    checksums
        CRC-32 of the texts that the vectors are of: uint32, (sentences,).
    """

    vectors: np.ndarray
    checksums: np.ndarray

    def __len__(self) -> int:
        return len(self.checksums)


def no_vectors(width: int) -> QuantisedSentences:
    """Return the value for a document whose sentences have no stored vectors."""
    return QuantisedSentences(np.empty((0, width), np.int8), np.empty(0, np.uint32))


def embedded_text(title: str, sentence: str) -> str:
    """Return the text that stands for a sentence when it is embedded."""
    return f"{title}: {sentence}"


def text_checksum(text: str) -> int:
    """Return the CRC-32 of a text, by which a vector is known to be that of the text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def embed_documents(
    documents: Iterable[tuple[Document, QuantisedSentences]], encoder: SentenceEncoder
) -> Iterator[QuantisedSentences]:
    """Yield the quantised vectors of the sentences of each document.

    Parameters
    ----------
    documents
        Documents with the vectors that they have already. Those without any are encoded.
    encoder
        The encoder.
    """
    batch: list[tuple[Document, QuantisedSentences]] = []
    missing = 0
    for document, stored in documents:
        batch.append((document, stored))
        missing += 0 if len(stored) else len(document.sentences)
        if missing >= _BATCH_SENTENCES:
            yield from _embed_batch(batch, encoder)
            batch, missing = [], 0
    yield from _embed_batch(batch, encoder)


def _embed_batch(
    batch: Sequence[tuple[Document, QuantisedSentences]], encoder: SentenceEncoder
) -> Iterator[QuantisedSentences]:
    width = encoder.identity.width
    texts = [
        embedded_text(document.title, sentence)
        for document, stored in batch
        if not len(stored)
        for sentence in document.sentences
        if sentence.strip()
    ]
    parts = [no_vectors(width).vectors]
    for first in range(0, len(texts), _BATCH_SENTENCES):
        vectors = encoder.unit_vectors(texts[first : first + _BATCH_SENTENCES])
        parts.append(quantise(np.asarray(vectors)))
    encoded = iter(np.concatenate(parts))
    for document, stored in batch:
        yield stored if len(stored) else _align(document, encoded, width)


def _align(document: Document, encoded: Iterator[np.ndarray], width: int) -> QuantisedSentences:
    """Return a vector for each sentence of a document, given those of sentences with text."""
    vectors = np.zeros((len(document.sentences), width), np.int8)
    checksums = np.zeros(len(document.sentences), np.uint32)
    for number, sentence in enumerate(document.sentences):
        checksums[number] = text_checksum(embedded_text(document.title, sentence))
        if sentence.strip():
            vectors[number] = next(encoded)
    return QuantisedSentences(vectors, checksums)
