"""Verify a knowledge base thoroughly: every checksum, every array and every row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_document
from admiral.kb.alias_index import FOLDER as ALIASES
from admiral.kb.alias_index import AliasIndex
from admiral.kb.bm25 import check_backend, open_bm25
from admiral.kb.bm25.passages import Passages
from admiral.kb.embeddings import StoredEmbeddings
from admiral.kb.joined import NAME as DUPLICATES
from admiral.kb.joined import find_duplicates
from admiral.kb.store.collection import Collection, Snapshot, read_with
from admiral.kb.store.contents import BM25, DOCUMENTS, GRAPH, REMOVED, Contents, read_removed
from admiral.kb.store.document_store import DocumentStore
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.manifest import KNOWLEDGE_BASE, NAME, CollectionKind
from admiral.kb.store.member_manifests import read_join
from admiral.kb.store.title_index import TitleIndex
from admiral.kb.store.title_tries import FOLDER, trie_problems
from admiral.kb.transaction import leftovers
from admiral.records import Document
from admiral.storage.checksums import describe_file

logger = logging.getLogger(__name__)


def verify(path: str | Path, *, progress: bool = False) -> list[str]:
    """Check a knowledge base, and all members of a joined one.

    The graph has a check of its own, `admiral.graph.graph_problems`. Return one message per
    problem; none if the knowledge base is intact. Raises AdmiralError if there is no knowledge
    base, or its manifest cannot be read.
    """
    directory = Path(path)
    join = read_join(directory)
    if join is None:
        return _verify_documents(directory, progress)
    problems = []
    for member in join.paths(directory):
        try:
            problems += _verify_documents(member, progress)
        except AdmiralError as error:
            problems.append(str(error))
    return problems or _verify_join(directory)


def _verify_documents(path: Path, progress: bool) -> list[str]:
    return snapshot_problems(path, lambda snapshot: _verify_contents(snapshot, progress))


def snapshot_problems(
    path: Path,
    content_problems: Callable[[Snapshot], list[str]],
    kind: CollectionKind = KNOWLEDGE_BASE,
) -> list[str]:
    """Check the files of a knowledge base or library that holds documents itself, then the rest.

    Damaged files are not opened, because a damaged index can crash its library.
    """
    with Snapshot.open(path, check=False, kind=kind) as snapshot:
        problems = file_problems(snapshot)
        if not problems:
            try:
                problems = content_problems(snapshot)
            except AdmiralError as error:
                problems = [str(error)]
        problems += trie_problems(snapshot.base, snapshot.manifest.base.digest)
        if problems and not snapshot.intact:
            raise AdmiralError(
                f"{path}: was replaced by another build while it was checked. Start again."
            )
    return problems


def _verify_join(path: Path) -> list[str]:
    ours = {NAME, DUPLICATES, *(f"{name}.new.partial" for name in (NAME, DUPLICATES)), FOLDER}
    ours.update(file.name for file in _graph_paths(path))
    foreign = sorted(file for file in path.iterdir() if file.name not in ours)
    problems = [f"{file}: does not belong there" for file in foreign]
    try:
        read_with(path, _check_duplicates)
    except AdmiralError as error:
        problems.append(str(error))
    # Tries may belong to other versions: those of the bases before a member was compacted.
    return problems + trie_problems(path, None)


def _check_duplicates(collection: Collection) -> None:
    with closing(Contents(collection.snapshots)) as contents:
        find_duplicates(collection, contents)


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
    ours.update(_graph_paths(directory))
    for path in sorted(directory.rglob("*")):
        if not path.is_dir() and ours.isdisjoint((path, *path.parents)):
            problems.append(f"{path}: does not belong there")
    return problems


def _graph_paths(directory: Path) -> list[Path]:
    return [directory / GRAPH, *directory.glob(f".{GRAPH}.*")]


def _verify_contents(snapshot: Snapshot, progress: bool) -> list[str]:
    """Check the arrays and rows of files that match their checksums."""
    base, delta = snapshot.manifest.base, snapshot.manifest.delta
    removed = np.empty(0, dtype=np.int64)
    if snapshot.delta is not None and delta and delta.removed:
        removed = read_removed(snapshot.delta / REMOVED, base.documents)
    if delta and len(removed) != delta.removed:
        return [
            f"{snapshot.delta}: {len(removed)} removed rows where the manifest says {delta.removed}"
        ]
    removed_rows = set(removed.tolist())
    embeddings = snapshot.embeddings(base.path)
    segments = [_SegmentCheck(snapshot.base, base.documents, removed_rows, embeddings)]
    try:
        if snapshot.delta is not None and delta and delta.documents:
            embeddings = snapshot.embeddings(delta.path)
            segments.append(_SegmentCheck(snapshot.delta, delta.documents, set(), embeddings))
        problems = [problem for segment in segments for problem in segment.array_problems()]
        if not problems:
            problems = _verify_rows(snapshot, segments, progress)
    finally:
        for segment in segments:
            segment.store.close()
    if snapshot.manifest.bm25 != NO_BM25:
        problems += _verify_bm25(snapshot, segments, removed)
    return problems


class _SegmentCheck:
    """Documents, titles and embeddings of one segment."""

    def __init__(
        self, directory: Path, documents: int, removed: set[int], embeddings: Path | None
    ) -> None:
        self.directory, self.documents, self.removed = directory, documents, removed
        self.store, self.titles = DocumentStore(directory / DOCUMENTS), TitleIndex(directory)
        self.embeddings = StoredEmbeddings(embeddings) if embeddings else None

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
        # If one array inverts the other, both are permutations.
        if int(keys.max()) >= len(rows) or not np.array_equal(rows[keys], np.arange(len(keys))):
            problems.append(f"{self.directory}: the title arrays are not permutations of the rows")
        if (self.directory / ALIASES).is_dir():  # knowledge bases built before 0.2.0 have none
            problems += filter(None, [AliasIndex(self.directory).problem(self.documents)])
        if self.embeddings is not None:
            problems += filter(None, [self.embeddings.problem(self.documents)])
        return problems

    def row_problem(self, row: int, document: Document) -> str:
        title = document.title
        if self.titles.row(title) != row or self.titles.title(row) != title:
            return f"{self.directory}: row {row}: the title {title!r} is indexed elsewhere"
        if not _is_clean(document):
            return f"{self.directory}: row {row}: the document was not cleaned before it was stored"
        return "" if self.embeddings is None else self.embeddings.row_problem(row, document)

    def has_title(self, title: str) -> bool:
        """Return whether the segment has a document of this title that is not removed."""
        row = self.titles.row(title)
        return row is not None and row not in self.removed


def _verify_rows(snapshot: Snapshot, segments: list[_SegmentCheck], progress: bool) -> list[str]:
    """Check every document, then the counts in the manifest."""
    counts = dict.fromkeys(("documents", "sentences", "links"), 0)
    total = sum(segment.documents for segment in segments)
    rows = ((s, row, document) for s in segments for row, document in enumerate(s.store))
    for segment, row, document in track_documents(rows, "verifying", total=total, enabled=progress):
        if problem := segment.row_problem(row, document):
            return [problem]
        if row in segment.removed:
            continue
        if segment is not segments[0] and segments[0].has_title(document.title):
            return [
                f"{segment.directory}: row {row}: the title {document.title!r} occurs in the base "
                "segment too"
            ]
        counts["documents"] += 1
        counts["sentences"] += len(document.sentences)
        counts["links"] += sum(map(len, document.links))
    expected = snapshot.manifest.counts
    return [
        f"{snapshot.path}: {counts[name]} {name} where the manifest says {expected.get(name)}"
        for name in counts
        if counts[name] != expected.get(name)
    ]


def _verify_bm25(
    snapshot: Snapshot, segments: list[_SegmentCheck], removed: np.ndarray
) -> list[str]:
    """Check the sizes of the BM25 indexes, and open them if the backend can run here."""
    folders = [segment.directory / BM25 for segment in segments]
    for segment, folder in zip(segments, folders, strict=True):
        indexed = Passages.open(folder).documents
        if indexed != segment.documents:
            return [f"{folder}: {indexed} documents indexed, but there are {segment.documents}"]
    try:
        check_backend(snapshot.manifest.bm25)
    except AdmiralError as error:
        # Missing software is no problem of the knowledge base.
        logger.warning("%s: not opened: %s", folders[0], error)
        return []
    open_bm25(snapshot.manifest.bm25, *folders, removed=removed).close()
    return []


def _is_clean(document: Document) -> bool:
    try:
        return bool(document.title) and clean_document(document) == document
    except ValueError:
        return False
