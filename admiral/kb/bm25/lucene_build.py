"""Build and merge indexes of the Lucene backend; `lucene_index` describes the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from admiral.kb.bm25 import jvm
from admiral.kb.bm25.lucene_index import FOLDER, analyzer, open_folder, similarity
from admiral.kb.bm25.parameters import FIELDS, clean_index_text
from admiral.kb.bm25.passages import Entry

_BUFFER_MB = 128.0
# Signature of an overloaded constructor, which pyjnius cannot choose by itself.
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"


def build(entries: Iterable[Entry], directory: Path, text_form: int) -> int:
    """Index passages into the new folder `directory`.

    Returns
    -------
    int
        Number of passages.

    Raises
    ------
    AdmiralError
        With Java's message, if Lucene cannot write the index.
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

    Returns
    -------
    int
        Number of passages.

    Raises
    ------
    AdmiralError
        With Java's message, if Lucene cannot write the index.
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
