"""A thorough check of a knowledge base: every checksum, every array, every row."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.build import NO_BM25
from admiral.kb.manifest import NAME, Manifest, describe_files, read_manifest
from admiral.kb.progress import track
from admiral.kb.store import DocumentStore
from admiral.kb.text import clean_document
from admiral.kb.titles import TitleIndex
from admiral.kb.tries import FOLDER, trie_problems
from admiral.records import Document

logger = logging.getLogger(__name__)


def verify(path: str | Path, *, progress: bool = False) -> list[str]:
    """Return what is wrong with a knowledge base, one message each; an empty list if nothing.

    Raises
    ------
    AdmiralError
        If there is no knowledge base there, or its manifest cannot be used.
    """
    directory = Path(path)
    manifest = read_manifest(directory)
    problems = _file_problems(directory, manifest)
    # Files that are not what was written may not be interpreted: a damaged index can crash its
    # library.
    if not problems:
        problems += _content_problems(directory, manifest, progress)
    if (directory / FOLDER).is_dir():
        for trie in sorted((directory / FOLDER).iterdir()):
            if not trie.name.startswith("."):
                problems += trie_problems(trie, manifest)
    return problems


def _file_problems(directory: Path, manifest: Manifest) -> list[str]:
    try:
        found = describe_files(directory)
    except OSError as error:
        raise AdmiralError(
            f"{error.filename}: cannot be read ({error.strerror}). Check the permissions."
        ) from error
    problems = []
    for name, entry in manifest.files.items():
        if name not in found:
            problems.append(f"{directory / name}: missing")
        elif found[name].size != entry.size:
            problems.append(
                f"{directory / name}: {found[name].size:,} bytes where the manifest says "
                f"{entry.size:,}"
            )
        elif found[name] != entry:
            problems.append(f"{directory / name}: its contents were changed")
    for name in found:
        ours = name == NAME or name.startswith(f"{FOLDER}/")
        if not ours and name not in manifest.files:
            problems.append(f"{directory / name}: does not belong there")
    return problems


def _content_problems(directory: Path, manifest: Manifest, progress: bool) -> list[str]:
    try:
        store = DocumentStore(directory / "documents")
        titles = TitleIndex(directory)
        try:
            problems = _array_problems(directory, store, titles, manifest)
            if not problems:
                problems = _row_problems(directory, store, titles, manifest, progress)
        finally:
            store.close()
        if manifest.bm25 != NO_BM25:
            problems += _bm25_problems(directory / "bm25", manifest)
    except AdmiralError as error:
        return [str(error)]
    return problems


def _bm25_problems(directory: Path, manifest: Manifest) -> list[str]:
    from admiral.kb.bm25 import check_backend, open_bm25
    from admiral.kb.bm25.settings import Settings

    indexed = Settings.load(directory).documents
    if indexed != manifest.documents:
        return [f"{directory}: {indexed} documents where there are {manifest.documents}"]
    try:
        check_backend(manifest.bm25)
    except AdmiralError as error:
        # A fault of this machine, not of the knowledge base.
        logger.warning("%s: not opened: %s", directory, error)
        return []
    open_bm25(manifest.bm25, directory).close()
    return []


def _array_problems(
    directory: Path, store: DocumentStore, titles: TitleIndex, manifest: Manifest
) -> list[str]:
    problems = []
    count = manifest.documents
    if len(store) != count or len(titles) != count:
        problems.append(
            f"{directory}: {len(store)} documents and {len(titles)} titles where the manifest says "
            f"{count}"
        )
    if store.rows[0] != 0 or (np.diff(store.rows) <= 0).any():
        problems.append(f"{directory / 'documents' / 'rows.npy'}: not ascending from 0")
    rows, keys = titles.permutations
    # Each undoes the other, which also says that both are permutations.
    if int(keys.max()) >= len(rows) or not np.array_equal(rows[keys], np.arange(len(keys))):
        problems.append(f"{directory}: the title arrays are not permutations of the rows")
    return problems


def _row_problems(
    directory: Path, store: DocumentStore, titles: TitleIndex, manifest: Manifest, progress: bool
) -> list[str]:
    counts = {"documents": 0, "sentences": 0, "links": 0}
    documents = track(store, "verifying", total=len(store), enabled=progress)
    for row, document in enumerate(documents):
        counts["documents"] += 1
        counts["sentences"] += len(document.sentences)
        counts["links"] += sum(map(len, document.links))
        if titles.row(document.title) != row or titles.title(row) != document.title:
            return [f"{directory}: row {row}: the title {document.title!r} is indexed elsewhere"]
        if not _clean(document):
            return [f"{directory}: row {row}: the document was not cleaned before it was stored"]
    return [
        f"{directory}: {counts[name]} {name} where the manifest says {manifest.counts.get(name)}"
        for name in counts
        if counts[name] != manifest.counts.get(name)
    ]


def _clean(document: Document) -> bool:
    try:
        return bool(document.title) and clean_document(document) == document
    except ValueError:
        return False
