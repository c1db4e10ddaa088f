"""The file of a knowledge base: an SQLite database of documents, aliases, vectors and settings.

A document keeps its row for as long as it exists, and no other document ever gets it: who changes a
document gives it a new one. A reader sees the version that was current when it opened the file (WAL
mode); a writer holds one transaction (`admiral.kb.writing`). What is derived from the database lies
in ``derived/N/`` beside it, where N is the number of the commit that it belongs to.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import zstandard

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import matching_form
from admiral.records import Document, Page

FILE, DERIVED = "kb.sqlite", "derived"
VERSION = 5
_OLD_MANIFEST = "manifest.json"  # of earlier releases
_APPLICATION = 0x61646D6B  # "admk"
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE settings (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
-- Those with a size were read by `admiral index`, which reads them again if they have changed.
CREATE TABLE files (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER, changed INTEGER
);
CREATE TABLE documents (
    row INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    own TEXT,  -- the title that it would have alone, if that is another
    form TEXT,  -- the matching form of its title, if that is another
    id TEXT, source TEXT, file INTEGER, line INTEGER,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX ids ON documents (id) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX sources ON documents (source) WHERE source IS NOT NULL;
CREATE INDEX files_of_sources ON documents (file) WHERE source IS NOT NULL;
CREATE INDEX forms ON documents (form) WHERE form IS NOT NULL;
CREATE TABLE aliases (name TEXT, row INTEGER, PRIMARY KEY (name, row)) WITHOUT ROWID;
CREATE TABLE vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
"""
_ROWS_AT_ONCE = 1024
_CACHED_DOCUMENTS = 256
#: Setting with the dictionary of the bodies.
DICTIONARY = "dictionary"
_LEVEL = 3


class UnusableError(AdmiralError):
    """Error for a knowledge base that is damaged or cannot be searched, whatever is asked."""


class Store:
    """An open database, safe to share between threads.

    `path`: the folder of the knowledge base. Every method raises AdmiralError if the file is
    damaged or the store was closed.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._lock = threading.Lock()
        self.settings: dict[str, Any] = {}
        self.document = lru_cache(_CACHED_DOCUMENTS)(self.read_document)
        self._decompressor = zstandard.ZstdDecompressor()

    def check_derived(self) -> None:
        """Raise UnusableError if a derived file of this version is missing or cut off."""
        for name, size in self.settings["files"].items():
            file = self.folder / name
            found = file.stat().st_size if file.exists() else None
            if found != size:
                raise damaged_error(file, "missing" if found is None else f"of {found:,} bytes")

    def load_settings(self) -> None:
        """Read the settings, among them the dictionary of the bodies."""
        rows = dict(self.all("SELECT name, value FROM settings"))
        self.use_dictionary(rows.pop(DICTIONARY, b""))
        self.settings = {name: json.loads(value) for name, value in rows.items()}

    def use_dictionary(self, dictionary: bytes) -> None:
        """Read bodies that were compressed with a dictionary."""
        shared = zstandard.ZstdCompressionDict(dictionary)
        self._decompressor = zstandard.ZstdDecompressor(dict_data=shared)

    @property
    def commit(self) -> int:
        """The number of the version; 0 for none."""
        return int(self.settings.get("commit", 0))

    @property
    def folder(self) -> Path:
        """The folder of what is derived from this version."""
        return self.path / DERIVED / str(self.commit)

    def all(self, sql: str, *values: object) -> list[Any]:
        """Return all rows of a query."""
        with self._lock, explained(self.path):
            return self.check_open().execute(sql, values).fetchall()

    def check_open(self) -> sqlite3.Connection:
        """Return the connection; AdmiralError once the store was closed."""
        if self._connection is None:
            raise AdmiralError(f"{self.path}: the knowledge base was closed. Open it again.")
        return self._connection

    def one(self, sql: str, *values: object) -> Any:
        """Return the first column of the first row of a query, or None."""
        found = self.all(sql, *values)
        return found[0][0] if found else None

    def row(self, title: str) -> int | None:
        """Return the row of an exact title, or None."""
        row: int | None = self.one("SELECT row FROM documents WHERE title = ?", title)
        return row

    def row_like(self, title: str) -> int | None:
        """Return the row of a title that is the same but for the Unicode form of its letters."""
        row = self.row(title)
        if row is not None or title.isascii():
            return row
        normal, form = unicodedata.normalize("NFC", title), matching_form(title)
        for row, other in self.all(
            "SELECT row, title FROM documents WHERE title IN (?, ?) OR form = ?", normal, form, form
        ):
            if unicodedata.normalize("NFC", other) == normal:
                return int(row)
        return None

    def row_of_id(self, id: str) -> int | None:
        """Return the row of the document with an id, or None."""
        row: int | None = self.one("SELECT row FROM documents WHERE id = ?", id)
        return row

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        title = self.one("SELECT title FROM documents WHERE row = ?", row)
        if title is None:
            raise IndexError(f"row {row}")
        return str(title)

    def read_document(self, row: int) -> Document:
        """Return the document of a row, which `document` caches; IndexError if there is none."""
        found = self.all(f"{_DOCUMENTS} WHERE row = ?", row)
        if not found:
            raise IndexError(f"row {row}")
        return self._decoded(found[0])

    def rows(self) -> list[int]:
        """Return all rows, ascending."""
        return [row for (row,) in self.all("SELECT row FROM documents ORDER BY row")]

    def documents(self, after: int = -1) -> Iterator[tuple[int, Document]]:
        """Yield the rows and documents after a row, in the order of rows."""
        for found in self._in_parts(_DOCUMENTS, after):
            yield found[0], self._decoded(found)

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the rows and the texts of all documents, as JSON."""
        for row, body in self._in_parts("SELECT row, body FROM documents", -1):
            yield row, self._decompressed(row, body)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            connection, self._connection = self._connection, None
            self.document.cache_clear()
            if connection is not None:
                connection.close()

    def _in_parts(self, select: str, after: int) -> Iterator[Any]:
        while True:
            sql = f"{select} WHERE row > ? ORDER BY row LIMIT {_ROWS_AT_ONCE}"
            found = self.all(sql, after)
            if not found:
                return
            yield from found
            after = found[-1][0]

    def _decompressed(self, row: int, body: bytes) -> bytes:
        try:
            with self._lock:
                return self._decompressor.decompress(body)
        except zstandard.ZstdError as error:
            raise damaged_error(self.path / FILE, f"row {row}: {error}") from error

    def _decoded(self, found: Sequence[Any]) -> Document:
        row, title, id, source, path, line, body = found
        fields = _fields(json.loads(self._decompressed(row, body)))
        origin = ("", 0) if source else (path or "", line or 0)
        sentences, links, sections, offsets, page = fields
        return Document(
            title, sentences, links, source or "", sections, offsets, id or "", *origin, page
        )


_DOCUMENTS = (
    "SELECT row, title, id, source, (SELECT path FROM files WHERE number = file), line, body "
    "FROM documents"
)


def body_of(document: Document) -> bytes:
    """Return what is stored of the contents of a document, before it is compressed."""
    page = None
    if document.page is not None:
        *texts, gaps, passages = astuple(document.page)
        page = [*texts, gaps, list(chain.from_iterable(passages))]
    fields = [document.sentences, document.links, document.sections, document.offsets, page]
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _fields(stored: list[Any]) -> tuple[Any, ...]:
    """Return sentences, links, sections, offsets and page; the last ones may be missing."""
    values: list[Any] = [*stored, *([()] * (5 - len(stored)))]
    sentences, links, sections, offsets, page = values
    if page:
        bounds = page[7]
        spans = tuple(zip(bounds[::2], bounds[1::2], strict=True))
        fields: list[Any] = [*page[:6], tuple(page[6]), spans]
        page = Page(*fields)
    rows = tuple(map(tuple, links))
    return tuple(sentences), rows, tuple(sections), tuple(offsets), page or None


def document_counts(document: Document) -> dict[str, int]:
    """Return what a document adds to the counts of a knowledge base."""
    links = sum(map(len, document.links))
    counts = {"documents": 1, "sentences": len(document.sentences), "links": links}
    if document.page is not None:
        counts["passages"] = len(document.page.passages)
        counts["empty"] = not document.sentences
    return counts


def compressor(dictionary: bytes) -> zstandard.ZstdCompressor:
    """Return what compresses bodies with a dictionary, which may be empty."""
    shared = zstandard.ZstdCompressionDict(dictionary)
    if dictionary:
        shared.precompute_compress(level=_LEVEL)
    return zstandard.ZstdCompressor(level=_LEVEL, dict_data=shared, write_dict_id=False)


def train_dictionary(bodies: Iterable[bytes]) -> bytes:
    """Return a dictionary with which bodies like these compress well; none if they are few."""
    samples: list[Any] = list(bodies)
    size = min(112_640, sum(map(len, samples)) // 10)
    if size < 4096:
        return b""
    try:
        return bytes(zstandard.train_dictionary(size, samples).as_bytes())
    except zstandard.ZstdError:  # such as for samples that are all the same
        return b""


def connect(file: Path, mode: str) -> sqlite3.Connection:
    """Open a database; `mode` is ``ro``, ``rw`` or ``rwc``."""
    uri = f"{file.absolute().as_uri()}?mode={mode}"
    log = file.with_name(f"{file.name}-wal")
    if mode == "ro" and not os.access(file.parent, os.W_OK) and not log.exists():
        uri += "&immutable=1"  # without a log, which nobody can write there
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA busy_timeout = 5000")
    return connection


def check_application(connection: sqlite3.Connection, path: Path) -> None:
    """Raise AdmiralError unless a database is a knowledge base that this release reads."""
    file = path / FILE
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise AdmiralError(
            f"{file}: is the database of another program, not a knowledge base. Check the path."
        )
    if version != VERSION:
        raise AdmiralError(
            f"{file}: is of version {version}; this release reads version {VERSION}. Use a newer "
            "release, or delete the folder and index the corpora again."
        )


def create_tables(connection: sqlite3.Connection) -> None:
    """Make a new database a knowledge base without documents."""
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)


def open_store(path: str | Path) -> Store:
    """Open the current version of a knowledge base for reading."""
    folder = check_kb(path)
    with explained(folder):
        connection = connect(folder / FILE, "ro")
        store = Store(folder, connection)
        try:
            check_application(connection, folder)
            connection.execute("BEGIN")
            store.load_settings()
        except BaseException:
            store.close()
            raise
    if not store.commit:
        store.close()
        raise AdmiralError(
            f"{folder}: holds no documents, because its indexing was interrupted or has not ended. "
            "Run `admiral index` again."
        )
    return store


def read_settings(path: str | Path) -> dict[str, Any]:
    """Return the settings of the current version of a knowledge base."""
    with closing(open_store(path)) as store:
        return store.settings


def current_digest(path: Path) -> str:
    """Return the digest of the newest version of a knowledge base."""
    folder = check_kb(path)
    with explained(folder), closing(connect(folder / FILE, "ro")) as connection:
        check_application(connection, folder)
        found = connection.execute("SELECT value FROM settings WHERE name = 'digest'").fetchone()
        return str(json.loads(found[0])) if found else ""


def check_kb(path: str | Path) -> Path:
    """Return the absolute path of a knowledge base of this release; AdmiralError without one."""
    folder = checked_kb_path(path).absolute()
    if (folder / FILE).is_file():
        return folder
    if (folder / _OLD_MANIFEST).is_file():
        raise AdmiralError(
            f"{folder}: is of release 0.1 or 0.2. Delete the folder and index the corpora again."
        )
    if folder.is_file():
        raise AdmiralError(f"{folder}: a knowledge base is a directory, and this is a file.")
    problem = "not a knowledge base" if folder.exists() else "no such knowledge base"
    raise AdmiralError(
        f"{folder}: {problem} (there is no {FILE}). Check the path, or build one with `admiral "
        "index`."
    )


def is_knowledge_base(folder: Path) -> bool:
    """Return whether a folder holds a knowledge base, in any state."""
    return (folder / FILE).is_file()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite in the block into `AdmiralError`."""
    file = path / FILE
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise AdmiralError(
                f"{path}: another process is building or changing it. Wait for it to end."
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise AdmiralError(
                f"{path}: cannot be opened or changed ({text}). Check the permissions of the "
                "folder and its files."
            ) from error
        if "full" in text or "disk I/O" in text:
            raise AdmiralError(
                f"{path}: cannot be changed ({text}). Check the free space; nothing is lost."
            ) from error
        raise damaged_error(file, error) from error
    except (sqlite3.DatabaseError, sqlite3.ProgrammingError) as error:
        raise damaged_error(file, error) from error


def damaged_error(path: Path, reason: object) -> UnusableError:
    """Return the error for a damaged file of a knowledge base."""
    remedy = "index the corpora again with `admiral index --overwrite`"
    if path.name == FILE:  # which no change can begin from
        remedy = "delete the folder and index the corpora again"
    return UnusableError(f"{path}: damaged ({reason}). Restore it, or {remedy}.")


def checked_kb_path(path: str | Path) -> Path:
    """Return the path of a knowledge base; a relative path stays relative.

    It must not be empty, which `Path` would take for the current folder, nor other than UTF-8.
    """
    if not os.fspath(path):
        raise AdmiralError("the path of the knowledge base is empty. Name a directory.")
    real_path = os.path.realpath(path)
    try:
        real_path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{real_path!r}: the path of a knowledge base must be UTF-8. Choose another name."
        ) from error
    return Path(path)
