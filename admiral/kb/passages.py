"""The texts of documents as BM25 reads them.

BM25 indexes long documents by passages. A text begins with the headings of its sections, since no
sentence has them. That of a passage of a page begins with the name of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from admiral.kb.bm25 import Text
from admiral.records import SECTION_SEPARATOR, Document

#: In place of the backend of a knowledge base without a BM25 index.
NO_BM25 = "none"
# Longer documents are split into passages.
LONGEST_WHOLE = 40  # sentences
LONGEST_PASSAGE = 32  # sentences


def indexed_text(document: Document, *, passages: bool) -> tuple[str, Text]:
    """Return the title and the text of a document.

    `passages`: whether to split documents of more than `LONGEST_WHOLE` sentences. The text of these
    is a list of passages, each with the number of its first sentence. A page has its own passages,
    each with its number; they begin with the name of the page, which is no field of its own.
    """
    if document.page is not None:
        named = (f"{document.page.name}\n{part}" for part in document.parts)
        return "", list(enumerate(named)) or ""
    count = len(document.sentences)
    if not passages or count <= LONGEST_WHOLE:
        return document.title, _text(document, 0, count)
    spans = pairwise([*passage_starts(document), count])
    return document.title, [(start, _text(document, start, end)) for start, end in spans]


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
