"""Open a knowledge base, look documents and titles up, and search it with BM25."""

from __future__ import annotations

import logging
import math
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_prefix, clean_title, matching_form
from admiral.kb.bm25 import TEXT_WEIGHT, TITLE_WEIGHT, RowIndex, analysis
from admiral.kb.bm25.analysis import clean_query
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.store import checked_kb_path, read_manifest
from admiral.kb.store.contents import Contents, OpenedFiles, StoredVectors
from admiral.kb.store.document_store import IDS, ORIGINS
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.snapshot import Snapshot, open_with
from admiral.kb.store.titles import FOLDER, title_trie
from admiral.kb.stored_embeddings import DenseIndex
from admiral.records import Document, ScoredTitle

if TYPE_CHECKING:
    from trie import SafeTokenizer, Trie

logger = logging.getLogger(__name__)


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


def _found(
    index: RowIndex, row: int, document: Document, number: int, score: float
) -> FoundPassage:
    if document.page is not None:
        return FoundPassage(document, number, *document.page.passages[number], score)
    first, after = index.sentences(row)[number]
    starts = [*document.sentence_starts, len(document.text) + 1]
    end = starts[-1 if after is None else after] - 1
    return FoundPassage(document, number, min(starts[first], end), end, score)


def _page_spans(document: Document) -> list[tuple[int, int | None]]:
    """Return the first sentence and the end of each passage of a page."""
    starts = document.sentence_starts
    passages = () if document.page is None else document.page.passages
    return [(bisect_right(starts, start) - 1, bisect_left(starts, end)) for start, end in passages]


class KnowledgeBase:
    """Documents, titles and their indexes, memory-mapped and shared between processes.

    Use :meth:`open` to open one. It is a context manager, lookups may run in several threads, and
    it satisfies the ``Bm25Index`` protocol.

    An open knowledge base is a snapshot: changes made by `admiral.kb.add`, `remove` and `compact`
    are visible only when it is opened again. Lookups raise `ChangedFileError` once one of its files
    was cut off in place.

    Attributes
    ----------
    opened_files
        The files that are open, of its graph and its tries too.
    """

    def __init__(
        self, snapshot: Snapshot, *, title_weight: float, text_weight: float, threads: int
    ) -> None:
        self.path = snapshot.path
        self._snapshot, self._threads = snapshot, threads
        self._weights = title_weight, text_weight
        self._open_contents: Contents | None = Contents(snapshot)  # None once closed
        self._index: RowIndex | None = None
        self._tries: dict[str, Trie] = {}
        self._lock = threading.Lock()
        self.opened_files = OpenedFiles()
        self.opened_files.add(snapshot.path / name for name in snapshot.manifest.files)

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
        """Open a knowledge base directory.

        Opening checks the manifest, the format version, the sizes of all files, and the checksums
        of the files that marisa reads. Use `admiral.kb.verify` to check all contents. `bm25`:
        required backend of the BM25 index; None accepts any. `title_weight`, `text_weight`: BM25
        field weights, zero or more, not both zero. `threads`: number of processors that Java
        assumes, 0 for at most four. Raises AdmiralError if there is no knowledge base, it has an
        unknown format version, its index is of another backend, or files are truncated.
        """
        # Absolute, so that it stays the same directory if the process changes its own.
        directory = checked_kb_path(path).absolute()

        def make(snapshot: Snapshot) -> KnowledgeBase:
            backend = snapshot.manifest.bm25
            if bm25 is not None and bm25 != backend:
                raise AdmiralError(
                    f"{directory}: holds a BM25 index of {backend!r}, not of {bm25!r}. Build it "
                    f"again with `admiral index --bm25 {bm25}`, or leave --bm25 out."
                )
            return cls(
                snapshot, title_weight=title_weight, text_weight=text_weight, threads=threads
            )

        return open_with(directory, make)

    def __len__(self) -> int:
        return self._snapshot.manifest.documents

    @property
    def digest(self) -> str:
        """Digest that identifies the version."""
        return self._snapshot.manifest.digest

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``documents``, ``sentences`` and ``links``."""
        return dict(self._snapshot.manifest.counts)

    @property
    def has_origins(self) -> bool:
        """Whether documents have sources, sections and offsets in files, or ids of their corpus."""
        return self._contents.have(ORIGINS, IDS)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the build: ``bm25``, ``on_duplicate``, ``sources``."""
        return self._snapshot.manifest.settings

    @property
    def current(self) -> bool:
        """Whether this is still the newest version of the knowledge base.

        Raises AdmiralError if the knowledge base no longer exists or cannot be read.
        """
        return read_manifest(self.path).digest == self.digest

    def rows(self) -> np.ndarray:
        """Return all rows: int64, ascending, with gaps where documents were removed."""
        return self._contents.live_rows()

    def shared_rows(self, other: KnowledgeBase) -> int:
        """Return how many of the first rows hold the same documents as in another version.

        Documents may have been removed from either. The number is 0 after a compaction.
        """
        ours, theirs = self._snapshot.manifest.base, other._snapshot.manifest.base
        return ours.documents if ours.digest == theirs.digest else 0

    def titles(self) -> Iterator[str]:
        """Yield all titles in the order of rows."""
        return self._contents.titles()

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of rows."""
        return self._contents.documents()

    def titles_of_ids(self) -> dict[str, str]:
        """Return the title of each document that has an id in its corpus, by its id."""
        return self._contents.titles_of_ids()

    def titles_of_sources(self) -> dict[str, str]:
        """Return the title of each document that was read from a file, by its source."""
        return self._contents.titles_of_sources()

    def row(self, title: str) -> int | None:
        """Return the row of a title, or None if there is no such document.

        If no title is the same, one with the same matching form counts: with other apostrophes,
        dashes or composed letters, for example (`admiral.io.text_cleaning`).
        """
        title = clean_title(title)
        row = self._contents.row(title)
        if row is None:
            form = matching_form(title)
            row = self._contents.row(form) if form != title else None
            if row is None:
                row = self._contents.row_of_form(form)
        return row

    def row_of_id(self, id: str) -> int | None:
        """Return the row of the document with an id, or None."""
        return self._contents.row_of_id(id)

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        return self._contents.title(row)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order.

        Completion is case-sensitive; the empty prefix yields all titles. Titles whose matching form
        begins with that of `prefix`, in another spelling, follow.
        """
        prefix = clean_prefix(prefix)
        contents, form = self._contents, matching_form(prefix)
        spelt_otherwise = (
            (title, row)
            for title, row in (contents.complete_form(form) if prefix else ())
            if not title.startswith((prefix, form))
        )
        in_form = contents.complete(form) if form != prefix else ()
        return chain(contents.complete(prefix), in_form, spelt_otherwise)

    def aliases_beginning(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the aliases that a text begins with, longest first, with the titles they name.

        Aliases are other names of documents, such as acronyms. Those that name many documents or
        are common words are left out (`admiral.kb.alias_index`). Lone surrogates are not allowed.
        """
        found = self._contents.aliases.beginnings(text)
        return [(name, list(map(self.title, rows))) for name, rows in found]

    def has_aliases_with(self, word: str) -> bool:
        """Return whether an alias may begin with `word`, up to its first other character."""
        return self._contents.aliases.begin_with(word)

    def common_aliases(self) -> set[str]:
        """Return the aliases that name no document because they are common words."""
        return self._contents.aliases.common()

    def document(self, title: str) -> Document:
        """Return the document with a title; UnknownTitleError if there is none."""
        return self.document_at(self._known_row(title))

    def document_at(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
        return self._contents.document(row)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the top `k` titles for each query by BM25, best first.

        Ties are broken by row. `queries`: any strings; a query without terms has no results. Raises
        AdmiralError if there is no BM25 index, or it is damaged.
        """
        ranked = self._row_index().search(queries, k)
        with self._rows_exist():
            return [[ScoredTitle(self.title(row), score) for row, score in rows] for rows in ranked]

    def search_passages(self, queries: Sequence[str], k: int) -> Iterator[list[FoundPassage]]:
        """Yield the top `k` passages for each query by BM25, best first.

        Queries and errors are those of `search`.
        """
        index = self._row_index()
        for found in index.search_passages(queries, k):
            with self._rows_exist():
                documents = {row: self.document_at(row) for row in {row for row, *_ in found}}
                passages = [
                    _found(index, row, documents[row], number, score)
                    for row, number, score in found
                ]
            yield passages

    @contextmanager
    def _rows_exist(self) -> Iterator[None]:
        try:
            yield
        except IndexError as error:
            raise AdmiralError(
                f"{self.path}: its BM25 index is damaged (it returns {error}). Run `admiral "
                "verify`, then build the knowledge base again with `admiral index`."
            ) from error

    def best_passages(
        self, query: str, titles: Sequence[str], count: int
    ) -> list[list[tuple[int, int | None]]]:
        """Return the best passages of each document by BM25, best first.

        Return the first sentence and the end of each passage, None for the end of the document. A
        document that is not split, or has no BM25 index, is one passage. `titles`: titles of
        documents, each once; UnknownTitleError for another.
        """
        rows = [self._known_row(title) for title in titles]
        if self._snapshot.manifest.bm25 == NO_BM25:
            return [[(0, None)] for _ in rows]
        index = self._row_index()
        split = [row for row in rows if len(index.sentences(row)) > 1]
        scores = dict(zip(split, index.passage_scores(query, split), strict=True)) if split else {}
        best = []
        for row in rows:
            spans = index.sentences(row)
            if row in scores:
                if (page := self.document_at(row)).page is not None:
                    spans = _page_spans(page)
                order = (-scores[row]).argsort(kind="stable")[:count].tolist()
                spans = [spans[number] for number in order]
            best.append(spans)
        return best

    def inverse_document_frequencies(self, text: str) -> dict[str, float]:
        """Return the inverse document frequency of each index term of a text; 1 without an index.

        It is Lucene's, ``log(1 + (N - n + 0.5) / (n + 0.5))`` for a term in `n` of `N` passages.
        """
        if self._snapshot.manifest.bm25 == NO_BM25:
            return dict.fromkeys(analysis.terms(clean_query(text)), 1.0)
        index = self._row_index()
        terms = list(dict.fromkeys(analysis.terms(clean_query(text))))
        total = len(index)
        frequencies = zip(terms, index.document_frequencies(terms), strict=True)
        return {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in frequencies}

    def stored_vectors(self, encoder: SentenceEncoder) -> StoredVectors | None:
        """Return the stored sentence vectors of an encoder; None if there are none."""
        contents = self._contents
        identities = {stored.encoder for stored in contents.embeddings if stored is not None}
        # An encoder computes its identity, the checksum of a model, only if it is needed.
        if not identities:
            return None
        if encoder.identity not in identities:
            logger.warning(
                "%s: its stored embeddings are not used, because they are those of another encoder "
                "(%s). `admiral embed` replaces them.",
                self.path,
                ", ".join(sorted(identity.name for identity in identities)),
            )
            return None
        return StoredVectors(contents, encoder.identity)

    def dense_index(self, encoder: SentenceEncoder) -> DenseIndex:
        """Return an index of the vectors of an encoder; AdmiralError if some are not stored."""
        return DenseIndex(self._contents, encoder, self.path)

    def title_trie(self, tokens: SafeTokenizer) -> Trie:
        """Return the trie of all titles for a tokenizer; it is built and stored on first use."""
        with self._lock:
            trie = self._tries.get(tokens.fingerprint)
            if trie is None:
                with self._snapshot.unchanged():
                    trie = title_trie(self._snapshot, self._contents, tokens)
                self._tries[tokens.fingerprint] = trie
                folder = self._snapshot.base / FOLDER / tokens.fingerprint
                self.opened_files.add(folder.glob("*"))
            return trie

    def close(self) -> None:
        """Release the BM25 index and the memory maps; later lookups raise AdmiralError."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None
            self._tries.clear()
            if self._open_contents is not None:
                self._open_contents.close()
                self._open_contents = None
            self._snapshot.close()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _contents(self) -> Contents:
        if self._open_contents is None:
            raise AdmiralError(f"{self.path}: the knowledge base was closed. Open it again.")
        self.opened_files.check()
        return self._open_contents

    def _known_row(self, title: str) -> int:
        row = self.row(title)
        if row is None:
            raise UnknownTitleError(
                f"{self.path}: no document has the title {title!r}. Titles are matched exactly, "
                "with upper and lower case."
            )
        return row

    def _row_index(self) -> RowIndex:
        with self._lock:
            _ = self._contents  # raises once closed
            if self._index is None:
                if self._snapshot.manifest.bm25 == NO_BM25:
                    raise AdmiralError(
                        f"{self.path}: was built without a BM25 index. Build it again with "
                        "`admiral index --bm25 lucene` or `--bm25 bm25s`."
                    )
                title_weight, text_weight = self._weights
                with self._snapshot.unchanged():
                    index = RowIndex(
                        self._snapshot.bm25,
                        title_weight=title_weight,
                        text_weight=text_weight,
                        threads=self._threads,
                    )
                self._index = index
            return self._index
