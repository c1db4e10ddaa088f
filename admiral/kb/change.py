"""Change a knowledge base in one transaction: documents first, then what is derived from them.

The derived files of the new version are written beside those of the current one, before the
database is committed; those of the version before the last are removed after it. A process that
ends anywhere in between leaves the old version or the new one, and files that the next change
removes.

A new knowledge base is written as ``kb.sqlite.new`` without a log, and renamed. A lock on its
folder keeps other writers away; the system releases it when the process ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import matching_form
from admiral.kb.aliases import document_aliases, write_aliases
from admiral.kb.bm25 import Saturation, Text, build_bm25, update_bm25
from admiral.kb.corpus.files.document_titles import distinct_titles
from admiral.kb.knowledge_base import BM25, KnowledgeBase
from admiral.kb.passages import NO_BM25, indexed_text
from admiral.kb.store import (
    DERIVED,
    DICTIONARY,
    FILE,
    Store,
    body_of,
    check_application,
    check_kb,
    checked_kb_path,
    compressor,
    connect,
    create_tables,
    document_counts,
    explained,
    is_knowledge_base,
    train_dictionary,
)
from admiral.kb.titles import write_titles
from admiral.records import Document
from admiral.storage.atomic_files import sync_path, sync_tree

_TABLES = ("documents", "aliases", "vectors", "files", "settings")
# Of a file whose title is chosen once all are known.
_NOT_YET = "\x01"  # no title has it
_CACHE = -200_000  # kB of the database that a writer keeps in memory


class Change:
    """A change in progress.

    `store` is what the database holds with the change. From row `first` on are added documents;
    `removed` are the documents of the current version that the change removes, by row.
    """

    def __init__(self, path: Path, file: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.store = Store(path, connection)
        self.removed: dict[int, Document] = {}
        self.connection, self._file = connection, file
        self._numbers: dict[str, int] = {}
        self._start()

    def _start(self) -> None:
        self.store.load_settings()
        dictionary = self.store.one("SELECT value FROM settings WHERE name = ?", DICTIONARY)
        self._compressor = compressor(dictionary or b"")
        self.first: int = self.store.settings.get("next_row", 0)
        self._next: int = self.first
        self.counts = Counter(self.store.settings.get("counts", {}))
        self._digest = hashlib.sha256(self.store.settings.get("digest", "").encode())

    @property
    def is_new(self) -> bool:
        """Whether there was no version before."""
        return not self.store.commit

    @property
    def added(self) -> int:
        """Number of documents that were added."""
        return int(self.store.one("SELECT count(*) FROM documents WHERE row >= ?", self.first))

    def clear(self) -> None:
        """Remove everything."""
        commit = self.store.commit
        for table in _TABLES:
            self.connection.execute(f"DELETE FROM {table}")
        self._start()
        self.store.settings["commit"] = commit
        self._numbers.clear()

    def use_samples(self, documents: Iterable[Document]) -> None:
        """Compress documents with a dictionary that is trained on some of them."""
        dictionary = train_dictionary(map(body_of, documents))
        self.connection.execute("INSERT INTO settings VALUES (?, ?)", [DICTIONARY, dictionary])
        self._compressor = compressor(dictionary)
        self.store.use_dictionary(dictionary)

    def file_number(self, path: str, size: int | None = None, changed: int | None = None) -> int:
        """Return the number of a file, whose state is noted if a size is given."""
        if path not in self._numbers or size is not None:
            found = self.connection.execute(
                "INSERT INTO files (path, size, changed) VALUES (?, ?, ?) ON CONFLICT (path) DO "
                "UPDATE SET size = coalesce(excluded.size, size), "
                "changed = coalesce(excluded.changed, changed) RETURNING number",
                [path, size, changed],
            ).fetchall()
            self._numbers[path] = found[0][0]
        return self._numbers[path]

    def add(self, document: Document, file: str, line: int, own: str = "") -> int:
        """Add a document, whose title no other has, and return its row.

        `file`: the file that it was read from, if any. `own`: the title that it would have alone.
        """
        return self._insert(document, document.title, file, line, own)

    def add_file(self, document: Document, file: str, line: int) -> int:
        """Add the document of a file, whose title `settle_titles` will choose."""
        provisional = f"{_NOT_YET}{document.source}"
        return self._insert(document, provisional, file, line, document.title)

    def _insert(self, document: Document, title: str, file: str, line: int, own: str) -> int:
        form, body = matching_form(document.title), body_of(document)
        row, self._next = self._next, self._next + 1
        self.connection.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(row, title, own if own and own != title else None),
                *(form if form != document.title else None, document.id or None),
                *(document.source or None, self.file_number(file) if file else None, line),
                self._compressor.compress(body),
            ],
        )
        self._add_aliases(row, document)
        self.counts.update(document_counts(document))
        self._note(document, body)
        return row

    def _note(self, document: Document, body: bytes) -> None:
        name = f"{document.title}\n{document.source}\n{document.id}\n"
        self._digest.update(name.encode("utf-8", "surrogatepass"))
        self._digest.update(body)

    def replace_body(self, row: int, old: Document, new: Document) -> None:
        """Change the sentences of a document that this change has added."""
        assert row >= self.first
        body = body_of(new)
        stored = self._compressor.compress(body)
        self.connection.execute("UPDATE documents SET body = ? WHERE row = ?", [stored, row])
        self._remove_aliases(row, old)
        self._add_aliases(row, new)
        self.counts.subtract(document_counts(old))
        self.counts.update(document_counts(new))
        self._note(new, body)

    def remove(self, row: int) -> Document:
        """Remove a document and return it."""
        document = self.store.read_document(row)
        own = self.store.one("SELECT own FROM documents WHERE row = ?", row)
        self._remove_aliases(row, document)
        if own is not None:
            self._remove_aliases(row, replace(document, title=own))
        for table in ("documents", "vectors"):
            self.connection.execute(f"DELETE FROM {table} WHERE row = ?", [row])
        self.counts.subtract(document_counts(document))
        self._digest.update(f"-{row}\n".encode())
        if row < self.first:
            self.removed[row] = document
        return document

    def settle_titles(self, *, all_files: bool) -> int:
        """Choose the titles of added files, so that no two are the same.

        `all_files`: whether those of earlier files may change, as in a new knowledge base. Return
        how many files have another title than their own.
        """
        kind = "source IS NOT NULL" if all_files else f"title < '{chr(ord(_NOT_YET) + 1)}'"
        files = self.store.all(
            "SELECT row, coalesce(own, title), title, source, "
            "(SELECT path FROM files WHERE number = file), line FROM documents "
            f"WHERE {kind} ORDER BY row"
        )
        rows = {row for row, *_ in files}

        def other(title: str) -> str | None:
            row = self.store.row_like(title)
            if row is None or row in rows:
                return None
            return self.store.one("SELECT source FROM documents WHERE row = ?", row) or ""

        titles = distinct_titles([(own, source) for _, own, _, source, *_ in files], other)
        changed = [(*file, new) for file, new in zip(files, titles, strict=True) if file[2] != new]
        # A document of an earlier version gets a new row. All go before the first comes.
        earlier = {row: self.remove(row) for row, *_ in changed if row < self.first}
        for row, own, *_, title in changed:
            if row not in earlier:
                self._retitle(row, own, title)
        for row, own, _, _, path, line, title in changed:
            if row in earlier:
                self.add(replace(earlier[row], title=title), path or "", line, own)
        return sum(own != new for (_, own, *_), new in zip(files, titles, strict=True))

    def _retitle(self, row: int, own: str, title: str) -> None:
        form = matching_form(title)
        values = [title, own if own != title else None, form if form != title else None, row]
        self.connection.execute(
            "UPDATE documents SET title = ?, own = ?, form = ? WHERE row = ?", values
        )
        if title != own:
            document = self.store.read_document(row)
            self._remove_aliases(row, replace(document, title=own))
            self._add_aliases(row, document)
        self._digest.update(f"{title}\n".encode())

    def _add_aliases(self, row: int, document: Document) -> None:
        names = ((name, row) for name in document_aliases(document))
        self.connection.executemany("INSERT OR IGNORE INTO aliases VALUES (?, ?)", names)

    def _remove_aliases(self, row: int, document: Document) -> None:
        names = ((name, row) for name in document_aliases(document))
        self.connection.executemany("DELETE FROM aliases WHERE name = ? AND row = ?", names)

    def save(self, settings: Mapping[str, Any]) -> None:
        """Commit settings and vectors; the version stays the same."""
        self.store.settings.update(settings)
        self._write_settings()
        self.connection.execute("COMMIT")

    def publish(
        self, settings: Mapping[str, Any], also: Iterable[DerivedPart], progress: bool
    ) -> None:
        """Derive what belongs to the new version, and commit it.

        `also`: what else is derived from the documents.
        """
        if not self.counts["documents"]:
            raise AdmiralError(
                f"{self.path}: no document would be left. Delete the folder, or build the "
                "knowledge base of another corpus with `admiral index --overwrite`."
            )
        earlier = self.store.folder if self.first else None
        values = {
            "commit": self.store.commit + 1,
            "next_row": self._next,
            "digest": self._digest.hexdigest(),
            "counts": dict(self.counts),
        }
        self.store.settings.update({**settings, **values})
        folder = self.store.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_titles(folder, self.store)
        write_aliases(folder, self.store)
        if self.store.settings["bm25"] != NO_BM25:
            self._index_words(folder / BM25, earlier, progress)
        files = (file for file in folder.rglob("*") if file.is_file())
        self.store.settings["files"] = {
            file.relative_to(folder).as_posix(): file.stat().st_size for file in files
        }
        self.store.document.cache_clear()
        if earlier is not None:
            for part in also:
                part(self, KnowledgeBase(self.store, folder))
        sync_tree(folder)
        sync_path(folder.parent)
        self._write_settings()
        self.connection.execute("COMMIT")

    def _write_settings(self) -> None:
        values = [(name, json.dumps(value)) for name, value in self.store.settings.items()]
        self.connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", values)

    def _index_words(self, folder: Path, earlier: Path | None, progress: bool) -> None:
        settings, commit = self.store.settings, self.store.commit
        if earlier is None:
            given = {name: settings[name] for name in ("k1", "b") if name in settings}
            texts, saturation = self._texts(-1, progress), Saturation(**given)
            build_bm25(settings["bm25"], texts, folder, saturation=saturation, commit=commit)
        else:
            texts = self._texts(self.first - 1, progress)
            update_bm25(earlier / BM25, folder, self.removed, texts, commit=commit)

    def _texts(self, after: int, progress: bool) -> Iterator[tuple[int, str, Text]]:
        passages = bool(self.store.settings.get("passages", False))
        documents = self.store.documents(after)
        for row, document in track_documents(documents, "indexing", enabled=progress):
            yield row, *indexed_text(document, passages=passages)


#: Writes what else belongs to the new version of a knowledge base, into its folder.
DerivedPart = Callable[[Change, KnowledgeBase], None]


@contextmanager
def changing(path: str | Path, *, wait: bool = False, create: bool = False) -> Iterator[Change]:
    """Yield a change of a knowledge base; it is undone unless the block commits it.

    `wait`: whether to wait for another writer. `create`: whether to make a new knowledge base if
    there is none.
    """
    folder = checked_kb_path(path).absolute() if create else check_kb(path)
    made = create and not folder.exists()
    try:
        if create:
            _check_replaceable(folder)
            folder.mkdir(parents=True, exist_ok=True)
        with _only_writer(folder, wait):
            is_new = create and not (folder / FILE).exists()
            try:
                with explained(folder):
                    yield from _change(folder, is_new)
            except BaseException:
                if made and is_new:
                    shutil.rmtree(folder, ignore_errors=True)
                raise
    except OSError as error:
        raise AdmiralError(
            f"{folder}: cannot be written ({error.strerror or error}). Check the permissions and "
            "the free space; nothing is lost."
        ) from error


def _change(folder: Path, is_new: bool) -> Iterator[Change]:
    file = folder / (f"{FILE}.new" if is_new else FILE)
    (folder / f"{FILE}.new").unlink(missing_ok=True)
    connection = connect(file, "rwc" if is_new else "rw")
    try:
        if is_new:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
        else:
            check_application(connection, folder)
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        connection.execute("BEGIN IMMEDIATE")
        if is_new:
            create_tables(connection)
        change = Change(folder, file, connection)
        _remove_others(folder, change.store.commit)
        yield change
        if connection.in_transaction:
            if is_new:
                raise AssertionError("a new knowledge base was not committed")
            connection.execute("ROLLBACK")
        elif is_new:
            connection.execute("PRAGMA journal_mode = WAL")
        change.store.close()
        if is_new:
            sync_path(file)
            file.rename(folder / FILE)
            sync_path(folder)
        _remove_others(folder, change.store.commit)
    finally:
        connection.close()  # which undoes what was not committed
        if is_new:
            file.unlink(missing_ok=True)


@contextmanager
def _only_writer(folder: Path, wait: bool) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise AdmiralError(
                f"{folder}: another process is building or changing it. Wait for it to end, or use "
                "--wait."
            ) from None
        except OSError:
            pass  # the file system has no locks; SQLite has its own
        yield
    finally:
        os.close(descriptor)


def _check_replaceable(folder: Path) -> None:
    if not folder.exists() or is_knowledge_base(folder):
        return
    if not folder.is_dir() or {each.name for each in folder.iterdir()} - {f"{FILE}.new", DERIVED}:
        raise AdmiralError(
            f"{folder}: something else is there, such as a knowledge base of an earlier release, "
            "and it is not replaced. Delete it, or choose another path."
        )


def _remove_others(folder: Path, commit: int) -> None:
    """Remove the derived files of other versions; the caller must be the only writer.

    Those of the version before stay: who has opened it may not have opened its index yet.
    """
    for each in (folder / DERIVED).glob("*"):
        if each.name not in (str(commit), str(commit - 1)):
            shutil.rmtree(each, ignore_errors=True)
