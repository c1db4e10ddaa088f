"""The documents of a knowledge base as sources: found by URL, cut into passages, and searched.

Documents that are no pages count too: those of a folder are named by their files, records of a
corpus by their titles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from admiral.kb.knowledge_base import KnowledgeBase
from admiral.kb.vectors import DenseIndex, SentenceEncoder
from admiral.records import Document
from admiral.sources import Passage, ScoredPassage, Source
from admiral.sources.canonical_urls import canonical
from admiral.sources.passage_windows import STRIDE, WORDS, windows


class Sources:
    """An open knowledge base, `kb`, as sources; safe to share between threads."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a knowledge base; see `admiral.kb.KnowledgeBase.open`."""
        return cls(KnowledgeBase.open(path))

    def __iter__(self) -> Iterator[Source]:
        return map(_source, self.kb.documents())

    def source(self, url: str) -> Source | None:
        """Return the source with the same canonical URL, or else this file or title, or None."""
        document = self._document(url)
        return None if document is None else _source(document)

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in order; none if it is unknown or has no text."""
        document = self._document(url)
        if document is None:
            return ()
        spans: Sequence[tuple[int, int]] = windows(document.text, WORDS, STRIDE)
        if document.page is not None:
            spans = document.page.passages
        return tuple(_passage(document, number, *span) for number, span in enumerate(spans))

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages by BM25 for each query, of those that share a term."""
        ranked = self.kb.search_passages(queries, k)
        return [[ScoredPassage(_passage(*one[:4]), one.score) for one in each] for each in ranked]

    def dense(self, encoder: SentenceEncoder) -> DensePassages:
        """Return an index of the vectors of an encoder; AdmiralError if some are not stored."""
        return DensePassages(self.kb.dense_index(encoder))

    def close(self) -> None:
        """Close the knowledge base."""
        self.kb.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _document(self, url: str) -> Document | None:
        row = self.kb.store.row_of_id(canonical(url))
        if row is None:
            row = self.kb.store.one("SELECT row FROM documents WHERE source = ?", url)
        if row is None:
            row = self.kb.row(url)
        return None if row is None else self.kb.document_at(row)


class DensePassages:
    """Passages by the vectors of an encoder."""

    def __init__(self, index: DenseIndex) -> None:
        self._index = index

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` passages with the highest cosine for each query, best first."""
        return [
            [
                ScoredPassage(_passage(document, n, *document.part_span(n)), score)
                for document, n, score in found
            ]
            for found in self._index.search(queries, k)
        ]


def _source(document: Document) -> Source:
    page = document.page
    rest = () if page is None else (page.site, page.date, page.language, page.archive_url)
    return Source(*_names(document), document.text, *rest)


def _names(document: Document) -> tuple[str, str]:
    """Return the URL and the title by which a document is cited."""
    if document.page is None:
        return document.source or document.title, document.title
    return document.page.url, document.page.name


def _passage(document: Document, number: int, start: int, end: int) -> Passage:
    return Passage(*_names(document), number, start, end, document.text[start:end])
