"""The embeddings of sentences in a knowledge base: stored, kept when it changes, and searched.

Search is exact, in blocks of the memory maps. Stored components are integers of eight bits, and a
query is rounded to 15 bits, so that every product and sum is an integer that float64 holds: the
result depends neither on the size of the blocks nor on the order in which a BLAS library adds up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.kb.bm25.analysis import check_depth
from admiral.kb.embeddings import (
    EMBEDDINGS,
    EncoderIdentity,
    QuantisedSentences,
    SentenceEncoder,
    embed_documents,
    no_vectors,
    write_embeddings,
)
from admiral.kb.store import checked_kb_path
from admiral.kb.store.contents import DOCUMENTS, Contents
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.index_building import new_folder
from admiral.kb.transaction import changing
from admiral.records import Document


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """Report of the embedding of a knowledge base."""

    path: Path
    encoder: str
    sentences: int
    new: int  # of them, those that were not stored before
    bytes: int
    seconds: float


def embed(
    kb_path: str | Path, encoder: SentenceEncoder, *, wait: bool = False, progress: bool = True
) -> EmbeddingReport:
    """Store the vectors of all sentences of a knowledge base, in eight bits per component.

    Vectors that are stored already are kept, if they are of the same encoder. Raises
    AdmiralError if the knowledge base cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with changing(checked_kb_path(kb_path), wait) as (change, contents):
        folders: dict[str, Path] = {}
        sentences = kept = 0
        for number, segment in enumerate(contents.segments):
            stored = contents.embeddings[number]
            if stored is not None and is_complete(contents, number, encoder.identity):
                sentences += len(stored)
                kept += len(stored)
                continue
            rows = range(segment.first, segment.first + segment.documents)
            live = (row for row in rows if row in contents)
            kept += sum(len(contents.embedded(row, encoder.identity)) for row in live)
            documents = _documents(contents, number, encoder.identity)
            folder, count = embed_segment(
                segment.folder, encoder, documents, segment.documents, progress
            )
            sentences += count
            folders[segment.folder.relative_to(change.snapshot.path).as_posix()] = folder
        if folders:
            change.publish_embeddings(folders)
        size = sum(entry.size for entry in change.manifest.embedding_files.values())
    seconds = time.monotonic() - began
    return EmbeddingReport(
        Path(kb_path), encoder.identity.name, sentences, sentences - kept, size, seconds
    )


def is_complete(contents: Contents, number: int, encoder: EncoderIdentity) -> bool:
    """Return whether the vectors of an encoder are stored for all documents of a segment."""
    embeddings, store = contents.embeddings[number], contents.stores[number]
    if embeddings is None or embeddings.encoder != encoder:
        return False
    first = contents.segments[number].first
    rows = (row for row in embeddings.rows_without() if first + row in contents)
    return not any(any(map(str.strip, store.document(row).parts)) for row in rows)


def _documents(
    contents: Contents, number: int, encoder: EncoderIdentity
) -> Iterator[tuple[Document, QuantisedSentences]]:
    """Yield the documents of a segment with their stored vectors; removed ones are empty."""
    for row, document in enumerate(contents.stores[number], contents.segments[number].first):
        if row in contents:
            yield document, contents.embedded(row, encoder)
        else:
            yield Document("", ()), no_vectors(encoder.width)


def embed_segment(
    directory: Path,
    encoder: SentenceEncoder,
    documents: Iterable[tuple[Document, QuantisedSentences]],
    total: int,
    progress: bool,
) -> tuple[Path, int]:
    """Write the vectors of a segment into a new folder; return the folder and their number.

    Documents come with the vectors that they have already. Those without any are encoded.
    """
    tracked = track_documents(documents, "embedding", total=total, enabled=progress)
    folder = new_folder(str(directory / EMBEDDINGS))
    return folder, write_embeddings(folder, encoder.identity, embed_documents(tracked, encoder))


def embed_new_segment(
    directory: Path, encoder: SentenceEncoder, documents: int, progress: bool
) -> None:
    """Embed all documents of a segment that no manifest lists yet."""
    store, none = DocumentStore(directory / DOCUMENTS), no_vectors(encoder.identity.width)
    try:
        pairs = ((document, none) for document in store)
        embed_segment(directory, encoder, pairs, documents, progress)
    finally:
        store.close()


def keep_embeddings(
    directory: Path, contents: Contents, rows: Sequence[int], added: int = 0
) -> None:
    """Copy the vectors of documents into the directory of a new segment, if they have any.

    `rows`: rows of `contents`; the documents of these come first in the new segment. `added`:
    number of further documents, which have no vectors yet.
    """
    encoders = (stored.encoder for stored in contents.embeddings if stored is not None)
    for encoder in dict.fromkeys(encoders):
        if any(len(contents.embedded(row, encoder)) for row in rows):
            kept = (contents.embedded(row, encoder) for row in rows)
            new = repeat(no_vectors(encoder.width), added)
            write_embeddings(new_folder(str(directory / EMBEDDINGS)), encoder, chain(kept, new))
            return


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
