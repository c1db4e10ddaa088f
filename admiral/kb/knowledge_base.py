"""Open a knowledge base, look documents and titles up, and search it with BM25."""

from __future__ import annotations

import logging
import math
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_prefix, clean_title, matching_form
from admiral.kb.aliases import AliasIndex
from admiral.kb.bm25 import TEXT_WEIGHT, TITLE_WEIGHT, RowIndex, analysis
from admiral.kb.bm25.analysis import clean_query
from admiral.kb.passages import NO_BM25
from admiral.kb.store import Store, UnusableError, current_digest, open_store
from admiral.kb.titles import TitleIndex, title_trie
from admiral.kb.vectors import DenseIndex, SentenceEncoder, StoredVectors, stored_encoder
from admiral.records import Document, ScoredTitle

if TYPE_CHECKING:
    from trie import SafeTokenizer, TokenTrie

logger = logging.getLogger(__name__)

BM25 = "bm25"
_CACHED_TITLES = 2**16


class UnknownTitleError(AdmiralError, KeyError):
    """Error for a title that no document of the knowledge base has."""

    __str__ = AdmiralError.__str__  # KeyError would show the message in quotes


class FoundPassage(NamedTuple):
    """A passage found by BM25: `start` to `end` of the text of a document."""

    document: Document
    number: int  # position among the passages of the document, from 0
    start: int
    end: int
    score: float


def _span(document: Document, number: int, index: RowIndex, row: int) -> tuple[int, int]:
    """Return the start and the end of a passage in the text of its document."""
    if document.page is not None:
        return document.page.passages[number]
    first, after = index.sentences(row)[number]
    starts = [*document.sentence_starts, len(document.text) + 1]
    end = starts[-1 if after is None else after] - 1
    return min(starts[first], end), end


class KnowledgeBase:
    """One version of a knowledge base: documents, titles and their indexes.

    Use :meth:`open` to open the current one. Lookups may run in several threads. Changes made by
    `admiral.kb.add` and `remove` are visible only when it is opened again.

    `store`: the open database. `folder`: what is derived from it.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        title_weight: float = TITLE_WEIGHT,
        text_weight: float = TEXT_WEIGHT,
        threads: int = 0,
    ) -> None:
        self.store, self.folder, self.path = store, folder, store.path
        self._options: dict[str, Any] = {"title_weight": title_weight, "text_weight": text_weight}
        self._options["threads"] = threads
        self.title_index = TitleIndex(folder)
        self._aliases = AliasIndex(folder, len(self.title_index))
        self.title = lru_cache(_CACHED_TITLES)(store.title)
        self._index: RowIndex | None = None
        self._tries: dict[str, TokenTrie] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        bm25: str | None = None,
        title_weight: float = TITLE_WEIGHT,
        text_weight: float = TEXT_WEIGHT,
        threads: int = 0,
    ) -> KnowledgeBase:
        """Open the current version of a knowledge base.

        `bm25`: required backend of the BM25 index; None accepts any. `title_weight`, `text_weight`:
        BM25 field weights, zero or more, not both zero. `threads`: number of processors that Java
        assumes, 0 for at most four.
        """
        store = open_store(path)
        try:
            backend = store.settings["bm25"]
            if bm25 is not None and bm25 != backend:
                raise AdmiralError(
                    f"{path}: holds a BM25 index of {backend!r}, not of {bm25!r}. Build it again "
                    f"with `admiral index --bm25 {bm25} --overwrite`, or leave --bm25 out."
                )
            store.check_derived()
            return cls(
                store,
                store.folder,
                title_weight=title_weight,
                text_weight=text_weight,
                threads=threads,
            )
        except BaseException:
            store.close()
            raise

    def __len__(self) -> int:
        return len(self.title_index)

    @property
    def digest(self) -> str:
        """Digest that identifies the version."""
        return str(self.store.settings["digest"])

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``documents``, ``sentences`` and ``links``."""
        return dict(self.store.settings["counts"])

    @property
    def has_origins(self) -> bool:
        """Whether documents have sources, sections and offsets in files, or ids of their corpus."""
        sql = "SELECT 1 FROM documents WHERE coalesce(source, id) IS NOT NULL LIMIT 1"
        return bool(self.store.all(sql))

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the build: ``bm25``, ``on_duplicate``, ``sources``."""
        return self.store.settings

    @property
    def current(self) -> bool:
        """Whether this is still the newest version of the knowledge base."""
        return current_digest(self.path) == self.digest

    def rows(self) -> np.ndarray:
        """Return all rows: int64, ascending, with gaps where documents were removed."""
        return np.array(self.store.rows(), np.int64)

    def titles(self) -> Iterator[str]:
        """Yield all titles in the order of rows."""
        return (title for (title,) in self.store.all("SELECT title FROM documents ORDER BY row"))

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of rows."""
        return (document for _, document in self.store.documents())

    def titles_of_ids(self) -> dict[str, str]:
        """Return the title of each document that has an id in its corpus, by its id."""
        sql = "SELECT id, title FROM documents WHERE id IS NOT NULL ORDER BY row"
        return dict(self.store.all(sql))

    def row(self, title: str) -> int | None:
        """Return the row of a title, or None if there is no such document.

        If no title is the same, one with the same matching form counts: with other apostrophes,
        dashes or composed letters, for example (`admiral.io.text_cleaning`).
        """
        title = clean_title(title)
        row = self.title_index.row(title)
        if row is None:
            form = matching_form(title)
            row = self.title_index.row(form) if form != title else None
            if row is None:
                row = min((row for (row,) in self.title_index.forms.get(form, [])), default=None)
        return row

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order.

        Completion is case-sensitive; the empty prefix yields all titles. Titles whose matching form
        begins with that of `prefix`, in another spelling, follow.
        """
        prefix = clean_prefix(prefix)
        titles, form = self.title_index, matching_form(prefix)
        in_forms = titles.forms.iteritems(form) if prefix else ()
        others = ((self.title(row), row) for _, (row,) in in_forms)
        spelt_otherwise = (pair for pair in others if not pair[0].startswith((prefix, form)))
        in_form = titles.complete(form) if form != prefix else ()
        return chain(titles.complete(prefix), in_form, spelt_otherwise)

    def aliases_beginning(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the aliases that a text begins with, longest first, with the titles they name.

        Aliases are other names of documents, such as acronyms. Those that name many documents or
        are common words are left out (`admiral.kb.aliases`). Lone surrogates are not allowed.
        """
        found = self._aliases.beginnings(text)
        return [(name, list(map(self.title, rows))) for name, rows in found]

    def has_aliases_with(self, word: str) -> bool:
        """Return whether an alias may begin with `word`, up to its first other character."""
        return self._aliases.begin_with(word)

    def common_aliases(self) -> set[str]:
        """Return the aliases that name no document because they are common words."""
        return self._aliases.common()

    def known_row(self, title: str) -> int:
        """Return the row of a title; UnknownTitleError if there is no such document."""
        row = self.row(title)
        if row is None:
            raise UnknownTitleError(
                f"{self.path}: no document has the title {title!r}. Titles are matched exactly, "
                "with upper and lower case."
            )
        return row

    def document(self, title: str) -> Document:
        """Return the document with a title; UnknownTitleError if there is none."""
        return self.document_at(self.known_row(title))

    def document_at(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
        return self.store.document(row)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the top `k` titles for each query by BM25, best first.

        Ties are broken by row. `queries`: any strings; a query without terms has no results. Raises
        AdmiralError if there is no BM25 index, or it is damaged.
        """
        ranked = self.word_index().search(queries, k)
        return [[ScoredTitle(self.title(row), score) for row, score in rows] for rows in ranked]

    def search_passages(self, queries: Sequence[str], k: int) -> Iterator[list[FoundPassage]]:
        """Yield the top `k` passages for each query by BM25, best first.

        Queries are those of `search`.
        """
        index = self.word_index()
        for found in index.search_passages(queries, k):
            documents = {row: self.document_at(row) for row, _, _ in found}
            yield [
                FoundPassage(d, number, *_span(d, number, index, row), score)
                for row, number, score in found
                for d in [documents[row]]
            ]

    def best_passages(
        self, query: str, titles: Sequence[str], count: int
    ) -> list[list[tuple[int, int | None]]]:
        """Return the best passages of each document by BM25, best first.

        Return the first sentence and the end of each passage, None for the end of the document. A
        document that is not split, or has no BM25 index, is one passage. `titles`: titles of
        documents, each once; UnknownTitleError for another.
        """
        rows = [self.known_row(title) for title in titles]
        if self.settings["bm25"] == NO_BM25:
            return [[(0, None)] for _ in rows]
        index = self.word_index()
        best = [index.sentences(row) for row in rows]
        split = [number for number, spans in enumerate(best) if len(spans) > 1]
        scored = index.passage_scores(query, [rows[n] for n in split]) if split else []
        for number, scores in zip(split, scored, strict=True):
            spans = best[number]
            document = self.document_at(rows[number])
            if document.page is not None:
                starts = document.sentence_starts
                spans = [
                    (bisect_right(starts, start) - 1, bisect_left(starts, end))
                    for start, end in document.page.passages
                ]
            order = (-scores).argsort(kind="stable")[:count].tolist()
            best[number] = [spans[place] for place in order]
        return best

    def inverse_document_frequencies(self, text: str) -> dict[str, float]:
        """Return the inverse document frequency of each index term of a text; 1 without an index.

        It is Lucene's, ``log(1 + (N - n + 0.5) / (n + 0.5))`` for a term in `n` of `N` passages.
        """
        if self.settings["bm25"] == NO_BM25:
            return dict.fromkeys(analysis.terms(clean_query(text)), 1.0)
        index = self.word_index()
        terms = list(dict.fromkeys(analysis.terms(clean_query(text))))
        frequencies = zip(terms, index.document_frequencies(terms), strict=True)
        return {term: math.log(1 + (len(index) - n + 0.5) / (n + 0.5)) for term, n in frequencies}

    def stored_vectors(self, encoder: SentenceEncoder) -> StoredVectors | None:
        """Return the stored sentence vectors of an encoder; None if there are none."""
        stored = stored_encoder(self.store)
        # An encoder computes its identity, the checksum of a model, only if it is needed.
        if stored is None:
            return None
        if encoder.identity != stored:
            logger.warning(
                "%s: its stored embeddings are not used, because they are those of another encoder "
                "(%s). `admiral index --embeddings` replaces them.",
                *(self.path, stored.name),
            )
            return None
        return StoredVectors(self.store, stored)

    def dense_index(self, encoder: SentenceEncoder) -> DenseIndex:
        """Return an index of the vectors of an encoder; AdmiralError if some are not stored."""
        return DenseIndex(self.store, encoder)

    def title_trie(self, tokens: SafeTokenizer) -> TokenTrie:
        """Return the trie of all titles for a tokenizer; it is built and stored on first use.

        Its rows are the numbers of titles in `title_index`.
        """
        with self._lock:
            if tokens.fingerprint not in self._tries:
                trie = title_trie(self.store, self.title_index, tokens)
                self._tries[tokens.fingerprint] = trie
            return self._tries[tokens.fingerprint]

    def word_index(self) -> RowIndex:
        """Return the BM25 index, which is opened on first use; AdmiralError if there is none."""
        with self._lock:
            if self._index is None:
                self.store.check_open()
                backend = self.settings["bm25"]
                if backend == NO_BM25:
                    raise UnusableError(
                        f"{self.path}: was built without a BM25 index. Build it again with "
                        "`admiral index --overwrite --bm25 lucene` or `--bm25 bm25s`."
                    )
                if not self.folder.exists():
                    raise UnusableError(f"{self.path}: was changed meanwhile. Open it again.")
                try:
                    self._index = RowIndex(self.folder / BM25, **self._options)
                except AdmiralError as error:
                    raise UnusableError(f"{self.path}: cannot be searched: {error}") from error
            return self._index

    def close(self) -> None:
        """Release the BM25 index and the database; later lookups raise AdmiralError."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None
            self._tries.clear()
            self.store.close()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
