"""The indexes of a directory of documents: titles and BM25, for a whole corpus or for a change."""

from __future__ import annotations

from pathlib import Path

from admiral.kb.store.build_workers import Spread, index_in_shards
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.title_index import write_titles

NO_BM25 = "none"


def write_indexes(directory: Path, bm25: str, progress: bool, spread: Spread | None = None) -> None:
    """Index the documents in ``documents/`` of a directory.

    Parameters
    ----------
    directory
        Where the indexes go, too.
    bm25
        The backend of the BM25 index, or ``none`` for no such index.
    progress
        Report progress on standard error.
    spread
        Who indexes the texts in parts; None to do it here and at once.
    """
    store = DocumentStore(directory / DOCUMENTS)
    try:
        write_titles(directory, store.titles)
        if spread is not None and bm25 != NO_BM25:
            index_in_shards(directory, bm25, spread)
        elif bm25 != NO_BM25:
            # Imported here: a knowledge base without BM25 needs none of it.
            from admiral.kb.bm25 import build_bm25

            build_bm25(bm25, store.texts(0, store.batches), directory / BM25, progress=progress)
    finally:
        store.close()
