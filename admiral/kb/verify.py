"""A thorough check of a knowledge base: every checksum, every array, every row."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress_bar import track
from admiral.io.text_cleaning import clean_document
from admiral.kb.joined.verify_join import join_problems
from admiral.kb.store.contents import BM25, DOCUMENTS, REMOVED, read_removed
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.manifest import NAME
from admiral.kb.store.members import read_join
from admiral.kb.store.snapshot import Version
from admiral.kb.store.title_index import TitleIndex
from admiral.kb.tries.title_tries import FOLDER, tries_problems
from admiral.kb.versions.transaction import leftovers
from admiral.records import Document
from admiral.storage.checksums import describe_file

logger = logging.getLogger(__name__)


def verify(path: str | Path, *, progress: bool = False) -> list[str]:
    """Return what is wrong with a knowledge base, one message each; an empty list if nothing.

    Raises
    ------
    AdmiralError
        If there is no knowledge base there, or its manifest cannot be used.
    """
    directory = Path(path)
    join = read_join(directory)
    if join is None:
        return _own_problems(directory, progress)
    problems = []
    for member in join.paths(directory):
        try:
            problems += _own_problems(member, progress)
        except AdmiralError as error:
            problems.append(str(error))
    return problems or join_problems(directory)


def _own_problems(path: Path, progress: bool) -> list[str]:
    """Check a knowledge base that holds documents itself."""
    with Version.open(path, check=False) as version:
        problems = _file_problems(version)
        # Files that are not what was written may not be interpreted: a damaged index can crash its
        # library.
        if not problems:
            problems += _content_problems(version, progress)
        problems += tries_problems(version.base, version.manifest.base.digest)
        if problems and not version.intact:
            raise AdmiralError(
                f"{path}: was replaced by another build while it was checked. Start again."
            )
    return problems


def _file_problems(version: Version) -> list[str]:
    directory, manifest = version.path, version.manifest
    problems = []
    for name, entry in manifest.files.items():
        try:
            found = describe_file(directory / name)
        except (FileNotFoundError, NotADirectoryError):
            problems.append(f"{directory / name}: missing")
            continue
        except OSError as error:
            raise AdmiralError(
                f"{error.filename}: cannot be read ({error.strerror}). Check the permissions."
            ) from error
        if found.size != entry.size:
            problems.append(
                f"{directory / name}: {found.size:,} bytes where the manifest says {entry.size:,}"
            )
        elif found != entry:
            problems.append(f"{directory / name}: its contents were changed")
    # Other versions are no part of this one, and no fault of it.
    ours = {directory / NAME, version.base / FOLDER, *leftovers(directory, manifest)}
    ours.update(directory / name for name in manifest.files)
    for path in sorted(directory.rglob("*")):
        if not path.is_dir() and ours.isdisjoint((path, *path.parents)):
            problems.append(f"{path}: does not belong there")
    return problems


def _content_problems(version: Version, progress: bool) -> list[str]:
    base, delta = version.manifest.base, version.manifest.delta
    try:
        removed = np.empty(0, dtype=np.int64)
        if version.delta is not None and delta and delta.removed:
            removed = read_removed(version.delta / REMOVED, base.documents)
        if delta and len(removed) != delta.removed:
            return [
                f"{version.delta}: {len(removed)} removed rows where the manifest says "
                f"{delta.removed}"
            ]
        parts = [_Part(version.base, base.documents, set(removed.tolist()))]
        try:
            if version.delta is not None and delta and delta.documents:
                parts.append(_Part(version.delta, delta.documents, set()))
            problems = [problem for part in parts for problem in part.array_problems()]
            if not problems:
                problems = _row_problems(version, parts, progress)
        finally:
            for part in parts:
                part.store.close()
        if version.manifest.bm25 != NO_BM25:
            problems += _bm25_problems(version, parts, removed)
    except AdmiralError as error:
        return [str(error)]
    return problems


class _Part:
    """One part of the version: a directory with documents and titles."""

    def __init__(self, directory: Path, documents: int, removed: set[int]) -> None:
        self.directory, self.documents, self.removed = directory, documents, removed
        self.store, self.titles = DocumentStore(directory / DOCUMENTS), TitleIndex(directory)

    def array_problems(self) -> list[str]:
        problems = []
        if len(self.store) != self.documents or len(self.titles) != self.documents:
            problems.append(
                f"{self.directory}: {len(self.store)} documents and {len(self.titles)} titles "
                f"where the manifest says {self.documents}"
            )
        if self.store.rows[0] != 0 or (np.diff(self.store.rows) <= 0).any():
            problems.append(f"{self.directory / DOCUMENTS / 'rows.npy'}: not ascending from 0")
        rows, keys = self.titles.permutations
        # Each undoes the other, which also says that both are permutations.
        if int(keys.max()) >= len(rows) or not np.array_equal(rows[keys], np.arange(len(keys))):
            problems.append(f"{self.directory}: the title arrays are not permutations of the rows")
        return problems

    def row_problem(self, row: int, document: Document) -> str:
        title = document.title
        if self.titles.row(title) != row or self.titles.title(row) != title:
            return f"{self.directory}: row {row}: the title {title!r} is indexed elsewhere"
        if not _clean(document):
            return f"{self.directory}: row {row}: the document was not cleaned before it was stored"
        return ""

    def has(self, title: str) -> bool:
        """Whether a title is there and not removed."""
        row = self.titles.row(title)
        return row is not None and row not in self.removed


def _row_problems(version: Version, parts: list[_Part], progress: bool) -> list[str]:
    counts = dict.fromkeys(("documents", "sentences", "links"), 0)
    total = sum(part.documents for part in parts)
    rows = ((part, row, document) for part in parts for row, document in enumerate(part.store))
    for part, row, document in track(rows, "verifying", total=total, enabled=progress):
        if problem := part.row_problem(row, document):
            return [problem]
        if row in part.removed:
            continue
        if part is not parts[0] and parts[0].has(document.title):
            return [f"{part.directory}: row {row}: the title {document.title!r} is there twice"]
        counts["documents"] += 1
        counts["sentences"] += len(document.sentences)
        counts["links"] += sum(map(len, document.links))
    expected = version.manifest.counts
    return [
        f"{version.path}: {counts[name]} {name} where the manifest says {expected.get(name)}"
        for name in counts
        if counts[name] != expected.get(name)
    ]


def _bm25_problems(version: Version, parts: list[_Part], removed: np.ndarray) -> list[str]:
    from admiral.kb.bm25 import check_backend, open_bm25
    from admiral.kb.bm25.settings import Settings

    folders = [part.directory / BM25 for part in parts]
    for part, folder in zip(parts, folders, strict=True):
        indexed = Settings.load(folder).documents
        if indexed != part.documents:
            return [f"{folder}: {indexed} documents where there are {part.documents}"]
    try:
        check_backend(version.manifest.bm25)
    except AdmiralError as error:
        # A fault of this machine, not of the knowledge base.
        logger.warning("%s: not opened: %s", folders[0], error)
        return []
    open_bm25(version.manifest.bm25, *folders, removed=removed).close()
    return []


def _clean(document: Document) -> bool:
    try:
        return bool(document.title) and clean_document(document) == document
    except ValueError:
        return False
