"""Embed the passages of a library that have no vectors yet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from admiral.io.progress import track_documents
from admiral.kb.embeddings.embedding_files import EMBEDDINGS, write_embeddings
from admiral.kb.embeddings.sentence_encoder import (
    EncoderIdentity,
    QuantisedSentences,
    SentenceEncoder,
    embed_documents,
    no_vectors,
)
from admiral.kb.store.index_building import new_folder
from admiral.library.library_change import LibraryChange, changing_library, report_change
from admiral.library.library_contents import LibraryContents
from admiral.library.passage_vectors import passages_as_document
from admiral.records import Document


def embed_passages(
    path: str | Path, encoder: SentenceEncoder, *, wait: bool = False, progress: bool = False
) -> LibraryChange:
    """Store the vectors of all passages, and keep those that this encoder made before.

    Parameters
    ----------
    path
        Directory of the library.
    encoder
        The encoder; a library is searched with the same one.
    wait
        Whether to wait for another writer instead of raising an error.
    progress
        Whether to report progress on standard error.

    Raises
    ------
    AdmiralError
        If the library cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    folders: dict[str, Path] = {}
    embedded = 0
    with changing_library(path, wait) as (change, contents):
        for number, segment in enumerate(contents.contents.segments):
            stored, table = contents.contents.embeddings[number], contents.tables[number]
            known = stored is not None and stored.encoder == encoder.identity
            if known and stored is not None and len(stored) == table.passages:
                continue
            embedded += table.passages - (len(stored) if known and stored is not None else 0)
            documents = _with_vectors(contents, number, encoder.identity)
            tracked = track_documents(documents, "embedding", total=len(table), enabled=progress)
            folder = new_folder(str(segment.folder / EMBEDDINGS))
            write_embeddings(folder, encoder.identity, embed_documents(tracked, encoder))
            folders[segment.folder.relative_to(change.snapshot.path).as_posix()] = folder
        if folders:
            change.publish_embeddings(folders)
    return report_change(path, change, began, embedded=embedded)


def _with_vectors(
    contents: LibraryContents, number: int, encoder: EncoderIdentity
) -> Iterator[tuple[Document, QuantisedSentences]]:
    """Yield the passages of each source of a segment with their stored vectors, if any."""
    table, live = contents.tables[number], contents.contents
    for row, document in enumerate(live.stores[number]):
        whole = live.segments[number].first + row
        stored = live.embedded(whole, encoder) if whole in live else no_vectors(encoder.width)
        yield passages_as_document(table, row, document.sentences[0]), stored
