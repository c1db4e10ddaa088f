"""Build the indexes of a directory of documents: titles, and BM25 if asked for.

BM25 indexes long documents by passages. A text begins with the headings of its sections, since no
sentence has them. That of a passage of a page begins with the name of the page.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from admiral.io.text_cleaning import MATCHING_FORM
from admiral.kb.alias_index import write_aliases
from admiral.kb.bm25 import Saturation, build_bm25
from admiral.kb.bm25.analysis import DEFAULT, Text
from admiral.kb.store.contents import BM25, DOCUMENTS
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.titles import write_titles
from admiral.records import SECTION_SEPARATOR, Document

# Longer documents are split into passages.
LONGEST_WHOLE = 40  # sentences
LONGEST_PASSAGE = 32  # sentences


def index_texts(documents: Iterable[Document], *, passages: bool) -> Iterator[tuple[str, Text]]:
    """Yield the title and the text of each document.

    `passages`: whether to split documents of more than `LONGEST_WHOLE` sentences. The text of these
    is a list of passages, each with the number of its first sentence. A page has its own passages,
    each with its number; they begin with the name of the page, which is no field of its own.
    """
    for document in documents:
        if document.page is not None:
            named = (f"{document.page.name}\n{part}" for part in document.parts)
            yield "", list(enumerate(named)) or ""
            continue
        count = len(document.sentences)
        if not passages or count <= LONGEST_WHOLE:
            yield document.title, _text(document, 0, count)
            continue
        bounds = [*passage_starts(document), count]
        spans = pairwise(bounds)
        yield document.title, [(start, _text(document, start, end)) for start, end in spans]


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
    saturation: Saturation = DEFAULT
    text_form: int = MATCHING_FORM  # of the texts (`admiral.io.text_cleaning`)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Indexing:
        """Return what the settings of a knowledge base say, of early releases too."""
        saturation = Saturation(settings.get("k1", DEFAULT.k1), settings.get("b", DEFAULT.b))
        return cls(str(settings["bm25"]), bool(settings.get("passages", False)), saturation)


def write_indexes(directory: Path, indexing: Indexing, progress: bool) -> None:
    """Index the documents in ``documents/`` of a directory; the indexes are written beside them."""
    store = DocumentStore(directory / DOCUMENTS)
    try:
        write_titles(directory, store.titles, store.ids())
        write_aliases(directory, store, len(store))
        if indexing.bm25 != NO_BM25:
            build_bm25(
                indexing.bm25,
                index_texts(store, passages=indexing.passages),
                directory / BM25,
                progress=progress,
                saturation=indexing.saturation,
                text_form=indexing.text_form,
            )
    finally:
        store.close()


def new_folder(parent: str) -> Path:
    """Create a folder with a random name."""
    folder = Path(parent, secrets.token_hex(8))
    folder.mkdir(parents=True)
    return folder
