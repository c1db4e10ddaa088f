"""The passages of an index, numbered in the order of rows, and what else the backends share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FIELDS = ("title", "text")
PASSAGES = "passages.npy"
Entry = tuple[str, str]  # the fields of a passage
Scores = npt.NDArray[np.float32]


class Saturation(NamedTuple):
    """Parameters of BM25: term frequency saturation `k1` and length normalisation `b`."""

    k1: float = 0.6
    b: float = 0.4


DEFAULT = Saturation()


class Base(NamedTuple):
    """An index that is updated."""

    folder: Path
    kept: npt.NDArray[np.bool_]  # whether each of its passages is kept


class Passages:
    """The row and the first sentence of each passage of an index.

    `table`: the row of each passage, ascending, and its first sentence: int64, (2, passages).
    """

    def __init__(self, table: npt.NDArray[np.int64]) -> None:
        self.table = table
        self.rows, self._sentences = table

    @classmethod
    def open(cls, folder: Path) -> Passages:
        """Read the passages of an index."""
        return cls(np.asarray(np.load(folder / PASSAGES, mmap_mode="r")))

    def __len__(self) -> int:
        return len(self.rows)

    def span(self, row: int) -> range:
        """Return the numbers of the passages of a row."""
        return range(*self.rows.searchsorted([row, row + 1]).tolist())

    def located(self, hits: Sequence[tuple[int, float]]) -> list[tuple[int, int, float]]:
        """Return row, number in the row and score of passages with scores."""
        numbers = np.array([number for number, _ in hits], dtype=np.int64)
        rows = self.rows[numbers]
        within = numbers - self.rows.searchsorted(rows)
        scores = (score for _, score in hits)
        return list(zip(rows.tolist(), within.tolist(), scores, strict=True))

    def sentences(self, row: int) -> list[tuple[int, int | None]]:
        """Return the first sentence of each passage of a row and the end, None for the last."""
        span = self.span(row)
        starts = self._sentences[span.start : span.stop].tolist()
        return list(zip(starts, [*starts[1:], None], strict=True))
