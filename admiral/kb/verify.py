"""Verify a knowledge base thoroughly: every checksum, every array and every row."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_document
from admiral.kb.alias_index import FOLDER as ALIASES
from admiral.kb.alias_index import AliasIndex
from admiral.kb.bm25 import Passages, RowIndex, check_backend
from admiral.kb.store import NAME
from admiral.kb.store.contents import DOCUMENTS, GRAPH, Contents
from admiral.kb.store.document_store import document_counts
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.snapshot import Snapshot
from admiral.kb.store.titles import FOLDER, trie_problems
from admiral.kb.transaction import leftovers
from admiral.records import Document
from admiral.storage.atomic_files import describe_file

logger = logging.getLogger(__name__)


def verify(path: str | Path, *, progress: bool = False) -> list[str]:
    """Check a knowledge base.

    The graph has a check of its own, `admiral.graph.graph_problems`. Return one message per
    problem; none if the knowledge base is intact. Damaged files are not opened, because a damaged
    index can crash its library. Raises AdmiralError if there is no knowledge base, or its manifest
    cannot be read.
    """
    with Snapshot.open(Path(path), check=False) as snapshot:
        problems = file_problems(snapshot)
        if not problems:
            try:
                problems = _verify_contents(snapshot, progress)
            except AdmiralError as error:
                problems = [str(error)]
        problems += trie_problems(snapshot.base, snapshot.manifest.base.digest)
        if problems and not snapshot.intact:
            raise AdmiralError(
                f"{path}: was replaced by another build while it was checked. Start again."
            )
    return problems


def file_problems(snapshot: Snapshot) -> list[str]:
    """Compare the files of a snapshot with its manifest; return one message per difference."""
    directory, manifest = snapshot.path, snapshot.manifest
    problems = []
    for name, entry in manifest.files.items():
        try:
            actual = describe_file(directory / name)
        except (FileNotFoundError, NotADirectoryError):
            problems.append(f"{directory / name}: missing")
            continue
        except OSError as error:
            raise AdmiralError(
                f"{error.filename}: cannot be read ({error.strerror}). Check the permissions."
            ) from error
        if actual.size != entry.size:
            problems.append(
                f"{directory / name}: {actual.size:,} bytes where the manifest says {entry.size:,}"
            )
        elif actual != entry:
            problems.append(f"{directory / name}: its contents were changed")
    # Files of older versions do not belong to this one, but are not a problem.
    ours = {directory / NAME, snapshot.base / FOLDER, *leftovers(directory, manifest)}
    ours.update(directory / name for name in manifest.files)
    ours.update((directory / GRAPH, *directory.glob(f".{GRAPH}.*")))
    for path in sorted(directory.rglob("*")):
        if not path.is_dir() and ours.isdisjoint((path, *path.parents)):
            problems.append(f"{path}: does not belong there")
    return problems


def _verify_contents(snapshot: Snapshot, progress: bool) -> list[str]:
    """Check the arrays and rows of files that match their checksums."""
    with closing(Contents(snapshot)) as contents:
        numbers = range(len(contents.segments))
        problems = [problem for number in numbers for problem in _array_problems(contents, number)]
        if not problems:
            problems = _verify_rows(snapshot, contents, progress)
        if snapshot.manifest.bm25 != NO_BM25:
            problems += _verify_bm25(snapshot)
    return problems


def _array_problems(contents: Contents, number: int) -> list[str]:
    segment, store = contents.segments[number], contents.stores[number]
    problems = []
    if store.rows[0] != 0 or (np.diff(store.rows) <= 0).any():
        problems.append(f"{segment.folder / DOCUMENTS / 'rows.npy'}: not ascending from 0")
    rows, keys = contents.indexes[number].permutations
    # If one array inverts the other, both are permutations.
    if int(keys.max()) >= len(rows) or not np.array_equal(rows[keys], np.arange(len(keys))):
        problems.append(f"{segment.folder}: the title arrays are not permutations of the rows")
    if (segment.folder / ALIASES).is_dir():  # knowledge bases built before 0.2.0 have none
        problems += filter(None, [AliasIndex(segment.folder).problem(segment.documents)])
    if (embeddings := contents.embeddings[number]) is not None:
        problems += filter(None, [embeddings.problem(segment.documents)])
    return problems


def _verify_rows(snapshot: Snapshot, contents: Contents, progress: bool) -> list[str]:
    """Check every document, then the counts in the manifest."""
    counts = Counter(dict.fromkeys(("documents", "sentences", "links"), 0))
    rows = (
        (number, row, document)
        for number, store in enumerate(contents.stores)
        for row, document in enumerate(store)
    )
    for number, row, document in track_documents(
        rows, "verifying", total=contents.rows, enabled=progress
    ):
        segment = contents.segments[number]
        if problem := _row_problem(contents, number, row, document):
            return [f"{segment.folder}: row {row}: {problem}"]
        if segment.first + row in contents:
            counts.update(document_counts(document))
    expected = snapshot.manifest.counts
    return [
        f"{snapshot.path}: {counts[name]} {name} where the manifest says {expected.get(name)}"
        for name in dict.fromkeys((*counts, *expected))
        if counts[name] != expected.get(name)
    ]


def _row_problem(contents: Contents, number: int, row: int, document: Document) -> str:
    """Return what is wrong with a row of a segment; "" if nothing."""
    titles, embeddings = contents.indexes[number], contents.embeddings[number]
    title = document.title
    if titles.row(title) != row or titles.title(row) != title:
        return f"the title {title!r} is indexed elsewhere"
    if document.id and titles.row_of_id(document.id) not in (row, None):
        return f"the id {document.id!r} is indexed elsewhere"
    if number and contents.row(title) != contents.segments[number].first + row:
        return f"the title {title!r} occurs in the base segment too"
    if not _is_clean(document):
        return "the document was not cleaned before it was stored"
    return "" if embeddings is None else embeddings.row_problem(row, document)


def _verify_bm25(snapshot: Snapshot) -> list[str]:
    """Check the size of the BM25 index, and open it if the backend can run here."""
    folder, expected = snapshot.bm25, snapshot.manifest.documents
    indexed = Passages.open(folder).documents
    if indexed != expected:
        return [f"{folder}: {indexed} documents indexed, but there are {expected}"]
    try:
        check_backend(snapshot.manifest.bm25)
    except AdmiralError as error:
        # Missing software is no problem of the knowledge base.
        logger.warning("%s: not opened: %s", folder, error)
        return []
    RowIndex(folder).close()
    return []


def _is_clean(document: Document) -> bool:
    try:
        return bool(document.title) and clean_document(document) == document and _fits(document)
    except ValueError:
        return False


def _fits(document: Document) -> bool:
    """Return whether the passages of a page lie in its text."""
    page = document.page
    length = len(document.text)
    return page is None or all(0 <= start < end <= length for start, end in page.passages)
