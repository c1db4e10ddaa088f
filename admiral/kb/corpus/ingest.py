"""The first pass of a build: records in, documents out, duplicates settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.corpus.corpora import Places, Sources
from admiral.kb.corpus.duplicates import Extras, free_title, merge
from admiral.kb.corpus.readers import Record
from admiral.kb.corpus.title_set import TitleSet
from admiral.kb.store.arrow_documents import DocumentWriter


class Ingest:
    """Reads corpora into ``documents/`` of a directory.

    Attributes
    ----------
    duplicates
        How many records had a title that was taken.
    """

    def __init__(self, directory: Path, on_duplicate: str) -> None:
        self.duplicates = 0
        self._directory, self._policy = directory, on_duplicate
        self._seen = TitleSet()
        self._numbers: dict[str, int] = {}
        self._places = Places()

    def run(self, sources: Sources, progress: bool) -> DocumentWriter:
        """Read the corpora; return the finished writer, which has the counts."""
        documents = self._directory / "documents"
        with Extras(self._directory / "extras.jsonl") as extras:
            with DocumentWriter(documents) as writer:
                for record in sources.records(progress):
                    self._add(record, writer, extras)
            if not writer.documents:
                raise AdmiralError(f"{sources}: no documents in it. Check the corpus and --format.")
            if len(extras):
                writer = merge(extras, documents)
        return writer

    def _add(self, record: Record, writer: DocumentWriter, extras: Extras) -> None:
        document, row = record.document, writer.documents
        first = self._seen.find_or_add(document.title, row)
        if first is not None:
            if self._policy == "error":
                self._places.refuse(record, first, "choose --on-duplicate merge, skip or rename")
            self.duplicates += 1
            if self._policy == "merge":
                extras.add(first, document)
            if self._policy != "rename":
                return
            title = free_title(document.title, row, self._seen, self._numbers)
            document = replace(document, title=title)
        self._places.note(record)
        writer.append(document)
