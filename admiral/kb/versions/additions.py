"""The documents that an addition brings: corpora in, titles compared with those that are there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import compress
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.kb.corpus.corpora import Places, Sources
from admiral.kb.corpus.readers import Record
from admiral.kb.corpus.title_set import TitleSet
from admiral.kb.store.arrow_documents import DocumentWriter
from admiral.kb.store.document_store import DocumentStore
from admiral.records import Document

POLICIES = ("error", "replace", "skip")
_CHOOSE = "choose --on-duplicate replace or skip"


class Additions:
    """Documents of corpora, kept in a new directory until it is known which of them count.

    Parameters
    ----------
    directory
        Made here.
    row
        Gives the row of a title in the knowledge base, or None.
    on_duplicate
        What to do with a title that is taken, in the knowledge base or earlier in the corpora:
        ``error``, ``replace`` (the last document counts) or ``skip`` (the first one does).

    Attributes
    ----------
    replaced
        Rows of the knowledge base whose documents are replaced.
    left_out
        How many records do not count, as another document has their title.
    """

    def __init__(
        self, directory: Path, row: Callable[[str], int | None], on_duplicate: str
    ) -> None:
        self.replaced: set[int] = set()
        self.left_out = 0
        self._directory, self._row, self._policy = directory, row, on_duplicate
        self._seen, self._places = TitleSet(), Places()
        # Of titles that came again: the latest place among the additions by the first one.
        self._latest: dict[int, int] = {}
        self._superseded: list[int] = []
        self._written = 0

    def read(self, sources: Sources, progress: bool) -> None:
        """Read all corpora.

        Raises
        ------
        AdmiralError
            If there is no document in them, or a title is taken and that is an error.
        """
        with DocumentWriter(self._directory) as writer:
            for record in sources.records(progress):
                if self._counts(record, writer.documents):
                    self._places.note(record)
                    writer.append(record.document)
            self._written = writer.documents
        if not self._written and not self.left_out:
            raise AdmiralError(f"{sources}: no documents in it. Check the corpus and --format.")

    def _counts(self, record: Record, place: int) -> bool:
        """Whether a record is kept, as number `place` of the additions."""
        title = record.document.title
        row = self._row(title)
        if row is not None and self._policy == "error":
            raise RecordError(
                record.where,
                "title",
                f"a document with the title {title!r} is in the knowledge base already",
                f"Correct the title, or {_CHOOSE}.",
            )
        if row is not None and self._policy == "skip":
            self.left_out += 1
            return False
        first = self._seen.find_or_add(title, place)
        if first is not None:
            if self._policy == "error":
                self._places.refuse(record, first, _CHOOSE)
            self.left_out += 1
            if self._policy == "skip":
                return False
            self._superseded.append(self._latest.get(first, first))
            self._latest[first] = place
        if row is not None:
            self.replaced.add(row)
        return True

    def __len__(self) -> int:
        return self._written - len(self._superseded)

    def documents(self) -> Iterator[Document]:
        """Yield the documents that count, in the order of the corpora; then nothing is kept."""
        counts = bytearray(b"\x01") * self._written
        for place in self._superseded:
            counts[place] = 0
        store = DocumentStore(self._directory)
        try:
            yield from compress(store, counts)
        finally:
            store.close()
            shutil.rmtree(self._directory)
