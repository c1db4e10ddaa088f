"""Write and search the default backend: a Lucene index in this process.

    bm25.json    settings, written last
    lucene/      one segment with the fields ``title`` and ``text``: terms, frequencies and lengths

Only what BM25 needs is stored. One thread adds the documents in order and only adjacent segments
are merged, so Lucene's document number is that of the passage, and Lucene breaks ties by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25 import jvm
from admiral.kb.bm25.parameters import (
    DEFAULT,
    FIELDS,
    MAX_QUERY_CHARACTERS,
    IndexSettings,
    Saturation,
    check_depth,
    clean_index_text,
    clean_query,
    common_saturation,
    common_text_form,
    damaged_index_error,
    positive_weights,
)
from admiral.kb.bm25.passages import Entry, Passages

BACKEND = "lucene"
FOLDER = "lucene"
# Signatures of overloaded constructors, which pyjnius cannot choose by itself.
_READERS = "([Lorg/apache/lucene/index/IndexReader;Z)V"
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"


def analyzer() -> Any:
    """Return Lucene's English analyser with Porter's stemmer, the default of Anserini."""
    return jvm.load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def similarity(saturation: Saturation = DEFAULT) -> Any:
    """Return Lucene's BM25 similarity; its parameters do not matter to a writer."""
    return jvm.load("org.apache.lucene.search.similarities.BM25Similarity")(*saturation)


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
        self.passages = Passages.open(*directories)
        self._removed_passages = len(self.passages.of_rows(removed))
        saturation = common_saturation(directories)
        self.text_form = common_text_form(directories)
        jvm.start(threads)
        try:
            for directory in directories:
                self._open(directory)
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
            self._combined = combined
            # A query has at most one clause per character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            self._searcher.setSimilarity(similarity(saturation))
            self._parser = jvm.load("org.apache.lucene.util.QueryBuilder")(analyzer())
            self._builder = jvm.load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = jvm.load("org.apache.lucene.search.BoostQuery")
            self._should = jvm.load("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def _open(self, directory: Path) -> None:
        expected = IndexSettings.load(directory).entries
        if not (directory / FOLDER).is_dir():
            raise damaged_index_error(directory, f"the folder {FOLDER} is missing")
        with jvm.java(f"{directory}: the BM25 index cannot be opened"):
            reader = jvm.load("org.apache.lucene.index.DirectoryReader")
            self._readers.append(reader.open(open_folder(directory / FOLDER)))
            count = int(self._readers[-1].numDocs())
        if count != expected:
            problem = f"it holds {count} documents instead of {expected}"
            raise damaged_index_error(directory, problem)

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query."""
        check_depth(k)
        with self._searching():
            return [self._search(query, k) for query in queries]

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the numbers and scores of the top `k` passages for each query."""
        check_depth(k)
        with self._searching():
            return [self._search(query, k, by_passage=True) for query in queries]

    @contextmanager
    def _searching(self) -> Iterator[None]:
        if not self._readers:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        with jvm.java(f"{self._directory}: the BM25 index cannot be searched"):
            yield

    def _search(self, text: str, k: int, *, by_passage: bool = False) -> list[tuple[int, float]]:
        query = self._query(clean_query(text, self.text_form))
        if query is None or not len(self.passages):
            return []
        # Removed documents and several passages of one document are among the hits: search deeper
        # until k documents are found. In the worst case, all others rank first.
        others = self._removed_passages + len(self.passages) - self.passages.documents
        deepest = min(k + others, len(self.passages))
        depth = min(k, deepest)
        while True:
            hits = self._searcher.search(query, depth).scoreDocs
            results: dict[int, float] = {}
            rows = self.passages.rows(np.array([hit.doc for hit in hits], dtype=np.int64))
            for row, hit in zip(rows.tolist(), hits, strict=True):
                if row not in self._removed:
                    results.setdefault(hit.doc if by_passage else row, hit.score)
            if len(results) >= k or len(hits) < depth or depth == deepest:
                return list(results.items())[:k]
            depth = min(2 * depth, deepest)

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return the scores of the passages of each row."""
        spans = [self.passages.of_row(row) for row in rows]
        scores = [np.zeros(len(span), dtype=np.float32) for span in spans]
        with self._searching():
            java_query = self._query(clean_query(query, self.text_form))
            if java_query is not None:
                pairs = zip(spans, scores, strict=True)
                self._fill_scores(java_query, sorted(pairs, key=lambda pair: pair[0].start))
        return scores

    def _fill_scores(
        self, query: Any, wanted: Sequence[tuple[range, npt.NDArray[np.float32]]]
    ) -> None:
        mode = jvm.load("org.apache.lucene.search.ScoreMode").COMPLETE
        weight = self._searcher.createWeight(self._searcher.rewrite(query), mode, 1.0)
        for leaf in self._combined.leaves():
            scorer = weight.scorer(leaf)
            if scorer is None:  # no passage has a term
                continue
            base, end = leaf.docBase, leaf.docBase + leaf.reader().maxDoc()
            iterator = scorer.iterator()
            passage = -1
            for span, scores in wanted:
                if span.stop <= base or span.start >= end:
                    continue
                if passage < span.start:
                    passage = iterator.advance(span.start - base) + base
                while passage < span.stop:
                    scores[passage - span.start] = scorer.score()
                    passage = iterator.nextDoc() + base

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each index term."""
        with self._searching():
            new_term = jvm.load("org.apache.lucene.index.Term")
            return [int(self._combined.docFreq(new_term("text", term))) for term in terms]

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

    def __exit__(self, *_: object) -> None:
        self.close()


_BUFFER_MB = 128.0
# Signature of an overloaded constructor, which pyjnius cannot choose by itself.
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"


def build(entries: Iterable[Entry], directory: Path, text_form: int) -> int:
    """Index passages into the new folder `directory`.

    Raises AdmiralError (With Java's message, if Lucene cannot write the index).
    """
    jvm.start()
    with jvm.java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / FOLDER)
        try:
            count = _add(writer, entries, text_form)
            writer.forceMerge(1)
            writer.commit()
        except BaseException:
            writer.rollback()
            raise
        writer.close()
    return count


def merge(directories: Sequence[Path], directory: Path) -> int:
    """Write one index of the documents of several, in order.

    Raises AdmiralError (With Java's message, if Lucene cannot write the index).
    """
    jvm.start()
    with jvm.java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / FOLDER)
        folders = [open_folder(part / FOLDER) for part in directories]
        try:
            # Segments are added in order, and only adjacent ones are merged.
            writer.addIndexes(*folders)
            writer.forceMerge(1)
            writer.commit()
            count = int(writer.getDocStats().numDocs)
        except BaseException:
            writer.rollback()
            raise
        finally:
            for folder in folders:
                folder.close()
        writer.close()
    return count


def _writer(folder: Path) -> Any:
    config = jvm.load("org.apache.lucene.index.IndexWriterConfig")(analyzer())
    config.setRAMBufferSizeMB(_BUFFER_MB)
    config.setMergePolicy(jvm.load("org.apache.lucene.index.LogDocMergePolicy")())
    config.setUseCompoundFile(False)
    config.setSimilarity(similarity())
    return jvm.load("org.apache.lucene.index.IndexWriter")(open_folder(folder), config)


def _add(writer: Any, entries: Iterable[Entry], text_form: int) -> int:
    """Add passages, reusing one Lucene document and its fields, and return their number."""
    field_type = jvm.load("org.apache.lucene.document.FieldType")()
    field_type.setTokenized(True)
    field_type.setIndexOptions(jvm.load("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    field_type.freeze()
    document = jvm.load("org.apache.lucene.document.Document")()
    new_field, string = jvm.load("org.apache.lucene.document.Field"), jvm.load("java.lang.String")
    fields = [new_field(name, string(""), field_type, signature=_FIELD) for name in FIELDS]
    for field in fields:
        document.add(field)
    count = 0
    for entry in entries:
        for field, text in zip(fields, entry, strict=True):
            field.setStringValue(clean_index_text(text, text_form))
        writer.addDocument(document)
        count += 1
    return count
