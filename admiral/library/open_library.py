"""Open a library and search it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from admiral.errors import AdmiralError
from admiral.kb.bm25 import open_bm25
from admiral.kb.embeddings.sentence_encoder import SentenceEncoder
from admiral.kb.store.collection import Collection, open_with
from admiral.kb.store.contents import BM25
from admiral.kb.store.manifest import read_manifest
from admiral.library.canonical_urls import canonical
from admiral.library.library_contents import LibraryContents
from admiral.library.library_kind import LIBRARY, checked_library_path
from admiral.library.passage_search import DenseIndex
from admiral.library.source_records import Passage, ScoredPassage, Source


class Library:
    """A memory-mapped library; safe to share between threads, and a context manager.

    An open library is one version, whatever other processes add, remove or build.
    """

    def __init__(self, collection: Collection, threads: int) -> None:
        self._collection = collection
        (snapshot,) = collection.snapshots
        self._manifest = snapshot.manifest
        self._open_contents: LibraryContents | None = LibraryContents(snapshot)
        try:
            # Now, not when it is first needed: another build may replace the files until then.
            self._bm25 = open_bm25(
                self._manifest.bm25,
                *(segment.folder / BM25 for segment in self._contents.contents.segments),
                removed=self._contents.removed_passages(),
                title_weight=0.0,
                threads=threads,
            )
        except BaseException:
            self._open_contents.close()
            raise
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, threads: int = 0) -> Library:
        """Open a library.

        Parameters
        ----------
        path
            Directory of the library.
        threads
            Number of processors that Java assumes, 0 for at most four; only for Lucene.

        Raises
        ------
        AdmiralError
            If there is no library, it cannot be read, or files are missing or truncated.
        """
        return open_with(
            checked_library_path(path), lambda collection: cls(collection, threads), LIBRARY
        )

    @property
    def path(self) -> Path:
        """Directory of the library."""
        return self._collection.path

    @property
    def digest(self) -> str:
        """Digest that identifies the version."""
        return self._manifest.digest

    @property
    def current(self) -> bool:
        """Whether this is still the newest version."""
        return read_manifest(self.path, LIBRARY).digest == self.digest

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the build: ``words``, ``stride``, ``bm25``, ``k1``, ``b``."""
        return dict(self._manifest.settings)

    @property
    def passage_count(self) -> int:
        """Number of passages."""
        return self._manifest.counts["passages"]

    def __len__(self) -> int:
        return self._manifest.documents

    def __contains__(self, url: str) -> bool:
        return self._contents.row(canonical(url)) is not None

    def source(self, url: str) -> Source | None:
        """Return the source with the same canonical URL, or None."""
        row = self._contents.row(canonical(url))
        return None if row is None else self._contents.source(row)

    def sources(self) -> Iterator[Source]:
        """Yield all sources."""
        return self._contents.sources()

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in order; none if it is unknown or has no text."""
        row = self._contents.row(canonical(url))
        return () if row is None else self._contents.passages(row)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query by BM25 over titles and texts.

        Only passages that share a term with the query are returned, equal scores in the order of
        the library.

        Raises
        ------
        AdmiralError
            If `k` is less than one, or files turn out to be damaged.
        """
        contents = self._contents
        return [
            [ScoredPassage(contents.passage(number), score) for number, score in found]
            for found in self._bm25.search_rows(queries, k)
        ]

    def dense(self, encoder: SentenceEncoder) -> DenseIndex:
        """Return an index of the vectors of an encoder.

        Raises
        ------
        AdmiralError
            If the library does not have the vectors of all passages from this encoder.
        """
        return DenseIndex(self._contents, encoder, self.path)

    def close(self) -> None:
        """Release all files; a second call does nothing."""
        with self._lock:
            if self._open_contents is not None:
                self._bm25.close()
                self._open_contents.close()
                self._open_contents = None
                self._collection.close()

    @property
    def _contents(self) -> LibraryContents:
        if self._open_contents is None:
            raise AdmiralError(f"{self.path}: the library was closed. Open it again")
        return self._open_contents

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
