"""The default backend: a Lucene index written and searched in this process.

    bm25.json    settings, written last
    lucene/      one segment with the fields ``title`` and ``text``: terms, frequencies and lengths

Nothing is stored but what BM25 needs. One thread adds the documents in order and only adjacent
segments are merged, so Lucene's document number is the row, and Lucene's order of equal scores
(by document number) is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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
    clean,
    clean_query,
    damaged,
)

BACKEND = "lucene"
_FOLDER = "lucene"
_BUFFER_MB = 128.0
# pyjnius does not find these constructors among their overloads by itself.
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"


def build(documents: Iterable[tuple[str, str]], directory: Path) -> int:
    """Index (title, text) pairs into the new folder `directory`; return how many there were.

    Raises
    ------
    AdmiralError
        With Java's message, if Lucene cannot write.
    """
    jvm.start()
    with jvm.java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / _FOLDER)
        try:
            count = _add(writer, documents)
            writer.forceMerge(1)
            writer.commit()
        except BaseException:
            writer.rollback()
            raise
        writer.close()
    return count


def _writer(folder: Path) -> Any:
    config = jvm.load("org.apache.lucene.index.IndexWriterConfig")(_analyzer())
    config.setRAMBufferSizeMB(_BUFFER_MB)
    config.setMergePolicy(jvm.load("org.apache.lucene.index.LogDocMergePolicy")())
    config.setUseCompoundFile(False)
    config.setSimilarity(_similarity())
    return jvm.load("org.apache.lucene.index.IndexWriter")(_open_folder(folder), config)


def _add(writer: Any, documents: Iterable[tuple[str, str]]) -> int:
    """Add the documents through one Lucene document whose fields are filled anew each time."""
    kind = jvm.load("org.apache.lucene.document.FieldType")()
    kind.setTokenized(True)
    kind.setIndexOptions(jvm.load("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    kind.freeze()
    document = jvm.load("org.apache.lucene.document.Document")()
    make, string = jvm.load("org.apache.lucene.document.Field"), jvm.load("java.lang.String")
    fields = [make(name, string(""), kind, signature=_FIELD) for name in FIELDS]
    for field in fields:
        document.add(field)
    count = 0
    for pair in documents:
        for field, text in zip(fields, pair, strict=True):
            field.setStringValue(clean(text))
        writer.addDocument(document)
        count += 1
    return count


def _analyzer() -> Any:
    """Return Lucene's English analysis with Porter's stemmer, the default of Anserini."""
    return jvm.load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def _similarity() -> Any:
    return jvm.load("org.apache.lucene.search.similarities.BM25Similarity")(K1, B)


def _open_folder(folder: Path) -> Any:
    path = jvm.load("java.nio.file.Paths").get(str(folder.parent), folder.name)
    # Without lock files: a knowledge base is written once, in a folder of its own.
    locks = jvm.load("org.apache.lucene.store.NoLockFactory").INSTANCE
    return jvm.load("org.apache.lucene.store.MMapDirectory")(path, locks)


class LuceneIndex:
    """A Lucene index on disk, memory mapped; see `RowIndex` for what its methods promise.

    Lucene keeps the length of a field in one byte: exact below 40 terms, rounded down to four
    significant bits above.
    """

    def __init__(
        self, directory: Path, *, title_weight: float, text_weight: float, threads: int = 0
    ) -> None:
        self._weights = check_weights(title_weight, text_weight)
        settings = Settings.load(directory)
        self._size = settings.documents
        self._directory = directory
        self._reader: Any = None
        jvm.start(threads)
        if not (directory / _FOLDER).is_dir():
            raise damaged(directory, f"the folder {_FOLDER} is missing")
        with jvm.java(f"{directory}: the BM25 index cannot be opened"):
            reader = jvm.load("org.apache.lucene.index.DirectoryReader")
            self._reader = reader.open(_open_folder(directory / _FOLDER))
            found = int(self._reader.numDocs())
            self._searcher = jvm.load("org.apache.lucene.search.IndexSearcher")(
                self._reader, signature=_SEARCHER
            )
            # A query has at most one clause for each character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            self._searcher.setSimilarity(_similarity())
            self._parser = jvm.load("org.apache.lucene.util.QueryBuilder")(_analyzer())
            self._builder = jvm.load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = jvm.load("org.apache.lucene.search.BoostQuery")
            self._should = jvm.load("org.apache.lucene.search.BooleanClause$Occur").SHOULD
        if found != self._size:
            self.close()
            raise damaged(directory, f"it holds {found} documents instead of {self._size}")

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return rows and scores, best first."""
        check_depth(k)
        if self._reader is None:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        with jvm.java(f"{self._directory}: the BM25 index cannot be searched"):
            return [self._search(query, k) for query in queries]

    def _search(self, text: str, k: int) -> list[tuple[int, float]]:
        query = self._query(clean_query(text))
        if query is None or not self._size:
            return []
        hits = self._searcher.search(query, min(k, self._size)).scoreDocs
        return [(hit.doc, hit.score) for hit in hits]

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
        if self._reader is not None:
            reader, self._reader = self._reader, None
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
