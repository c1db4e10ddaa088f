"""The first pass of a build: records in, documents out, bad ones and duplicates settled."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from admiral.errors import AdmiralError, RecordError
from admiral.kb.documents import DocumentWriter
from admiral.kb.duplicates import Extras, free_title, merge
from admiral.kb.progress import track
from admiral.kb.readers import Record, read_corpus
from admiral.kb.titleset import TitleSet

logger = logging.getLogger(__name__)

_BAD_RECORDS_SHOWN = 20


class Ingest:
    """Reads corpora into ``documents/`` of a directory.

    Attributes
    ----------
    bad, duplicates
        How many records were skipped as bad, and how many had a title that was taken.
    """

    def __init__(self, directory: Path, on_duplicate: str, skip_bad: bool) -> None:
        self.bad = self.duplicates = 0
        self._directory, self._policy, self._skip_bad = directory, on_duplicate, skip_bad
        self._seen = TitleSet()
        self._numbers: dict[str, int] = {}
        # Where each row came from (file number and line), to name both places of a duplicate.
        self._files: dict[Path, int] = {}
        self._places = array("Q")

    def run(self, sources: list[tuple[Path, str]], progress: bool) -> DocumentWriter:
        """Read (path, format) pairs; return the finished writer, which has the counts."""
        documents = self._directory / "documents"
        with Extras(self._directory / "extras.jsonl") as extras:
            with DocumentWriter(documents) as writer:
                for record in track(self._records(sources), "reading", enabled=progress):
                    self._add(record, writer, extras)
            if not writer.documents:
                names = ", ".join(str(path) for path, _ in sources)
                raise AdmiralError(f"{names}: no documents in it. Check the corpus and --format.")
            if len(extras):
                writer = merge(extras, documents)
        if self.bad:
            logger.warning("%d bad records were skipped", self.bad)
        return writer

    def _records(self, sources: list[tuple[Path, str]]) -> Iterator[Record]:
        for path, name in sources:
            for item in read_corpus(path, name):
                if isinstance(item, Record):
                    yield item
                    continue
                if not self._skip_bad:
                    raise item
                self.bad += 1
                if self.bad <= _BAD_RECORDS_SHOWN:
                    logger.warning("skipped: %s", item)

    def _add(self, record: Record, writer: DocumentWriter, extras: Extras) -> None:
        document, row = record.document, writer.documents
        first = self._seen.find_or_add(document.title, row)
        if first is not None:
            if self._policy == "error":
                self._refuse(record, first)
            self.duplicates += 1
            if self._policy == "merge":
                extras.add(first, document)
            if self._policy != "rename":
                return
            title = free_title(document.title, row, self._seen, self._numbers)
            document = replace(document, title=title)
        number = self._files.setdefault(record.path, len(self._files))
        self._places.append(number << 40 | record.line)
        writer.append(document)

    def _refuse(self, record: Record, first: int) -> NoReturn:
        place = self._places[first]
        path = list(self._files)[place >> 40]
        raise RecordError(
            record.where,
            "title",
            f"{record.document.title!r} is taken by the document at "
            f"{path}:{place & ((1 << 40) - 1)}",
            "Titles are unique: correct one of them, or choose --on-duplicate merge, skip or "
            "rename.",
        )
