"""Write the documents of corpora, resolving duplicate titles by one of four policies."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.streams import LONGEST_RECORD
from admiral.kb.corpus.corpora import Corpora, RecordPositions
from admiral.kb.corpus.readers import Record
from admiral.kb.corpus.title_set import TitleSet
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.document_writer import DocumentWriter, document_size
from admiral.records import Document

POLICIES = ("error", "merge", "skip", "rename")


class UniqueTitleWriter:
    """Write corpora into ``documents/`` of a directory, so that every title occurs once.

    Parameters
    ----------
    directory
        Directory of the new knowledge base.
    on_duplicate
        One of `POLICIES`.

    Attributes
    ----------
    duplicates
        Number of records whose title had occurred before.
    """

    def __init__(self, directory: Path, on_duplicate: str) -> None:
        self.duplicates = 0
        self._directory, self._policy = directory, on_duplicate
        self._seen = TitleSet()
        self._last_numbers: dict[str, int] = {}
        self._positions = RecordPositions()

    def write(self, corpora: Corpora, progress: bool) -> DocumentWriter:
        """Write all documents and return the finished writer, which has the counts.

        Raises
        ------
        AdmiralError
            If the corpora hold no document, or a title is duplicate and the policy is ``error``.
        """
        documents = self._directory / "documents"
        with _DeferredMerges(self._directory / "extras.jsonl") as merges:
            with DocumentWriter(documents) as writer:
                for record in corpora.records(progress):
                    self._add(record, writer, merges)
            if not writer.documents:
                raise AdmiralError(f"{corpora}: no documents in it. Check the corpus and --format.")
            if len(merges):
                writer = _rewrite_merged(merges, documents)
        return writer

    def _add(self, record: Record, writer: DocumentWriter, merges: _DeferredMerges) -> None:
        document, row = record.document, writer.documents
        first = self._seen.find_or_add(document.title, row)
        if first is not None:
            if self._policy == "error":
                remedy = "choose --on-duplicate merge, skip or rename"
                raise self._positions.duplicate_error(record, first, remedy)
            self.duplicates += 1
            if self._policy == "merge":
                merges.add(first, document)
            if self._policy != "rename":
                return
            document = replace(document, title=self._unused_title(document.title, row))
        self._positions.append(record)
        writer.append(document)

    def _unused_title(self, title: str, row: int) -> str:
        """Return the first unused of ``title (2)``, ``title (3)``..., and reserve it for `row`."""
        # Start after the last number given to this title; else many duplicates take quadratic time.
        number = self._last_numbers.get(title, 1)
        while True:
            number += 1
            candidate = f"{title} ({number})"
            if self._seen.find_or_add(candidate, row) is None:
                self._last_numbers[title] = number
                return candidate


class _DeferredMerges:
    """Documents to merge into earlier ones, kept in a file until all corpora have been read.

    It is a context manager that deletes the file at the end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("w+b")
        self._rows, self._offsets = array("I"), array("Q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, document: Document) -> None:
        """Add a document to merge into the one in `row`."""
        self._rows.append(row)
        self._offsets.append(self._file.tell())
        self._file.write(json.dumps([document.sentences, document.links]).encode() + b"\n")

    def merged(self, documents: DocumentStore) -> Iterator[Document]:
        """Yield all documents in order, with the sentences of their duplicates appended."""
        # A stable sort keeps the duplicates of one document in corpus order.
        order = np.argsort(np.frombuffer(self._rows, np.uint32), kind="stable").tolist()
        position = 0
        for row, document in enumerate(documents):
            same_title = [document]
            size = document_size(document)
            while position < len(order) and self._rows[order[position]] == row:
                same_title.append(self._read(order[position], document.title))
                size += document_size(same_title[-1])
                position += 1
                if size > LONGEST_RECORD:
                    raise AdmiralError(
                        f"the documents with the title {document.title!r} are longer than "
                        f"{LONGEST_RECORD >> 20} MiB together. Give them distinct titles, or use "
                        "--on-duplicate rename."
                    )
            yield document if len(same_title) == 1 else _merge_documents(same_title)

    def _read(self, number: int, title: str) -> Document:
        self._file.seek(self._offsets[number])
        sentences, links = json.loads(self._file.readline())
        return Document(title, tuple(sentences), tuple(map(tuple, links)))

    def __enter__(self) -> _DeferredMerges:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._path.unlink()


def _rewrite_merged(merges: _DeferredMerges, documents: Path) -> DocumentWriter:
    """Replace the documents of a directory by the merged ones."""
    old = documents.rename(documents.with_name("unmerged"))
    store = DocumentStore(old)
    try:
        with DocumentWriter(documents) as writer:
            for document in merges.merged(store):
                writer.append(document)
    finally:
        store.close()
    for file in old.iterdir():
        file.unlink()
    old.rmdir()
    return writer


def _merge_documents(documents: list[Document]) -> Document:
    """Return one document with the sentences and links of all, under the first title."""
    sentences = tuple(chain.from_iterable(document.sentences for document in documents))
    if not any(document.links for document in documents):
        return Document(documents[0].title, sentences)
    links = (document.links or ((),) * len(document.sentences) for document in documents)
    return Document(documents[0].title, sentences, tuple(chain.from_iterable(links)))
