"""Embed the sentences of documents, and store their vectors: memory-mapped arrays of a segment.

Of pages, the passages are embedded in place of the sentences.

``vectors.npy`` holds the quantised vectors of the sentences of all documents, one after the other,
and ``checksums.npy`` the CRC-32 of the text of each. Those of row `n` are ``starts[n]`` to
``starts[n + 1]`` of ``starts.npy``: none, or as many as the document has sentences.
``encoder.json`` names the encoder.

Vectors have eight bits per component. Each has its own scale, so that its largest component becomes
127. The scale is not stored: a unit vector follows from its direction.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from admiral.records import Document
from admiral.storage.atomic_files import damaged_error
from trie.token_trie import open_array

_LARGEST = 127


def quantise(vectors: np.ndarray) -> np.ndarray:
    """Round vectors to eight bits.

    The vectors are finite floats, (vectors, width). Zero vectors stay zero. Return int8, (vectors,
    width).
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors * _LARGEST, largest, out=np.zeros_like(vectors), where=largest > 0)
    rounded: np.ndarray = np.rint(scaled).astype(np.int8)
    return rounded


def dequantise(quantised: np.ndarray) -> np.ndarray:
    """Return the unit vectors, float32, of vectors that were quantised; zero vectors stay zero."""
    vectors = quantised.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors


# Sentences that are encoded together, and held in memory as floats.
_BATCH_SENTENCES = 1024


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


class QuantisedSentences(NamedTuple):
    """The stored vectors of a document's sentences; none, or one for each sentence."""

    vectors: np.ndarray  # int8, (sentences, width); zero for blank sentences
    checksums: np.ndarray  # CRC-32 of the texts that the vectors are of: uint32, (sentences,)

    def __len__(self) -> int:
        return len(self.checksums)


def no_vectors(width: int) -> QuantisedSentences:
    """Return the value for a document whose sentences have no stored vectors."""
    return QuantisedSentences(np.empty((0, width), np.int8), np.empty(0, np.uint32))


def embedded_text(title: str, sentence: str) -> str:
    """Return the text that stands for a sentence when it is embedded."""
    return f"{title}: {sentence}"


def _texts(document: Document) -> list[str]:
    """Return what an encoder reads of a document."""
    title = document.title if document.page is None else document.page.name
    return [embedded_text(title, part) for part in document.parts]


def text_checksum(text: str) -> int:
    """Return the CRC-32 of a text, by which a vector is known to be that of the text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def embed_documents(
    documents: Iterable[tuple[Document, QuantisedSentences]], encoder: SentenceEncoder
) -> Iterator[QuantisedSentences]:
    """Yield the quantised vectors of the sentences of each document.

    Documents come with the vectors that they have already. Those without any are encoded.
    """
    batch: list[tuple[Document, QuantisedSentences]] = []
    missing = 0
    for document, stored in documents:
        batch.append((document, stored))
        missing += 0 if len(stored) else len(document.parts)
        if missing >= _BATCH_SENTENCES:
            yield from _embed_batch(batch, encoder)
            batch, missing = [], 0
    yield from _embed_batch(batch, encoder)


def _embed_batch(
    batch: Sequence[tuple[Document, QuantisedSentences]], encoder: SentenceEncoder
) -> Iterator[QuantisedSentences]:
    width = encoder.identity.width
    texts = [
        text
        for document, stored in batch
        if not len(stored)
        for text, part in zip(_texts(document), document.parts, strict=True)
        if part.strip()
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
    parts = document.parts
    vectors = np.zeros((len(parts), width), np.int8)
    for number, part in enumerate(parts):
        if part.strip():
            vectors[number] = next(encoded)
    checksums = np.fromiter(map(text_checksum, _texts(document)), np.uint32, len(parts))
    return QuantisedSentences(vectors, checksums)


#: Folder, in the directory of a segment, of folders with random names: a later set of embeddings
#: gets a new one, because files never change once a manifest lists them.
EMBEDDINGS = "embeddings"
_VECTORS, _CHECKSUMS, _STARTS = "vectors.npy", "checksums.npy", "starts.npy"
_ENCODER = "encoder.json"
_FORMAT_VERSION = 1


def write_embeddings(
    folder: Path, encoder: EncoderIdentity, documents: Iterable[QuantisedSentences]
) -> int:
    """Write embeddings and return the number of vectors.

    `documents`: the vectors of each row; read once.
    """
    starts = array("q", [0])
    with (folder / _VECTORS).open("wb") as vectors, (folder / _CHECKSUMS).open("wb") as checksums:
        files: list[tuple[IO[bytes], type[np.generic], tuple[int, ...]]] = [
            (vectors, np.int8, (encoder.width,)),
            (checksums, np.uint32, ()),
        ]
        for file, dtype, row_shape in files:
            _write_header(file, dtype, (0, *row_shape))
        for document in documents:
            vectors.write(document.vectors.tobytes())
            checksums.write(document.checksums.tobytes())
            starts.append(starts[-1] + len(document))
        for file, dtype, row_shape in files:
            file.seek(0)
            _write_header(file, dtype, (starts[-1], *row_shape))
    np.save(folder / _STARTS, np.asarray(starts, np.int64), allow_pickle=False)
    value = {"version": _FORMAT_VERSION, **asdict(encoder)}
    (folder / _ENCODER).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return starts[-1]


def _write_header(file: IO[bytes], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Write the header of an ``.npy`` file.

    numpy pads headers so that they have the same length for any number of rows.
    """
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    value = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, value)


class StoredEmbeddings:
    """The sentence embeddings of a segment, by row.

    `write_embeddings` wrote `folder`. Raises AdmiralError if the files cannot be read or do not fit
    together.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            value = json.loads((folder / _ENCODER).read_bytes())
            if value.pop("version") != _FORMAT_VERSION:
                raise damaged_error(self._folder, f"{_ENCODER} has an unknown version")
            self.encoder = EncoderIdentity(**value)
            self._vectors = np.asarray(open_array(folder / _VECTORS))
            self._checksums = np.asarray(open_array(folder / _CHECKSUMS))
            self._starts = np.asarray(open_array(folder / _STARTS))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged_error(self._folder, error) from error
        arrays = (self._vectors, self._checksums, self._starts)
        if [a.dtype for a in arrays] != [np.int8, np.uint32, np.int64] or not (
            self._starts.ndim == 1
            and self._starts.size
            and self._checksums.shape == (self._starts[-1],)
            and self._vectors.shape == (self._starts[-1], self.encoder.width)
        ):
            raise damaged_error(self._folder, "its files do not fit together")

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._checksums)

    @property
    def documents(self) -> int:
        """The number of documents, with or without vectors."""
        return len(self._starts) - 1

    @property
    def counts(self) -> np.ndarray:
        """The number of vectors of each row: int64, (documents,)."""
        return np.diff(self._starts)

    @property
    def vectors(self) -> np.ndarray:
        """All vectors in the order of rows: int8, (vectors, width)."""
        return self._vectors

    def row(self, row: int) -> QuantisedSentences:
        """Return the vectors of the sentences of a row."""
        part = slice(self._starts[row], self._starts[row + 1])
        return QuantisedSentences(self._vectors[part], self._checksums[part])

    def rows_without(self) -> list[int]:
        """Return the rows of documents that have no vectors, ascending."""
        rows: list[int] = np.flatnonzero(self.counts == 0).tolist()
        return rows

    def problem(self, documents: int) -> str:
        """Return what is wrong with the arrays, given the number of documents; "" if nothing."""
        if self.documents != documents or self._starts[0] != 0 or (np.diff(self._starts) < 0).any():
            return f"{self._folder / _STARTS}: not ascending from 0 for {documents} documents"
        return ""

    def row_problem(self, row: int, document: Document) -> str:
        """Return what is wrong with the vectors of a document; "" if nothing."""
        stored = self.row(row)
        expected = list(map(text_checksum, _texts(document)))
        if len(stored) and stored.checksums.tolist() != expected:
            return "its vectors are those of other sentences"
        return ""
