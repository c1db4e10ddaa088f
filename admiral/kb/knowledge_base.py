"""The knowledge base as the rest of the system sees it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_prefix, clean_title
from admiral.kb.joined.repeated_titles import open_contents
from admiral.kb.kb_paths import kb_place
from admiral.kb.store.collection import Collection, opened
from admiral.kb.store.contents import BM25, Contents
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.members import read_holdings
from admiral.kb.tries.title_tries import title_trie
from admiral.records import Document, ScoredTitle

if TYPE_CHECKING:
    import numpy as np

    from admiral.kb.bm25 import RowIndex
    from trie import Tokens, Trie


class UnknownTitleError(AdmiralError, KeyError):
    """No document of the knowledge base has this title."""

    __str__ = AdmiralError.__str__  # KeyError would show the message in quotes


class KnowledgeBase:
    """Documents, titles and their indexes, memory-mapped and shared between processes.

    It is one directory, or the members of a joined one (`admiral.kb.joined.joining`), which it
    shows as if they had been built together.

    Open one with :meth:`open`; it is a context manager, and lookups may run in several threads.
    It also satisfies the ``Bm25Index`` protocol.

    It shows one version of each, the one that was there when it was opened, whatever
    `admiral.kb.add`, `remove` and `compact` do meanwhile; open another one to see what they did.
    """

    def __init__(
        self, collection: Collection, *, title_weight: float, text_weight: float, threads: int
    ) -> None:
        self.path = collection.path
        self._collection, self._threads = collection, threads
        self._weights = title_weight, text_weight
        found, self._counts = open_contents(collection)
        self._held: Contents | None = found
        self._index: RowIndex | None = None
        self._tries: dict[str, Trie] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        bm25: str | None = None,
        title_weight: float = 0.5,
        text_weight: float = 1.0,
        threads: int = 0,
    ) -> KnowledgeBase:
        """Open a knowledge base directory.

        The manifest, the format version, the sizes of the files and the checksums of those that
        marisa reads are checked; all contents are checked by ``verify``.

        Parameters
        ----------
        bm25
            The backend that must be there; None for whichever is.
        title_weight, text_weight
            Weights of the two BM25 fields.
        threads
            Threads of a batch search; 0 for one per core.

        Raises
        ------
        AdmiralError
            If there is no knowledge base, it is of another format version, has no index of the
            backend asked for, or its files were truncated; if it joins others and one of them is
            missing, or a title is in several of them against the terms on which they were joined.
        """
        # From here on it is the same place, wherever the process goes.
        directory = kb_place(path).absolute()

        def make(collection: Collection) -> KnowledgeBase:
            found = collection.holdings.bm25
            if bm25 is not None and bm25 != found:
                raise AdmiralError(
                    f"{directory}: holds a BM25 index of {found!r}, not of {bm25!r}. Build it "
                    f"again with `admiral index --bm25 {bm25}`, or leave --bm25 out."
                )
            return cls(
                collection, title_weight=title_weight, text_weight=text_weight, threads=threads
            )

        return opened(directory, make)

    def __len__(self) -> int:
        return self._counts["documents"]

    @property
    def digest(self) -> str:
        """Identifies what it shows: the version, or those of all members."""
        return self._collection.holdings.digest

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``documents``, ``sentences`` and ``links``."""
        return dict(self._counts)

    @property
    def settings(self) -> dict[str, Any]:
        """How it was built: ``bm25``, ``on_duplicate``, ``sources``."""
        return self._collection.holdings.settings

    @property
    def current(self) -> bool:
        """Whether this is still the newest version, of all members.

        Raises
        ------
        AdmiralError
            If the knowledge base, or a member of it, is gone or cannot be read.
        """
        return read_holdings(self.path).digest == self.digest

    def rows(self) -> np.ndarray:
        """Return the rows that there are: int64, ascending, with gaps where some were removed."""
        return self._contents.live()

    def titles(self) -> Iterator[str]:
        """Yield all titles in the order of rows."""
        return self._contents.titles()

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of rows."""
        return self._contents.documents()

    def row(self, title: str) -> int | None:
        """Return the row of a title, or None if there is no such document."""
        return self._contents.row(clean_title(title))

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        return self._contents.title(row)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield title and row of the titles that begin with `prefix`, in order of code points.

        Upper and lower case differ; the empty prefix yields all titles.
        """
        return self._contents.complete(clean_prefix(prefix))

    def document(self, title: str) -> Document:
        """Return the document with a title; UnknownTitleError if there is none."""
        row = self.row(title)
        if row is None:
            raise UnknownTitleError(
                f"{self.path}: no document has the title {title!r}. Titles are matched exactly, "
                "with upper and lower case."
            )
        return self.document_at(row)

    def document_at(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
        return self._contents.document(row)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return at most `k` titles for each query by BM25, best first, ties by row.

        Raises
        ------
        AdmiralError
            If the index turns out to be damaged.
        """
        ranked = self._row_index().search_rows(queries, k)
        try:
            return [[ScoredTitle(self.title(row), score) for row, score in rows] for rows in ranked]
        except IndexError as error:
            raise AdmiralError(
                f"{self.path}: its BM25 index is damaged (it finds {error}). Run `admiral verify`, "
                "then build the knowledge base again with `admiral index`."
            ) from error

    def title_trie(self, tokens: Tokens) -> Trie:
        """Return the trie of all titles for a tokenizer; it is built and kept at the first use."""
        with self._lock:
            trie = self._tries.get(tokens.fingerprint)
            if trie is None:
                with self._collection.unchanged():
                    trie = title_trie(self._collection, self._contents, tokens)
                self._tries[tokens.fingerprint] = trie
            return trie

    def close(self) -> None:
        """Release the BM25 index and the memory maps; lookups are errors from then on."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None
            self._tries.clear()
            if self._held is not None:
                self._held.close()
                self._held = None
            self._collection.close()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _contents(self) -> Contents:
        if self._held is None:
            raise AdmiralError(f"{self.path}: the knowledge base was closed. Open it again.")
        return self._held

    def _row_index(self) -> RowIndex:
        with self._lock:
            contents = self._contents
            if self._index is None:
                backend = self._collection.holdings.bm25
                if backend == NO_BM25:
                    raise AdmiralError(
                        f"{self.path}: was built without a BM25 index. Build it again with "
                        "`admiral index --bm25 lucene` or `--bm25 bm25s`."
                    )
                from admiral.kb.bm25 import open_bm25

                title_weight, text_weight = self._weights
                with self._collection.unchanged():
                    index = open_bm25(
                        backend,
                        *(part.folder / BM25 for part in contents.parts),
                        removed=contents.removed,
                        title_weight=title_weight,
                        text_weight=text_weight,
                        threads=self._threads,
                    )
                self._index = index
            return self._index
