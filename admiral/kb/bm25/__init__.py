"""BM25 over the titles and texts of a knowledge base: two backends behind one protocol.

``lucene`` is the default; ``bm25s`` is for where there can be no Java. Both use k1 = 0.6 and
b = 0.4 (paper, section 4), Lucene's English analysis, and title and text as separate fields whose
weights are chosen when the index is opened.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress_bar import track
from admiral.kb.bm25 import jvm, lucene, lucene_build, sparse, sparse_build
from admiral.kb.bm25.settings import K1, B, RowIndex, Settings, damaged

BACKENDS = (lucene.BACKEND, sparse.BACKEND)

__all__ = [
    "BACKENDS",
    "K1",
    "B",
    "RowIndex",
    "build_bm25",
    "check_backend",
    "check_updatable",
    "merge_bm25",
    "open_bm25",
]


def check_backend(backend: str) -> None:
    """Raise `AdmiralError`, naming the remedy, unless `backend` exists and can run here."""
    if backend == lucene.BACKEND:
        jvm.check_available()
    elif backend == sparse.BACKEND:
        sparse_build.check_available()
    else:
        raise AdmiralError(f"bm25={backend!r}: unknown. Choose one of {', '.join(BACKENDS)}.")


def check_updatable(backend: str, directory: Path) -> None:
    """Raise `AdmiralError` unless documents can be added to or removed from an index here."""
    check_backend(backend)
    if backend == sparse.BACKEND:
        sparse.check_updatable(directory)


def build_bm25(
    backend: str, documents: Iterable[tuple[str, str]], directory: Path, *, progress: bool = False
) -> None:
    """Index documents; row ``i`` is the ``i``-th document.

    Parameters
    ----------
    backend
        One of `BACKENDS`.
    documents
        (title, text) pairs, read once and in order.
    directory
        Made here; it must not exist or be empty. If anything fails it is removed again.
    progress
        Report progress on standard error.

    Raises
    ------
    AdmiralError
        If the backend cannot run here or the index cannot be written.
    """
    build = lucene_build.build if backend == lucene.BACKEND else sparse_build.build
    tracked = track(documents, "indexing", enabled=progress)
    _write(backend, directory, lambda: build(tracked, directory))


def merge_bm25(backend: str, parts: Sequence[Path], directory: Path) -> None:
    """Make one index of several, whose documents follow each other: rows count on.

    Statistics are those of all documents, so that scores are those of one index built of them
    (of bm25s to the last bit, but for a term that one document repeats more than 1,700 times).

    Parameters
    ----------
    backend
        The one that wrote them.
    parts
        Their directories, which `build_bm25` wrote.
    directory
        As in `build_bm25`.

    Raises
    ------
    AdmiralError
        If the backend cannot run here, an index is missing or damaged, or none can be written.
    """
    merge = lucene_build.merge if backend == lucene.BACKEND else sparse_build.merge
    expected = sum(Settings.load(part).documents for part in parts)

    def merged() -> int:
        count = merge(parts, directory)
        if count != expected:
            raise damaged(directory, f"{count} documents came of {expected}")
        return count

    _write(backend, directory, merged)


def _write(backend: str, directory: Path, work: Callable[[], int]) -> None:
    """Write an index by `work`, which returns its documents, into a new directory."""
    check_backend(backend)
    if directory.exists() and any(directory.iterdir()):
        raise AdmiralError(f"{directory}: is not empty. Choose a new folder for the BM25 index.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        Settings(backend=backend, documents=work()).save(directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def open_bm25(
    backend: str,
    *directories: Path,
    removed: np.ndarray | None = None,
    title_weight: float = 0.5,
    text_weight: float = 1.0,
    threads: int = 0,
) -> RowIndex:
    """Open an index that `build_bm25` wrote, or several of them as one.

    Parameters
    ----------
    backend
        The one that wrote them.
    directories
        Where they lie, at least one; the rows of each follow those of the one before.
    removed
        Rows that are not there, int64, ascending; None for none.
    title_weight, text_weight
        Weights of the fields, zero or more, not both zero. The defaults found the most gold
        documents of HoVer's development claims among 0 to 2 for the title.
    threads
        Processors that Java may count on, 0 for at most four; both backends search in the
        thread of the caller.

    Raises
    ------
    AdmiralError
        If the backend cannot run here, or an index is missing, damaged or another backend's.
    """
    check_backend(backend)
    for directory in directories:
        written = Settings.load(directory).backend
        if written != backend:
            raise AdmiralError(
                f"{directory}: the BM25 index is one of {written}, not of {backend}. Open it with "
                f"`--bm25 {written}`, or build the knowledge base again with `--bm25 {backend}`."
            )
    gone = np.empty(0, dtype=np.int64) if removed is None else removed
    weights = {"title_weight": title_weight, "text_weight": text_weight}
    if backend == lucene.BACKEND:
        return lucene.LuceneIndex(directories, removed=gone, threads=threads, **weights)
    return sparse.SparseIndex(directories, removed=gone, **weights)
