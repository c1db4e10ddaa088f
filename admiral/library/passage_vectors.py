"""Store the vectors of passages, in eight bits per component, as a knowledge base stores sentences.

A passage is embedded with the title of its source before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from admiral.io.progress import track_documents
from admiral.kb.embeddings.embedding_files import EMBEDDINGS, write_embeddings
from admiral.kb.embeddings.sentence_encoder import (
    QuantisedSentences,
    SentenceEncoder,
    embed_documents,
    no_vectors,
)
from admiral.kb.store.contents import DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.index_building import new_folder
from admiral.library.segment_files import SourceTable
from admiral.records import Document


def passages_as_document(table: SourceTable, row: int, text: str) -> Document:
    """Return the passages of a source as the sentences of a document, for an encoder."""
    _, title = table.url_and_title(row)
    return Document(title, tuple(text[start:end] for start, end in table.spans(row)))


def embed_segment(folder: Path, encoder: SentenceEncoder, progress: bool) -> None:
    """Embed all passages of a segment that no manifest lists yet.

    Parameters
    ----------
    folder
        Directory of the segment.
    encoder
        The encoder.
    progress
        Whether to report progress on standard error.
    """
    store, table = DocumentStore(folder / DOCUMENTS), SourceTable(folder)
    try:
        documents = track_documents(
            _documents(store, table, encoder.identity.width),
            "embedding",
            total=len(table),
            enabled=progress,
        )
        vectors = embed_documents(documents, encoder)
        write_embeddings(new_folder(str(folder / EMBEDDINGS)), encoder.identity, vectors)
    finally:
        store.close()


def _documents(
    store: DocumentStore, table: SourceTable, width: int
) -> Iterator[tuple[Document, QuantisedSentences]]:
    for row, document in enumerate(store):
        (text,) = document.sentences
        yield passages_as_document(table, row, text), no_vectors(width)
