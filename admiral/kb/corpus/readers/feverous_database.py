"""Read the FEVEROUS database: SQLite with the table ``wiki (id, data)``.

`data` is a JSON object. `order` lists the elements of the page; each element named ``sentence_N``
is a text with hyperlinks, ``[[Target_title|text]]``. Tables and lists are left out, so sentence
numbers count the sentences of the page in order.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import LONGEST_RECORD, Place, RemotePath, parse_object
from admiral.io.text_cleaning import without_markup
from admiral.kb.corpus.readers.corpus_records import (
    SKIP_BAD_REMEDY,
    RecordOrError,
    cleaned_record,
    string_list,
)
from admiral.records import Document

MAGIC = b"SQLite format 3\x00"


def read_feverous(path: Place) -> Iterator[RecordOrError]:
    """Yield the pages in the order of the table; the line of a record is its row, from 1."""
    if isinstance(path, RemotePath):
        raise AdmiralError(f"{path}: a remote database cannot be read. Copy it to this machine.")
    try:
        # Read-only, so that SQLite creates no journal files.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = bytes
            for row, (identifier, data) in enumerate(
                database.execute("SELECT id, data FROM wiki"), start=1
            ):
                where = f"{path}:{row}"
                try:
                    document = _page(identifier, data, where)
                    yield cleaned_record(document, path, row, "id")
                except RecordError as error:
                    yield error
    except sqlite3.Error as error:
        raise AdmiralError(
            f"{path}: cannot be read as a FEVEROUS database ({error}). It must be an SQLite file "
            "that is not compressed, with a table wiki (id, data)."
        ) from error


def _page(identifier: Any, data: Any, where: str) -> Document:
    title = _title(identifier, where)
    if data is None or (isinstance(data, bytes) and not data.strip()):
        return Document(title, ())
    if not isinstance(data, bytes):
        raise RecordError(where, "data", "not a text", SKIP_BAD_REMEDY)
    if len(data) > LONGEST_RECORD:
        raise RecordError(where, "data", f"longer than {LONGEST_RECORD >> 20} MiB", SKIP_BAD_REMEDY)
    page = parse_object(data, where)
    if "order" not in page:
        raise RecordError(where, "order", "missing", SKIP_BAD_REMEDY)
    sentences, links = [], []
    for name in string_list(page["order"], "order", where):
        if not name.startswith("sentence_"):
            continue
        if not isinstance(page.get(name), str):
            raise RecordError(where, name, "missing or not a string", SKIP_BAD_REMEDY)
        sentence, targets = without_markup(page[name])
        sentences.append(sentence)
        links.append(targets)
    return Document(title, tuple(sentences), tuple(links))


def _title(identifier: Any, where: str) -> str:
    if not isinstance(identifier, bytes):
        raise RecordError(where, "id", "not a text", SKIP_BAD_REMEDY)
    try:
        # The database spells accents as combining marks; Wikipedia's titles are composed.
        return unicodedata.normalize("NFC", identifier.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(where, "id", "not UTF-8", SKIP_BAD_REMEDY) from error
