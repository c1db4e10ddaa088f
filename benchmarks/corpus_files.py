"""Corpora as streams of documents, read in any format and written as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from admiral.kb.corpus.corpora import Corpora
from admiral.records import Document
from admiral.storage.atomic_files import encode_record, write_atomically


def read_corpus_file(path: Path, format: str = "auto") -> Iterator[Document]:
    """Yield the documents of a corpus, compressed or not, in any format of `admiral index`."""
    for record in Corpora(path, format, skip_bad=False).records(progress=False):
        yield record.document


def write_corpus_file(path: Path, documents: Iterable[Document]) -> None:
    """Write documents as JSON Lines, atomically; the file appears when all are written."""
    write_atomically(path, map(_line, documents))


def _line(document: Document) -> bytes:
    record = {"title": document.title, "sentences": document.sentences}
    return encode_record({**record, "links": document.links} if document.links else record)
