"""BM25 indexes of titles and texts, with either of two backends.

``lucene`` is the default; ``bm25s`` needs no Java. Both use k1 = 0.6 and b = 0.4 (paper,
section 4) unless an index is built with others, Lucene's English analysis, and title and text as
separate fields. The score of a document is ``title_weight * BM25(title) + text_weight *
BM25(text)``, if it is long that of its best passage. Each field has its own document frequencies
and mean length, which count passages.

    bm25.json       backend, parameters, format, number of the commit; written last
    passages.npy    row and first sentence of each passage
    ...             files of the backend

A folder is written once and never changes: `build_bm25` and `update_bm25` write a new one, which
the caller then makes the current one. An updated index has the scores of one that is built anew.
"""

from __future__ import annotations

import math
import shutil
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Self

import numpy as np
from pydantic import BaseModel

from admiral.errors import AdmiralError
from admiral.kb.bm25 import bm25s_index, jvm, lucene_index
from admiral.kb.bm25.analysis import check_depth, clean_index_text, clean_query
from admiral.kb.bm25.bm25s_index import Bm25sIndex
from admiral.kb.bm25.lucene_index import LuceneIndex
from admiral.kb.bm25.passages import DEFAULT, PASSAGES, Base, Entry, Passages, Saturation, Scores

__all__ = ["BACKENDS", "Passages", "RowIndex", "Saturation", "Text"]

SETTINGS_FILE = "bm25.json"
#: Number of the analysis and of the files; an index with another is built again.
FORMAT = 3
# Among title weights from 0 to 2, 0.5 found the most gold documents of HoVer's development claims.
# `admiral.config.RetrievalConfig` has the same defaults.
TITLE_WEIGHT, TEXT_WEIGHT = 0.5, 1.0
# One more is a line each here and in `RowIndex`, and a choice of the setting `bm25`.
_WRITERS = {"lucene": lucene_index.write, "bm25s": bm25s_index.write}
BACKENDS = tuple(_WRITERS)

#: The text of a document, or the first sentence and the text of each of its passages.
Text = str | Sequence[tuple[int, str]]


class IndexSettings(BaseModel):
    """Contents of ``bm25.json``; a folder without it is not an index."""

    format: int
    backend: str
    k1: float
    b: float
    commit: int  # of the documents, as the caller numbers them

    @classmethod
    def load(cls, folder: Path) -> IndexSettings:
        """Read the file of an index."""
        with _explained(folder):
            settings = cls.model_validate_json((folder / SETTINGS_FILE).read_bytes())
            if settings.format != FORMAT:
                raise ValueError(f"its format is {settings.format}, not {FORMAT}")
        check_backend(settings.backend)
        return settings


class RowIndex:
    """An open index of documents, addressed by row.

    It is a context manager and belongs to the process that opened it. A query may be any string; a
    term that it repeats counts each time. `title_weight`, `text_weight`: zero or more, not both
    zero. `threads`: number of processors that Java assumes, 0 for at most four. Both backends
    search in the thread of the caller.
    """

    def __init__(
        self,
        folder: Path,
        *,
        title_weight: float = TITLE_WEIGHT,
        text_weight: float = TEXT_WEIGHT,
        threads: int = 0,
    ) -> None:
        settings = IndexSettings.load(folder)
        weights = {"title": title_weight, "text": text_weight}
        if not (all(0 <= w < math.inf for w in weights.values()) and any(weights.values())):
            raise AdmiralError(
                f"title_weight is {title_weight} and text_weight {text_weight}: they must be "
                "numbers, zero or more, and not both zero. Set them in the configuration."
            )
        positive = {name: weight for name, weight in weights.items() if weight}
        self._folder = folder
        self._backend: LuceneIndex | Bm25sIndex | None = None
        with _explained(folder):
            self._passages = Passages.open(folder)
            if settings.backend == "lucene":
                jvm.start(threads)
                saturation = Saturation(settings.k1, settings.b)
                self._backend = LuceneIndex(folder, len(self), saturation, positive)
            else:
                self._backend = Bm25sIndex(folder, len(self), positive)

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._passages)

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query, best first.

        Only documents that share a term with the query are returned. Ties are broken by row.
        """
        check_depth(k)
        return [self._top_rows(clean_query(query), k) for query in queries]

    def _top_rows(self, query: str, k: int) -> list[tuple[int, float]]:
        # Passages of one document may be among the hits: search deeper until k are found.
        depth = k
        while True:
            hits = self._open.top(query, depth)
            best: dict[int, float] = {}
            for row, _, score in self._passages.located(hits):
                best.setdefault(row, score)
            if len(best) >= k or len(hits) < depth:
                return list(best.items())[:k]
            depth *= 2

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, int, float]]]:
        """Return row, number and score of the top `k` passages for each query, best first.

        The number is the position among the passages of the document.
        """
        check_depth(k)
        return [self._passages.located(self._open.top(clean_query(q), k)) for q in queries]

    def sentences(self, row: int) -> list[tuple[int, int | None]]:
        """Return the first sentence of each passage of a row and the end, None for the last."""
        return self._passages.sentences(row)

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[Scores]:
        """Return the scores of the passages of each row, 0 for those without a term."""
        return self._open.scores(clean_query(query), list(map(self._passages.span, rows)))

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each index term."""
        return self._open.document_frequencies(terms)

    @property
    def _open(self) -> LuceneIndex | Bm25sIndex:
        if self._backend is None:
            raise AdmiralError(f"{self._folder}: the BM25 index was closed. Open it again.")
        return self._backend

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        if self._backend is not None:
            self._backend.close()
            self._backend = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_backend(backend: str) -> None:
    """Raise `AdmiralError`, naming the remedy, unless `backend` exists and can run here."""
    if backend not in BACKENDS:
        raise AdmiralError(f"bm25={backend!r}: unknown. Choose one of {', '.join(BACKENDS)}.")
    if backend == "lucene":
        jvm.check_available()


def build_bm25(
    backend: str,
    documents: Iterable[tuple[int, str, Text]],
    folder: Path,
    *,
    saturation: Saturation = DEFAULT,
    commit: int = 0,
) -> None:
    """Build an index of documents in a new folder.

    `documents`: row, title and text, read once, rows ascending. The text of a long document may be
    a list of passages, each with its first sentence: (0, text), (30, text)...
    """
    check_backend(backend)
    settings = IndexSettings(format=FORMAT, backend=backend, commit=commit, **saturation._asdict())
    _write(settings, documents, folder, None)


def update_bm25(
    old: Path,
    folder: Path,
    removed: Iterable[int],
    added: Iterable[tuple[int, str, Text]],
    *,
    commit: int = 0,
) -> None:
    """Write an index without the rows `removed` and with documents `added` into a new folder.

    The index in the folder `old` stays as it is. The rows of `added` follow those of the index.
    """
    settings = IndexSettings.load(old).model_copy(update={"commit": commit})
    with _explained(old):
        rows = Passages.open(old).rows
    _write(settings, added, folder, Base(old, ~np.isin(rows, np.fromiter(removed, np.int64))))


def _write(
    settings: IndexSettings,
    documents: Iterable[tuple[int, str, Text]],
    folder: Path,
    base: Base | None,
) -> None:
    rows, sentences = array("q"), array("q")

    def entries() -> Iterator[Entry]:
        for row, title, text in documents:
            title = clean_index_text(title)
            for sentence, passage in [(0, text)] if isinstance(text, str) else text:
                rows.append(row)
                sentences.append(sentence)
                yield title, clean_index_text(passage)

    if folder.exists() and any(folder.iterdir()):
        raise AdmiralError(f"{folder}: is not empty. Choose a new folder for the BM25 index.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        saturation = Saturation(settings.k1, settings.b)
        _WRITERS[settings.backend](folder, entries(), saturation, base)
        table = np.array([rows, sentences])
        if base is not None:
            table = np.hstack([Passages.open(base.folder).table[:, base.kept], table])
        np.save(folder / PASSAGES, table, allow_pickle=False)
        text = settings.model_dump_json(indent=2) + "\n"
        (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise AdmiralError(
                f"{folder}: the BM25 index cannot be written ({error}). "
                "Check the free space and the permissions."
            ) from error
        raise


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, RuntimeError, LookupError, TokenError) as error:
        if isinstance(error, AdmiralError):
            raise
        problem = " ".join(str(error).split())
        raise AdmiralError(
            f"{folder}: the BM25 index is damaged or of another version: {problem}. "
            "Index the corpora again with `admiral index --overwrite`."
        ) from error
