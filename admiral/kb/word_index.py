"""The BM25 index of a version, by row.

    base/, delta/           indexes of the documents that were indexed together, and of later ones
    base.npy, delta.npy     the row of each of their documents
    removed.npy             positions of the documents that are gone

A change keeps the base, of which it makes links, and writes the rest anew. Once a tenth of the
documents have changed, it builds all anew.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from admiral.kb.bm25 import Saturation, build_bm25, open_bm25
from admiral.kb.bm25.analysis import DEFAULT, Text, common_text_form
from admiral.kb.store import damaged_error
from trie.token_trie import open_array

_LARGEST_DELTA = 0.1

#: Yields the row, the title and the text of the documents after a row.
Texts = Callable[[int], Iterator[tuple[int, str, Text]]]


def write_index(
    folder: Path,
    earlier: Path | None,
    rows: Sequence[int],
    texts: Texts,
    settings: Mapping[str, Any],
    progress: bool,
) -> None:
    """Write the index of the documents in `rows`, from an earlier one if there is one."""
    folder.mkdir()
    if earlier is not None and (earlier / "base.npy").exists():
        base = open_array(earlier / "base.npy", mapped=False)
        removed = np.flatnonzero(~np.isin(base, rows))
        later = len(rows) - (len(base) - len(removed))
        if later + len(removed) <= max(_LARGEST_DELTA * len(rows), 1000):
            _link(earlier / "base", folder / "base")
            np.save(folder / "base.npy", base, allow_pickle=False)
            np.save(folder / "removed.npy", removed, allow_pickle=False)
            if later:
                form = common_text_form([folder / "base"])
                _build(folder, "delta", texts(int(base[-1])), settings, progress, text_form=form)
            return
    _build(folder, "base", texts(-1), settings, progress)


def _build(
    folder: Path,
    name: str,
    texts: Iterator[tuple[int, str, Text]],
    settings: Mapping[str, Any],
    progress: bool,
    **options: int,
) -> None:
    rows: list[int] = []

    def pairs() -> Iterator[tuple[str, Text]]:
        for row, title, text in texts:
            rows.append(row)
            yield title, text

    saturation = Saturation(settings.get("k1", DEFAULT.k1), settings.get("b", DEFAULT.b))
    build_bm25(
        settings["bm25"],
        pairs(),
        folder / name,
        progress=progress,
        saturation=saturation,
        **options,
    )
    np.save(folder / f"{name}.npy", np.array(rows, np.int64), allow_pickle=False)


def _link(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target, copy_function=os.link)
    except (OSError, shutil.Error):  # the file system has no links
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)


class WordIndex:
    """An open index; passages are numbered as by `admiral.kb.bm25`."""

    def __init__(self, folder: Path, backend: str, **options: Any) -> None:
        try:
            names = [n for n in ("base", "delta") if (folder / f"{n}.npy").exists()]
            parts = [open_array(folder / f"{name}.npy", mapped=False) for name in names]
            self._rows = np.concatenate(parts)
            removed = folder / "removed.npy"
            gone = open_array(removed, mapped=False) if removed.exists() else None
        except (OSError, ValueError) as error:
            raise damaged_error(folder, error) from error
        self._index = open_bm25(
            backend, *(folder / name for name in names), removed=gone, **options
        )
        self.text_form = self._index.text_form
        self.document_frequencies = self._index.document_frequencies
        self.close = self._index.close

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._index.passages)

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query, best first."""
        found = self._index.search_rows(queries, k)
        return [[(int(self._rows[place]), score) for place, score in each] for each in found]

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, int, float]]]:
        """Return row, number and score of the top `k` passages for each query, best first.

        The number is the position among the passages of the document.
        """
        passages = self._index.passages
        found = []
        for each in self._index.search_passages(queries, k):
            places = passages.rows(np.array([number for number, _ in each], np.int64)).tolist()
            found.append(
                [
                    (int(self._rows[place]), number - passages.of_row(place).start, score)
                    for place, (number, score) in zip(places, each, strict=True)
                ]
            )
        return found

    def sentences(self, row: int) -> list[tuple[int, int | None]]:
        """Return the first sentence of each passage of a row and the end, None for the last."""
        return self._index.passages.sentences(self._place(row))

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[np.ndarray]:
        """Return the scores of the passages of each row."""
        return list(self._index.passage_scores(query, list(map(self._place, rows))))

    def _place(self, row: int) -> int:
        return int(self._rows.searchsorted(row))
