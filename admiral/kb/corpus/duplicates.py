"""What happens to a second document with a title that is taken."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.streams import LONGEST_RECORD
from admiral.kb.corpus.title_set import TitleSet
from admiral.kb.store.arrow_documents import DocumentWriter, document_size
from admiral.kb.store.document_store import DocumentStore
from admiral.records import Document

POLICIES = ("error", "merge", "skip", "rename")


def free_title(title: str, row: int, seen: TitleSet, numbers: dict[str, int]) -> str:
    """Return ``title (2)``, ``title (3)``... the first that is free, and take it for `row`.

    `numbers` remembers the last number given to each title, so that many documents of one title
    do not search from the beginning every time.
    """
    number = numbers.get(title, 1)
    while True:
        number += 1
        candidate = f"{title} ({number})"
        if seen.find_or_add(candidate, row) is None:
            numbers[title] = number
            return candidate


class Extras:
    """Documents to be merged into earlier ones, kept in a file until the corpus has been read.

    A context manager, which deletes the file at its end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("w+b")
        self._rows, self._offsets = array("I"), array("Q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, document: Document) -> None:
        """Note that `document` belongs to the one in `row`."""
        self._rows.append(row)
        self._offsets.append(self._file.tell())
        self._file.write(json.dumps([document.sentences, document.links]).encode() + b"\n")

    def merged(self, documents: DocumentStore) -> Iterator[Document]:
        """Yield all documents in order, with the sentences of their extras at the end."""
        # Stable, so that the extras of one document keep the order of the corpus.
        order = np.argsort(np.frombuffer(self._rows, np.uint32), kind="stable").tolist()
        position = 0
        for row, document in enumerate(documents):
            parts = [document]
            size = document_size(document)
            while position < len(order) and self._rows[order[position]] == row:
                parts.append(self._read(order[position], document.title))
                size += document_size(parts[-1])
                position += 1
                if size > LONGEST_RECORD:
                    raise AdmiralError(
                        f"the documents with the title {document.title!r} are longer than "
                        f"{LONGEST_RECORD >> 20} MiB together. Give them distinct titles, or use "
                        "--on-duplicate rename."
                    )
            yield document if len(parts) == 1 else _joined(parts)

    def _read(self, number: int, title: str) -> Document:
        self._file.seek(self._offsets[number])
        sentences, links = json.loads(self._file.readline())
        return Document(title, tuple(sentences), tuple(map(tuple, links)))

    def __enter__(self) -> Extras:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._path.unlink()


def merge(extras: Extras, documents: Path) -> DocumentWriter:
    """Write the documents of a directory again, merged with `extras`, in the same place."""
    old = documents.rename(documents.with_name("unmerged"))
    store = DocumentStore(old)
    try:
        with DocumentWriter(documents) as writer:
            for document in extras.merged(store):
                writer.append(document)
    finally:
        store.close()
    for file in old.iterdir():
        file.unlink()
    old.rmdir()
    return writer


def _joined(parts: list[Document]) -> Document:
    sentences = tuple(chain.from_iterable(part.sentences for part in parts))
    if not any(part.links for part in parts):
        return Document(parts[0].title, sentences)
    links = (part.links or ((),) * len(part.sentences) for part in parts)
    return Document(parts[0].title, sentences, tuple(chain.from_iterable(links)))
