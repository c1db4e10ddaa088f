"""Read and write the sentence embeddings of a segment: memory-mapped arrays.

``vectors.npy`` holds the quantised vectors of the sentences of all documents, one after the other,
and ``checksums.npy`` the CRC-32 of the text of each. Those of row `n` are ``starts[n]`` to
``starts[n + 1]`` of ``starts.npy``: none, or as many as the document has sentences.
``encoder.json`` names the encoder.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.embeddings.sentence_encoder import (
    EncoderIdentity,
    QuantisedSentences,
    embedded_text,
    text_checksum,
)
from admiral.records import Document
from trie.npy_files import open_array

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

    Parameters
    ----------
    folder
        Existing, empty folder.
    encoder
        The encoder of the vectors.
    documents
        The vectors of each row; read once.
    """
    starts = array("q", [0])
    with (
        (folder / _VECTORS).open("wb") as vectors,
        (folder / _CHECKSUMS).open("wb") as checksums,
    ):
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

    Parameters
    ----------
    folder
        Folder that `write_embeddings` wrote.

    Attributes
    ----------
    encoder
        The encoder of the vectors.

    Raises
    ------
    AdmiralError
        If the files cannot be read or do not fit together.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            value = json.loads((folder / _ENCODER).read_bytes())
            if value.pop("version") != _FORMAT_VERSION:
                raise self._damaged(f"{_ENCODER} has an unknown version")
            self.encoder = EncoderIdentity(**value)
            self._vectors = np.asarray(open_array(folder / _VECTORS))
            self._checksums = np.asarray(open_array(folder / _CHECKSUMS))
            self._starts = np.asarray(open_array(folder / _STARTS))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(error) from error
        arrays = (self._vectors, self._checksums, self._starts)
        if [a.dtype for a in arrays] != [np.int8, np.uint32, np.int64] or not (
            self._starts.ndim == 1
            and self._starts.size
            and self._checksums.shape == (self._starts[-1],)
            and self._vectors.shape == (self._starts[-1], self.encoder.width)
        ):
            raise self._damaged("its files do not fit together")

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._checksums)

    @property
    def documents(self) -> int:
        """The number of documents, with or without vectors."""
        return len(self._starts) - 1

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
        rows: list[int] = np.flatnonzero(np.diff(self._starts) == 0).tolist()
        return rows

    def problem(self, documents: int) -> str:
        """Return what is wrong with the arrays, given the number of documents; "" if nothing."""
        if self.documents != documents or self._starts[0] != 0 or (np.diff(self._starts) < 0).any():
            return f"{self._folder / _STARTS}: not ascending from 0 for {documents} documents"
        return ""

    def row_problem(self, row: int, document: Document) -> str:
        """Return what is wrong with the vectors of a document; "" if nothing."""
        stored = self.row(row)
        texts = [embedded_text(document.title, sentence) for sentence in document.sentences]
        if len(stored) and stored.checksums.tolist() != list(map(text_checksum, texts)):
            return f"{self._folder}: row {row}: its vectors are those of other sentences"
        return ""

    def _damaged(self, reason: object) -> AdmiralError:
        return AdmiralError(
            f"{self._folder}: damaged ({reason}). Run `admiral verify`, then build the knowledge "
            "base again with `admiral index`."
        )
