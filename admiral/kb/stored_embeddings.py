"""Store the embeddings of sentences in a knowledge base, and keep them when it changes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from admiral.io.progress import track_documents
from admiral.kb.embeddings import (
    EMBEDDINGS,
    EncoderIdentity,
    QuantisedSentences,
    SentenceEncoder,
    embed_documents,
    no_vectors,
    write_embeddings,
)
from admiral.kb.kb_paths import checked_kb_path
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

    Vectors that are stored already are kept, if they are of the same encoder. `kb_path`: directory
    of the knowledge base, not of a joined one. Raises AdmiralError if the knowledge base cannot be
    changed; it is then unchanged.
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
