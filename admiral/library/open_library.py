"""A knowledge base as sources that can be cited: found by URL, cut into passages, and searched.

Documents that are no pages count too: those of a folder are named by their files, records of a
corpus by their titles. A filter leaves out what cannot support a claim of Wikipedia: Wikipedia
itself, its mirrors and copies. A claim is found word for word in a copy of its own page, which
therefore ranks first, and would be a circular reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from admiral.errors import AdmiralError
from admiral.kb.knowledge_base import KnowledgeBase
from admiral.kb.vectors import DenseIndex, SentenceEncoder
from admiral.library import Passage, ScoredPassage, Source
from admiral.library.canonical_urls import canonical
from admiral.library.passage_windows import STRIDE, WORDS, windows
from admiral.records import Document

# Wikipedia, its sister projects, and sites that copy it.
_WIKIPEDIA = (
    "wikipedia.org",
    "wikimedia.org",
    "wiktionary.org",
    "wikiquote.org",
    "wikisource.org",
    "wikibooks.org",
    "wikinews.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wikidata.org",
    "mediawiki.org",
    "wikiwand.com",
    "dbpedia.org",
    "infogalactic.com",
    "wiki2.org",
    "wikizero.com",
    "en-academic.com",
    "everybodywiki.com",
    "alchetron.com",
    "wikimili.com",
    "justapedia.org",
    "wiki.kidzsearch.com",
    "encyclopedia.thefreedictionary.com",
    "self.gutenberg.org",
    "worldheritage.org",
    "newworldencyclopedia.org",
)
#: Words of a shingle, and the share of shingles of a claim in its context that a copy has.
SHINGLE_WORDS, COPIED_SHARE = 8, 0.5
# Fewer shingles, from a claim without context, may be a quotation.
_LEAST_SHINGLES = 20
_WORD = re.compile(r"[^\W_]+")


def host(url: str) -> str:
    """Return the host of a URL without ``www.``; of an archived page, that of the page."""
    return re.split(r"[/?]", canonical(url), maxsplit=1)[0].partition(":")[0]


def is_wikipedia(url: str) -> bool:
    """Return whether a URL is of Wikipedia, a sister project or a known mirror."""
    return _is_below(host(url), _WIKIPEDIA)


def _is_below(name: str, sites: Iterable[str]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return all sequences of `SHINGLE_WORDS` words of a text, in lower case."""
    words = _WORD.findall(text.lower())
    starts = range(len(words) - SHINGLE_WORDS + 1)
    return {tuple(words[start : start + SHINGLE_WORDS]) for start in starts}


def is_copy(text: str, context: str) -> bool:
    """Return whether a text holds at least half of a context word for word.

    The context is a claim with what stands around it on its page. One of fewer than 27 words is too
    short to tell.
    """
    parts = shingles(context)
    if len(parts) < _LEAST_SHINGLES:
        return False
    return len(parts & shingles(text)) >= COPIED_SHARE * len(parts)


def blocked_sites(path: str) -> tuple[str, ...]:
    """Return the hosts in a file, one a line; empty lines and those with ``#`` are left out.

    `path`: the file; no sites for an empty path. Raises AdmiralError if it cannot be read, or a
    line is not a host.
    """
    if not path:
        return ()
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise AdmiralError(
            f"setting 'blocked_sites': {path}: cannot be read: {reason}. Give a text file of hosts"
        ) from error
    sites = []
    for number, line in enumerate(lines, 1):
        site = line.strip()
        if not site or site.startswith("#"):
            continue
        if host(site) != site:
            raise AdmiralError(
                f"{path}:{number}: {site!r} is not a host. Write one as example.org, in lower case"
            )
        sites.append(site)
    return tuple(sites)


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which sources are never suggested."""

    wikipedia: bool = True
    copies: bool = True
    blocked: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for site in self.blocked:
            if not site or host(site) != site:
                raise AdmiralError(
                    f"blocked={site!r}: is not a host. Write it as in example.org, in lower case"
                )

    def blocks_url(self, url: str) -> bool:
        """Return whether a source is left out because of its URL."""
        return (self.wikipedia and is_wikipedia(url)) or _is_below(host(url), self.blocked)

    def blocks(self, url: str, text: str, context: str) -> bool:
        """Return whether a source is left out for a claim.

        `context`: the claim with what stands around it on its page.
        """
        return self.blocks_url(url) or (self.copies and is_copy(text, context))


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
