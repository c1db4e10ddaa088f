"""Build and open BM25 indexes of titles and texts, with either of two backends.

``lucene`` is the default; ``bm25s`` needs no Java. Both use k1 = 0.6 and b = 0.4 (paper,
section 4) unless an index is built with others, Lucene's English analysis, and title and text as
separate fields. The weights of the fields apply when an index is searched;
`admiral.kb.bm25.analysis` has their defaults.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import MATCHING_FORM
from admiral.kb.bm25 import bm25s_index, lucene_index
from admiral.kb.bm25.analysis import (
    DEFAULT,
    K1,
    TEXT_WEIGHT,
    TITLE_WEIGHT,
    B,
    Entry,
    IndexSettings,
    PassageRecorder,
    RowIndex,
    Saturation,
    Text,
)


class _Backend(NamedTuple):
    check: Callable[[], None]  # raises `AdmiralError` unless it can run here
    check_updatable: Callable[[Path], None]
    build: Callable[[Iterable[Entry], Path, Saturation, int], None]
    open: Callable[..., RowIndex]


# One more is a line here and a choice of the setting `bm25` (`admiral.config`).
_BACKENDS = {
    lucene_index.BACKEND: _Backend(
        lambda: lucene_index.check_available(),
        lambda _: None,
        # It applies the parameters when it searches.
        lambda entries, folder, _, text_form: lucene_index.build(entries, folder, text_form),
        lucene_index.LuceneIndex,
    ),
    bm25s_index.BACKEND: _Backend(
        lambda: None,
        bm25s_index.check_updatable,
        bm25s_index.build,
        lambda directories, *, threads, **options: bm25s_index.Bm25sIndex(directories, **options),
    ),
}
BACKENDS = tuple(_BACKENDS)

__all__ = [
    "BACKENDS",
    "K1",
    "TEXT_WEIGHT",
    "TITLE_WEIGHT",
    "B",
    "RowIndex",
    "Saturation",
    "build_bm25",
    "check_backend",
    "check_updatable",
    "open_bm25",
]


def check_backend(backend: str) -> None:
    """Raise `AdmiralError`, naming the remedy, unless `backend` exists and can run here."""
    if backend not in _BACKENDS:
        raise AdmiralError(f"bm25={backend!r}: unknown. Choose one of {', '.join(BACKENDS)}.")
    _BACKENDS[backend].check()


def check_updatable(backend: str, directory: Path) -> None:
    """Raise `AdmiralError` unless the backend can run here and can update the index."""
    check_backend(backend)
    _BACKENDS[backend].check_updatable(directory)


def build_bm25(
    backend: str,
    documents: Iterable[tuple[str, Text]],
    directory: Path,
    *,
    progress: bool = False,
    saturation: Saturation = DEFAULT,
    text_form: int = MATCHING_FORM,
) -> None:
    """Build an index of documents; row ``i`` is the ``i``-th document.

    `documents`: (title, text) pairs, read once and in order. The text of a long document may be a
    list of passages, each with its first sentence: (0, text), (30, text)... `text_form`: form of
    the texts; an addition to an index needs that of the index. Raises AdmiralError if the backend
    cannot run here or the index cannot be written.
    """
    recorder = PassageRecorder(track_documents(documents, "indexing", enabled=progress))
    check_backend(backend)
    if directory.exists() and any(directory.iterdir()):
        raise AdmiralError(f"{directory}: is not empty. Choose a new folder for the BM25 index.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _BACKENDS[backend].build(recorder.entries(), directory, saturation, text_form)
        passages = recorder.passages
        count = passages.save(directory)
        settings = IndexSettings(backend, passages.documents, *saturation, count, text_form)
        settings.save(directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def open_bm25(
    backend: str,
    *directories: Path,
    removed: np.ndarray | None = None,
    title_weight: float = TITLE_WEIGHT,
    text_weight: float = TEXT_WEIGHT,
    threads: int = 0,
) -> RowIndex:
    """Open an index that `build_bm25` wrote, or several of them as one.

    - `directories`: at least one directory; the rows of each follow those of the previous one.
    - `removed`: removed rows, int64, ascending; None for none.
    - `title_weight`, `text_weight`: weights of the fields, zero or more, not both zero.
    - `threads`: number of processors that Java assumes, 0 for at most four. Both backends search in
      the thread of the caller.

    Raises AdmiralError if the backend cannot run here, or an index is missing, damaged or of
    another backend.
    """
    check_backend(backend)
    for directory in directories:
        written = IndexSettings.load(directory).backend
        if written != backend:
            raise AdmiralError(
                f"{directory}: the BM25 index is of {written}, not of {backend}. Open it with "
                f"`--bm25 {written}`, or build the knowledge base again with `--bm25 {backend}`."
            )
    removed = np.empty(0, dtype=np.int64) if removed is None else removed
    return _BACKENDS[backend].open(
        directories,
        removed=removed,
        threads=threads,
        title_weight=title_weight,
        text_weight=text_weight,
    )
