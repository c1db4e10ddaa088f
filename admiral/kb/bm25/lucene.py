"""The default backend: a Lucene index written and searched in this process.

    bm25.json    settings, written last
    lucene/      one segment with the fields ``title`` and ``text``: terms, frequencies and lengths

Nothing is stored but what BM25 needs. One thread adds the documents in order and only adjacent
segments are merged, so Lucene's document number is the row, and Lucene's order of equal scores
(by document number) is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25 import jvm
from admiral.kb.bm25.settings import (
    FIELDS,
    K1,
    MAX_QUERY_CHARACTERS,
    B,
    Settings,
    check_depth,
    check_weights,
    clean_query,
    damaged,
)

BACKEND = "lucene"
FOLDER = "lucene"
# pyjnius does not find these constructors among their overloads by itself.
_READERS = "([Lorg/apache/lucene/index/IndexReader;Z)V"
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"


def analyzer() -> Any:
    """Return Lucene's English analysis with Porter's stemmer, the default of Anserini."""
    return jvm.load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def similarity() -> Any:
    """Return BM25 with our parameters."""
    return jvm.load("org.apache.lucene.search.similarities.BM25Similarity")(K1, B)


def open_folder(folder: Path) -> Any:
    """Return the folder of an index as Lucene's memory-mapped directory."""
    path = jvm.load("java.nio.file.Paths").get(str(folder.parent), folder.name)
    # Without lock files: a knowledge base is written once, in a folder of its own.
    locks = jvm.load("org.apache.lucene.store.NoLockFactory").INSTANCE
    return jvm.load("org.apache.lucene.store.MMapDirectory")(path, locks)


class LuceneIndex:
    """A Lucene index on disk, memory mapped; see `RowIndex` for what its methods promise.

    Lucene keeps the length of a field in one byte: exact below 40 terms, rounded down to four
    significant bits above.

    Several indexes are searched as one: Lucene adds up their statistics, and numbers the documents
    of each behind those of the one before. Removed documents are passed over; as always in Lucene,
    they count in the statistics until a compaction.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        removed: np.ndarray,
        title_weight: float,
        text_weight: float,
        threads: int = 0,
    ) -> None:
        self._weights = check_weights(title_weight, text_weight)
        self._directory = directories[0]
        self._removed = frozenset(removed.tolist())
        self._readers: list[Any] = []
        self._size = 0
        jvm.start(threads)
        try:
            for directory in directories:
                self._size += self._open(directory)
        except BaseException:
            self.close()
            raise
        with jvm.java(f"{self._directory}: the BM25 index cannot be opened"):
            readers = list(self._readers)  # pyjnius writes into the list that it is given
            every = jvm.load("org.apache.lucene.index.MultiReader")(
                readers, False, signature=_READERS
            )
            self._searcher = jvm.load("org.apache.lucene.search.IndexSearcher")(
                every, signature=_SEARCHER
            )
            # A query has at most one clause for each character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            self._searcher.setSimilarity(similarity())
            self._parser = jvm.load("org.apache.lucene.util.QueryBuilder")(analyzer())
            self._builder = jvm.load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = jvm.load("org.apache.lucene.search.BoostQuery")
            self._should = jvm.load("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def _open(self, directory: Path) -> int:
        """Open the index of one part; return how many documents it has."""
        expected = Settings.load(directory).documents
        if not (directory / FOLDER).is_dir():
            raise damaged(directory, f"the folder {FOLDER} is missing")
        with jvm.java(f"{directory}: the BM25 index cannot be opened"):
            reader = jvm.load("org.apache.lucene.index.DirectoryReader")
            self._readers.append(reader.open(open_folder(directory / FOLDER)))
            found = int(self._readers[-1].numDocs())
        if found != expected:
            raise damaged(directory, f"it holds {found} documents instead of {expected}")
        return found

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return rows and scores, best first."""
        check_depth(k)
        if not self._readers:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        with jvm.java(f"{self._directory}: the BM25 index cannot be searched"):
            return [self._search(query, k) for query in queries]

    def _search(self, text: str, k: int) -> list[tuple[int, float]]:
        query = self._query(clean_query(text))
        if query is None or not self._size:
            return []
        # Among so many hits as there are removed documents more, k are there; mostly fewer do.
        most = min(k + len(self._removed), self._size)
        depth = min(k, most)
        while True:
            hits = self._searcher.search(query, depth).scoreDocs
            found = [(hit.doc, hit.score) for hit in hits]
            found = [(row, score) for row, score in found if row not in self._removed]
            if len(found) >= k or len(hits) < depth or depth == most:
                return found[:k]
            depth = min(2 * depth, most)

    def _query(self, text: str) -> Any | None:
        """Return the weighted sum over the fields, or None for a text without terms.

        Nothing in `text` is query syntax: it goes through the analysis of the documents only.
        """
        builder, empty = self._builder(), True
        for name, weight in self._weights.items():
            part = self._parser.createBooleanQuery(name, text)
            if part is not None:
                builder.add(self._boost(part, weight), self._should)
                empty = False
        return None if empty else builder.build()

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        while self._readers:
            reader = self._readers.pop()
            with jvm.java(f"{self._directory}: the BM25 index cannot be closed"):
                folder = reader.directory()
                reader.close()
                folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
