"""A knowledge base as sources that can be cited: found by URL, cut into passages, and searched.

Documents that are no pages count too: those of a folder are named by their files, records of a
corpus by their titles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.knowledge_base import KnowledgeBase
from admiral.kb.stored_embeddings import DenseIndex
from admiral.library.canonical_urls import canonical
from admiral.library.passage_windows import STRIDE, WORDS, windows
from admiral.library.source_records import Passage, ScoredPassage, Source
from admiral.records import Document

#: Settings of a library that decide its passages and their ranks.
SETTINGS = ("words", "stride", "bm25", "k1", "b")


class Library:
    """A knowledge base of sources; safe to share between threads, and a context manager.

    An open library is one version, whatever other processes add, remove or build.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @classmethod
    def open(cls, path: str | Path, *, threads: int = 0) -> Self:
        """Open a library, or any knowledge base; see `admiral.kb.KnowledgeBase.open`."""
        return cls(KnowledgeBase.open(path, threads=threads))

    @property
    def digest(self) -> str:
        """Digest that identifies the version."""
        return self.kb.digest

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the build: ``words``, ``stride``, ``bm25``, ``k1``, ``b``."""
        return {name: self.kb.settings[name] for name in SETTINGS if name in self.kb.settings}

    @property
    def passage_count(self) -> int:
        """Number of passages of pages."""
        return self.kb.counts.get("passages", 0)

    def __len__(self) -> int:
        return len(self.kb)

    def __contains__(self, url: str) -> bool:
        return self._document(url) is not None

    def source(self, url: str) -> Source | None:
        """Return the source with the same canonical URL, or else this file or title, or None."""
        document = self._document(url)
        return None if document is None else document_source(document)

    def sources(self) -> Iterator[Source]:
        """Yield all sources."""
        return map(document_source, self.kb.documents())

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in order; none if it is unknown or has no text."""
        document = self._document(url)
        if document is None:
            return ()
        spans = (
            windows(document.text, WORDS, STRIDE)
            if document.page is None
            else document.page.passages
        )
        return tuple(_passage(document, number, *span) for number, span in enumerate(spans))

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query by BM25 over titles and texts.

        Only passages that share a term with the query are returned, equal scores in the order of
        the library. Raises AdmiralError if `k` is less than one, or files turn out to be damaged.
        """
        ranked = self.kb.search_passages(queries, k)
        return [[ScoredPassage(_passage(*one[:4]), one.score) for one in each] for each in ranked]

    def dense(self, encoder: SentenceEncoder) -> DensePassages:
        """Return an index of the vectors of an encoder.

        Raises AdmiralError if the library does not have the vectors of all passages from this
        encoder.
        """
        return DensePassages(self.kb.dense_index(encoder))

    def close(self) -> None:
        """Release all files; a second call does nothing."""
        self.kb.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _document(self, url: str) -> Document | None:
        row = self.kb.row_of_id(canonical(url))
        if row is None:
            row = self.kb.row(self._titles_of_files.get(url, url))
        return None if row is None else self.kb.document_at(row)

    @cached_property
    def _titles_of_files(self) -> dict[str, str]:
        return self.kb.titles_of_sources()


class DensePassages:
    """The passages of a library by the vectors of an encoder."""

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


def document_source(document: Document) -> Source:
    """Return a document as a source."""
    page = document.page
    if page is None:
        return Source(*_names(document), document.text)
    rest = page.site, page.date, page.language, page.archive_url
    return Source(*_names(document), document.text, *rest)


def _names(document: Document) -> tuple[str, str]:
    """Return the URL and the title by which a document is cited."""
    if document.page is None:
        return document.source or document.title, document.title
    return document.page.url, document.page.name


def _passage(document: Document, number: int, start: int, end: int) -> Passage:
    return Passage(*_names(document), number, start, end, document.text[start:end])
