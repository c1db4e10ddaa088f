"""Sources and passages of an open snapshot of a library, by row and by number.

The rows of a library are those of its base segment, then those of its delta segment. Its passages
are numbered in the same order, including those of removed sources.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.store.collection import Snapshot
from admiral.kb.store.contents import Contents
from admiral.kb.store.manifest import CollectionKind, is_collection
from admiral.library.segment_files import SOURCES, SourceTable
from admiral.library.source_records import Passage, Source

LIBRARY = CollectionKind(
    "admiral-library", "library", "admiral library build SOURCES --library PATH", (SOURCES,)
)


def is_library(directory: Path) -> bool:
    """Return whether a directory holds a library, of any version and in any state."""
    return is_collection(directory, LIBRARY)


def checked_library_path(path: str | Path) -> Path:
    """Return the absolute path of a library, so that it stays the same if the process moves.

    Raises AdmiralError if the path is empty, which `Path` would take for the current folder, or is
    not UTF-8, which Arrow cannot open.
    """
    if not os.fspath(path):
        raise AdmiralError("the path of the library is empty. Name a directory.")
    try:
        os.path.realpath(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{str(path)!r}: the path of a library must be UTF-8. Choose another name."
        ) from error
    return Path(path).absolute()


class LibraryContents:
    """Sources and passages of a library.

    `firsts`: number of the first passage of each segment, and of all passages. Raises AdmiralError
    if files are damaged or do not fit together.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.contents = Contents([snapshot])
        try:
            self.tables = [SourceTable(s.folder) for s in self.contents.segments]
            for segment, table in zip(self.contents.segments, self.tables, strict=True):
                if len(table) != segment.documents:
                    raise AdmiralError(
                        f"{segment.folder}: its files do not hold the same sources. "
                        f"{LIBRARY.rebuild}"
                    )
        except BaseException:
            self.contents.close()
            raise
        sizes = [table.passages for table in self.tables]
        self.firsts = np.cumsum([0, *sizes]).tolist()

    def row(self, canonical_url: str) -> int | None:
        """Return the row of a source, or None."""
        return self.contents.row(canonical_url)

    def source(self, row: int) -> Source:
        """Return the source of a row."""
        table, offset = self._table(row)
        return table.source(offset, self.text(row))

    def sources(self) -> Iterator[Source]:
        """Yield all sources in the order of rows."""
        for row in self.contents.live_rows().tolist():
            yield self.source(row)

    def text(self, row: int) -> str:
        """Return the text of the source of a row."""
        (text,) = self.contents.document(row).sentences
        return text

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the offsets of the passages of a row."""
        table, offset = self._table(row)
        return table.spans(offset)

    def passages(self, row: int) -> tuple[Passage, ...]:
        """Return the passages of the source of a row."""
        table, offset = self._table(row)
        (url, title), text = table.url_and_title(offset), self.text(row)
        return tuple(
            Passage(url, title, number, start, end, text[start:end])
            for number, (start, end) in enumerate(table.spans(offset))
        )

    def passage(self, number: int) -> Passage:
        """Return the passage of a number."""
        segment = bisect_right(self.firsts, number) - 1
        offset = number - self.firsts[segment]
        table = self.tables[segment]
        row = table.row_of_passage(offset)
        url, title = table.url_and_title(row)
        within = offset - int(table.starts[row])
        start, end = table.spans(row)[within]
        text = self.text(self.contents.segments[segment].first + row)
        return Passage(url, title, within, start, end, text[start:end])

    def passage_numbers(self, row: int) -> range:
        """Return the numbers of the passages of a row, which may have been removed."""
        segment = self._segment(row)
        offset = row - self.contents.segments[segment].first
        first, end = self.tables[segment].starts[offset : offset + 2].tolist()
        return range(self.firsts[segment] + first, self.firsts[segment] + end)

    def removed_passages(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the passages of removed sources, ascending."""
        spans = [np.empty(0, np.int64)]
        for row in self.contents.removed.tolist():
            numbers = self.passage_numbers(row)
            spans.append(np.arange(numbers.start, numbers.stop))
        return np.concatenate(spans)

    def close(self) -> None:
        """Release the memory maps."""
        self.contents.close()

    def _segment(self, row: int) -> int:
        return bisect_right([segment.first for segment in self.contents.segments], row) - 1

    def _table(self, row: int) -> tuple[SourceTable, int]:
        """Return the table of the segment that holds a row, and the row within it."""
        segment = self._segment(row)
        return self.tables[segment], row - self.contents.segments[segment].first
