"""Records of corpora, and the report of each input file: what it gave, what was left out and why.

The reports give the counts in the summary of a build, and the lines of ``--report``.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.io.sentence_splitter import split_long_sentences
from admiral.io.streams import Place
from admiral.io.text_cleaning import LONGEST_TITLE, clean_document
from admiral.records import Document

SKIP_BAD_REMEDY = "Correct it, or skip bad records with --skip-bad."
# Of a corpus of records, which may have millions.
MOST_TITLES = 100
# Messages on one file, and those of all files that are logged.
MESSAGES_SHOWN = 20
BAD_RECORDS = "bad records"
DUPLICATES = "duplicates of another document"


@dataclass(slots=True)
class FileReport:
    """An input file, and what became of it."""

    path: Place  # below the corpus as it was given
    reader: str  # a format of corpora, or the type of a file of documents; empty if unknown
    source: str = field(init=False)  # its absolute path or its URL
    skipped: str = ""  # why nothing of the file was read; empty if it was
    # Numbers in the knowledge base, and titles of at most `MOST_TITLES` of these documents.
    documents: int = 0
    sentences: int = 0
    titles: list[str] = field(default_factory=list)
    # How many records, or elements of a document, were left out, by reason.
    left_out: Counter[str] = field(default_factory=Counter)
    split: int = 0  # sentences that were too long and have been split
    notes: list[str] = field(default_factory=list)  # what the reader assumed, or found missing
    errors: list[str] = field(default_factory=list)  # the first messages

    def __post_init__(self) -> None:
        self.source = source_of(self.path)

    def skip(self, reason: str, error: object = None) -> None:
        """Note why the file, or a document within it, is not read."""
        self.skipped = self.skipped or reason
        self.left_out[reason] += 1
        self.note_error(error)

    def note_error(self, error: object) -> None:
        """Keep a message, unless there are many."""
        if error is not None and len(self.errors) < MESSAGES_SHOWN:
            self.errors.append(str(error))

    def to_json(self) -> dict[str, Any]:
        """Return the line of ``--report``."""
        return {
            "path": str(self.path),
            "reader": self.reader or None,
            "documents": self.documents,
            "titles": self.titles,
            "sentences": self.sentences,
            "skipped": self.skipped or None,
            "left_out": dict(self.left_out.most_common()),
            "split_sentences": self.split,
            "notes": self.notes,
            "errors": self.errors,
        }


def source_of(file: Place) -> str:
    """Return the absolute path or the URL of a file, with bytes that are no UTF-8 escaped."""
    if not isinstance(file, Path):
        return str(file)
    return os.fsencode(os.path.abspath(file)).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Record:
    """A document, and the file and line that it was read from; 0 for a file without lines."""

    document: Document
    file: FileReport
    line: int

    @property
    def where(self) -> str:
        """Position for messages, such as ``corpus.jsonl:17``."""
        return f"{self.file.path}:{self.line}" if self.line else str(self.file.path)


def cleaned_record(document: Document, file: FileReport, line: int, field: str = "title") -> Record:
    """Return a document as it is stored: cleaned, and its long sentences split.

    A title that is empty or too long is an error of `field`.
    """
    where = f"{file.path}:{line}"
    cleaned = clean_document(document)
    if not cleaned.title:
        raise RecordError(where, field, "empty", "Every document needs a title. " + SKIP_BAD_REMEDY)
    if len(cleaned.title) > LONGEST_TITLE:
        problem = f"{len(cleaned.title)} characters long; at most {LONGEST_TITLE} are allowed"
        raise RecordError(where, field, problem, SKIP_BAD_REMEDY)
    cleaned, split = split_long_sentences(cleaned)
    file.split += split
    if not cleaned.source:
        cleaned = replace(cleaned, file=file.source, line=line)
    return Record(cleaned, file, line)
