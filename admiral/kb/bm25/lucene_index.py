"""Write and search the default backend: a Lucene index in the folder ``lucene``.

It has the fields ``title`` and ``text``: terms, frequencies and lengths. One thread adds the
passages in order, only adjacent segments are merged, and removed passages are merged away at once,
so Lucene's document number is that of the passage, and Lucene breaks ties by it. Lucene stores the
length of a field in one byte: exact below 40 tokens, rounded down to four significant bits above.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from admiral.kb.bm25.analysis import MAX_QUERY_CHARACTERS
from admiral.kb.bm25.jvm import java, load, start
from admiral.kb.bm25.passages import FIELDS, Base, Entry, Saturation, Scores

FOLDER = "lucene"
_BUFFER_MB = 128.0
# Signatures of overloaded constructors, which pyjnius cannot choose by itself.
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"


class LuceneIndex:
    """A memory-mapped Lucene index of passages, whose numbers break ties of scores."""

    def __init__(
        self, folder: Path, passages: int, saturation: Saturation, weights: Mapping[str, float]
    ) -> None:
        self._folder, self._weights = folder, weights
        with java(f"{folder}: the BM25 index cannot be opened"):
            self._reader = load("org.apache.lucene.index.DirectoryReader").open(_opened(folder))
            if (count := int(self._reader.maxDoc())) != passages:
                self._reader.close()
                raise ValueError(f"it holds {count} passages instead of {passages}")
            self._searcher = load("org.apache.lucene.search.IndexSearcher")(
                self._reader, signature=_SEARCHER
            )
            # A query has at most one clause per character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            similarity = load("org.apache.lucene.search.similarities.BM25Similarity")
            self._searcher.setSimilarity(similarity(*saturation))
            self._parser = load("org.apache.lucene.util.QueryBuilder")(_analyzer())
            self._builder = load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = load("org.apache.lucene.search.BoostQuery")
            self._should = load("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the numbers and scores of the best `k` passages."""
        with java(f"{self._folder}: the BM25 index cannot be searched"):
            hits = self._searcher.search(self._query(query), k).scoreDocs
            return [(hit.doc, hit.score) for hit in hits]

    def scores(self, query: str, spans: Sequence[range]) -> list[Scores]:
        """Return the scores of the passages of each span."""
        with java(f"{self._folder}: the BM25 index cannot be searched"):
            explain, java_query = self._searcher.explain, self._query(query)
            return [
                np.array([explain(java_query, n).getValue().floatValue() for n in span], np.float32)
                for span in spans
            ]

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each term."""
        with java(f"{self._folder}: the BM25 index cannot be searched"):
            new_term = load("org.apache.lucene.index.Term")
            return [int(self._reader.docFreq(new_term("text", term))) for term in terms]

    def _query(self, text: str) -> Any:
        """Return the weighted sum over the fields; `text` has no query syntax."""
        builder = self._builder()
        for name, weight in self._weights.items():
            field_query = self._parser.createBooleanQuery(name, text)
            if field_query is not None:  # it has a term
                builder.add(self._boost(field_query, weight), self._should)
        return builder.build()

    def close(self) -> None:
        """Release the files."""
        with java(f"{self._folder}: the BM25 index cannot be closed"):
            folder = self._reader.directory()
            self._reader.close()
            folder.close()


def write(folder: Path, entries: Iterable[Entry], _: Saturation, base: Base | None) -> None:
    """Index the passages of `base` that are kept, and then others.

    Parameters of BM25 are applied by a search.
    """
    start()
    with java(f"{folder}: the BM25 index cannot be written"):
        if base is not None:
            _link(base.folder / FOLDER, folder / FOLDER)
        config = load("org.apache.lucene.index.IndexWriterConfig")(_analyzer())
        config.setRAMBufferSizeMB(_BUFFER_MB)
        config.setMergePolicy(load("org.apache.lucene.index.LogDocMergePolicy")())
        config.setUseCompoundFile(False)
        writer = load("org.apache.lucene.index.IndexWriter")(_opened(folder), config)
        try:
            if base is not None:
                _remove(writer, np.flatnonzero(~base.kept).tolist())
            _add(writer, entries)
            if base is None:
                writer.forceMerge(1)
            writer.forceMergeDeletes()
            writer.commit()
        except BaseException:
            writer.rollback()
            raise
        writer.close()


def _analyzer() -> Any:
    """Return Lucene's English analyser with Porter's stemmer, the default of Anserini."""
    return load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def _opened(folder: Path) -> Any:
    path = load("java.nio.file.Paths").get(str(folder), FOLDER)
    # No lock files: an index is written once, by one process, in a new folder.
    locks = load("org.apache.lucene.store.NoLockFactory").INSTANCE
    return load("org.apache.lucene.store.MMapDirectory")(path, locks)


def _link(old: Path, new: Path) -> None:
    """Link the files of an index, which Lucene never changes, into a new folder, or copy them."""
    new.mkdir()
    for file in old.iterdir():
        try:
            os.link(file, new / file.name)
        except OSError:
            shutil.copyfile(file, new / file.name)


def _remove(writer: Any, passages: Sequence[int]) -> None:
    reader = load("org.apache.lucene.index.DirectoryReader").open(writer)
    for passage in passages:
        writer.tryDeleteDocument(reader, passage)
    reader.close()


def _add(writer: Any, entries: Iterable[Entry]) -> None:
    """Add passages, reusing one Lucene document and its fields."""
    field_type = load("org.apache.lucene.document.FieldType")()
    field_type.setTokenized(True)
    field_type.setIndexOptions(load("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    field_type.freeze()
    document = load("org.apache.lucene.document.Document")()
    new_field, string = load("org.apache.lucene.document.Field"), load("java.lang.String")
    fields = [new_field(name, string(""), field_type, signature=_FIELD) for name in FIELDS]
    for field in fields:
        document.add(field)
    for entry in entries:
        for field, text in zip(fields, entry, strict=True):
            field.setStringValue(text)
        writer.addDocument(document)
