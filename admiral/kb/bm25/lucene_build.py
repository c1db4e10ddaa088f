"""Building the Lucene backend's index; `lucene` says what lies where, and searches it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from admiral.kb.bm25 import jvm
from admiral.kb.bm25.lucene import FOLDER, analyzer, open_folder, similarity
from admiral.kb.bm25.settings import FIELDS, clean

_BUFFER_MB = 128.0
# pyjnius does not find this constructor among its overloads by itself.
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"


def build(documents: Iterable[tuple[str, str]], directory: Path) -> int:
    """Index (title, text) pairs into the new folder `directory`; return how many there were.

    Raises
    ------
    AdmiralError
        With Java's message, if Lucene cannot write.
    """
    jvm.start()
    with jvm.java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / FOLDER)
        try:
            count = _add(writer, documents)
            writer.forceMerge(1)
            writer.commit()
        except BaseException:
            writer.rollback()
            raise
        writer.close()
    return count


def merge(parts: Sequence[Path], directory: Path) -> int:
    """Write the index of all documents of several, in order; return how many there are."""
    jvm.start()
    with jvm.java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / FOLDER)
        folders = [open_folder(part / FOLDER) for part in parts]
        try:
            # Segments are taken over in order, and only neighbours are merged.
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
