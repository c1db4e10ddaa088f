"""Build the indexes of a directory of documents: titles, and BM25 if asked for.

BM25 indexes long documents by passages. A text begins with the headings of its sections, since no
sentence has them. That of a passage of a page begins with the name of the page.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from admiral.io.progress import track_documents
from admiral.kb.alias_index import write_aliases
from admiral.kb.bm25 import Saturation, Text, build_bm25, update_bm25
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.titles import write_titles
from admiral.records import SECTION_SEPARATOR, Document

# Longer documents are split into passages.
LONGEST_WHOLE = 40  # sentences
LONGEST_PASSAGE = 32  # sentences


def index_texts(
    documents: Iterable[Document], first: int = 0, *, passages: bool
) -> Iterator[tuple[int, str, Text]]:
    """Yield the row, the title and the text of each document; rows count from `first`.

    `passages`: whether to split documents of more than `LONGEST_WHOLE` sentences. The text of these
    is a list of passages, each with the number of its first sentence. A page has its own passages,
    each with its number; they begin with the name of the page, which is no field of its own.
    """
    for row, document in enumerate(documents, start=first):
        if document.page is not None:
            named = (f"{document.page.name}\n{part}" for part in document.parts)
            yield row, "", list(enumerate(named)) or ""
            continue
        count = len(document.sentences)
        if not passages or count <= LONGEST_WHOLE:
            yield row, document.title, _text(document, 0, count)
            continue
        bounds = [*passage_starts(document), count]
        spans = pairwise(bounds)
        yield row, document.title, [(start, _text(document, start, end)) for start, end in spans]


def passage_starts(document: Document) -> list[int]:
    """Return the first sentence of each passage of a document, ascending from 0.

    A passage holds as many whole sections as fit into `LONGEST_PASSAGE` sentences. Longer sections
    are split into passages of about equal length.
    """
    starts = [0]
    end = 0
    for length in _section_lengths(document):
        parts = -(-length // LONGEST_PASSAGE)
        for part in range(parts):
            part_length = length * (part + 1) // parts - length * part // parts
            if end + part_length - starts[-1] > LONGEST_PASSAGE:
                starts.append(end)
            end += part_length
    return starts


def _section_lengths(document: Document) -> Iterator[int]:
    """Yield the number of sentences of each section, in order."""
    if not document.sections:
        yield len(document.sentences)
        return
    for _, sentences in groupby(document.sections):
        yield sum(1 for _ in sentences)


def _text(document: Document, start: int, end: int) -> str:
    headings = dict.fromkeys(
        heading
        for section in dict.fromkeys(document.sections[start:end])
        for heading in section.split(SECTION_SEPARATOR)
        if heading
    )
    return " ".join((*headings, *document.sentences[start:end]))


NO_BM25 = "none"


class Indexing(NamedTuple):
    """The settings of a BM25 index."""

    bm25: str  # the backend, or ``none`` for no index
    passages: bool  # whether it scores long documents by their passages (`index_texts`)
    saturation: Saturation = Saturation()

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Indexing:
        """Return what the settings of a knowledge base say, of early releases too."""
        saturation = Saturation(
            **{name: settings[name] for name in ("k1", "b") if name in settings}
        )
        return cls(str(settings["bm25"]), bool(settings.get("passages", False)), saturation)


def write_indexes(directory: Path, indexing: Indexing, progress: bool) -> None:
    """Index the documents in ``documents/`` of a directory; the indexes are written beside them."""
    write_title_indexes(directory)
    if indexing.bm25 != NO_BM25:
        with closing(DocumentStore(directory / DOCUMENTS)) as store:
            documents = track_documents(store, "indexing", enabled=progress)
            texts = index_texts(documents, passages=indexing.passages)
            build_bm25(indexing.bm25, texts, directory / BM25, saturation=indexing.saturation)


def write_title_indexes(directory: Path) -> None:
    """Index the titles and aliases of the documents in ``documents/`` of a directory."""
    with closing(DocumentStore(directory / DOCUMENTS)) as store:
        write_titles(directory, store.titles, store.ids())
        write_aliases(directory, store, len(store))


def update_index(
    base: Path, directory: Path, indexing: Indexing, removed: Iterable[int], first: int
) -> None:
    """Write the BM25 index of a base without some rows, and with the documents of a directory.

    `first`: row of the first of these documents.
    """
    if not (directory / DOCUMENTS).exists():
        update_bm25(base / BM25, directory / BM25, removed, ())
        return
    with closing(DocumentStore(directory / DOCUMENTS)) as store:
        texts = index_texts(store, first, passages=indexing.passages)
        update_bm25(base / BM25, directory / BM25, removed, texts)


def new_folder(parent: str) -> Path:
    """Create a folder with a random name."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
