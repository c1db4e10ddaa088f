"""Search the default backend: a Lucene index in this process.

    bm25.json    settings, written last
    lucene/      one segment with the fields ``title`` and ``text``: terms, frequencies and lengths

Only what BM25 needs is stored. One thread adds the documents in order and only adjacent segments
are merged, so Lucene's document number is the row, and Lucene breaks ties by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25 import jvm
from admiral.kb.bm25.parameters import (
    FIELDS,
    K1,
    MAX_QUERY_CHARACTERS,
    B,
    IndexSettings,
    check_depth,
    clean_query,
    damaged_index_error,
    positive_weights,
)

BACKEND = "lucene"
FOLDER = "lucene"
# Signatures of overloaded constructors, which pyjnius cannot choose by itself.
_READERS = "([Lorg/apache/lucene/index/IndexReader;Z)V"
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"


def analyzer() -> Any:
    """Return Lucene's English analyser with Porter's stemmer, the default of Anserini."""
    return jvm.load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def similarity() -> Any:
    """Return Lucene's BM25 similarity with K1 and B."""
    return jvm.load("org.apache.lucene.search.similarities.BM25Similarity")(K1, B)


def open_folder(folder: Path) -> Any:
    """Open the folder of an index as a memory-mapped Lucene directory."""
    path = jvm.load("java.nio.file.Paths").get(str(folder.parent), folder.name)
    # No lock files: an index is written once, by one process, in a new folder.
    locks = jvm.load("org.apache.lucene.store.NoLockFactory").INSTANCE
    return jvm.load("org.apache.lucene.store.MMapDirectory")(path, locks)


class LuceneIndex:
    """A memory-mapped Lucene index; `RowIndex` documents its methods.

    Lucene stores the length of a field in one byte: exact below 40 tokens, rounded down to four
    significant bits above.

    Several indexes are searched as one: Lucene adds up their statistics and numbers the documents
    of each after those of the previous one. Removed documents are dropped from the results but, as
    is usual in Lucene, count in the statistics until the knowledge base is compacted.
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
        self._weights = positive_weights(title_weight, text_weight)
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
            readers = list(self._readers)  # a copy, because pyjnius modifies its argument
            combined = jvm.load("org.apache.lucene.index.MultiReader")(
                readers, False, signature=_READERS
            )
            self._searcher = jvm.load("org.apache.lucene.search.IndexSearcher")(
                combined, signature=_SEARCHER
            )
            # A query has at most one clause per character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            self._searcher.setSimilarity(similarity())
            self._parser = jvm.load("org.apache.lucene.util.QueryBuilder")(analyzer())
            self._builder = jvm.load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = jvm.load("org.apache.lucene.search.BoostQuery")
            self._should = jvm.load("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def _open(self, directory: Path) -> int:
        """Open one index and return its number of documents."""
        expected = IndexSettings.load(directory).documents
        if not (directory / FOLDER).is_dir():
            raise damaged_index_error(directory, f"the folder {FOLDER} is missing")
        with jvm.java(f"{directory}: the BM25 index cannot be opened"):
            reader = jvm.load("org.apache.lucene.index.DirectoryReader")
            self._readers.append(reader.open(open_folder(directory / FOLDER)))
            count = int(self._readers[-1].numDocs())
        if count != expected:
            problem = f"it holds {count} documents instead of {expected}"
            raise damaged_index_error(directory, problem)
        return count

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query."""
        check_depth(k)
        if not self._readers:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        with jvm.java(f"{self._directory}: the BM25 index cannot be searched"):
            return [self._search(query, k) for query in queries]

    def _search(self, text: str, k: int) -> list[tuple[int, float]]:
        query = self._query(clean_query(text))
        if query is None or not self._size:
            return []
        # Removed documents are among the hits: search deeper until k others are found. In the worst
        # case, all removed documents rank first.
        deepest = min(k + len(self._removed), self._size)
        depth = min(k, deepest)
        while True:
            hits = self._searcher.search(query, depth).scoreDocs
            results = [(hit.doc, hit.score) for hit in hits if hit.doc not in self._removed]
            if len(results) >= k or len(hits) < depth or depth == deepest:
                return results[:k]
            depth = min(2 * depth, deepest)

    def _query(self, text: str) -> Any | None:
        """Return a query for the weighted sum over the fields, or None for a text without terms.

        `text` is analysed like a document; it has no query syntax.
        """
        builder, empty = self._builder(), True
        for name, weight in self._weights.items():
            field_query = self._parser.createBooleanQuery(name, text)
            if field_query is not None:
                builder.add(self._boost(field_query, weight), self._should)
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
