"""The files of a segment of a library that a knowledge base does not have.

``sources/sources.arrow`` holds the metadata of the sources, ``sources/spans.npy`` the offsets of
all passages in the texts of their sources, and ``sources/starts.npy`` where those of each source
begin. Texts, canonical URLs (in place of titles), BM25 and vectors are stored as in a knowledge
base, with the source as the document; overlapping passages take no second copy of the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.library.source_records import Source
from trie.npy_files import open_array

SOURCES = "sources"
_TABLE, _SPANS, _STARTS = "sources.arrow", "spans.npy", "starts.npy"
_FIELDS = ("url", "title", "site", "date", "language", "archive_url")
_SCHEMA = pa.schema([pa.field(name, pa.string(), nullable=False) for name in _FIELDS])
_BATCH_ROWS = 4096

Spans = Sequence[tuple[int, int]]


class SourceTableWriter:
    """Append the metadata and the passages of sources to a new folder."""

    def __init__(self, segment: Path) -> None:
        self._folder = segment / SOURCES
        self._folder.mkdir()
        # Not compressed, so that one row can be read from the memory map.
        self._sink = pa.OSFile(str(self._folder / _TABLE), "wb")
        self._writer = pa.ipc.new_file(self._sink, _SCHEMA)
        self._pending: list[Source] = []
        self._spans, self._starts = array("i"), array("q", [0])
        self.sources = self.passages = 0

    def append(self, source: Source, spans: Spans) -> None:
        """Add a source and the offsets of its passages."""
        self._pending.append(source)
        for span in spans:
            self._spans.extend(span)
        self.sources += 1
        self.passages += len(spans)
        self._starts.append(self.passages)
        if len(self._pending) == _BATCH_ROWS:
            self._flush()

    def close(self, *, complete: bool) -> None:
        """Finish the files, or abandon them."""
        try:
            if complete:
                self._flush()
                self._writer.close()
        finally:
            self._sink.close()
        if complete:
            spans = np.frombuffer(self._spans, np.int32).reshape(-1, 2)
            np.save(self._folder / _SPANS, spans, allow_pickle=False)
            starts = np.frombuffer(self._starts, np.int64)
            np.save(self._folder / _STARTS, starts, allow_pickle=False)

    def _flush(self) -> None:
        columns = [
            pa.array([getattr(source, name) for source in self._pending], pa.string())
            for name in _FIELDS
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
        self._pending = []


class SourceTable:
    """The metadata and the passages of the sources of a segment, by row, memory-mapped.

    Raises AdmiralError if the files are damaged or do not fit together.
    """

    def __init__(self, segment: Path) -> None:
        self._folder = segment / SOURCES
        try:
            table = pa.ipc.open_file(pa.memory_map(str(self._folder / _TABLE))).read_all()
            # Otherwise Arrow would follow damaged offsets beyond the buffers.
            table.validate(full=True)
            spans, starts = open_array(self._folder / _SPANS), open_array(self._folder / _STARTS)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from error
        if not table.schema.equals(_SCHEMA):
            raise self._damaged("unexpected columns")
        self._columns = {name: table.column(name) for name in _FIELDS}
        # Plain views of the maps: reading an element of a memmap takes ten times as long.
        self._spans, self.starts = np.asarray(spans), np.asarray(starts)
        fits = spans.dtype == np.int32 and spans.shape[1:] == (2,) and starts.dtype == np.int64
        if not fits or starts.shape != (table.num_rows + 1,):
            raise self._damaged("its files do not fit together")
        if self.starts[0] != 0 or self.starts[-1] != len(spans) or (np.diff(starts) < 0).any():
            raise self._damaged(f"{_STARTS}: not ascending to the number of passages")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def passages(self) -> int:
        """The number of passages."""
        return len(self._spans)

    def source(self, row: int, text: str) -> Source:
        """Return the source of a row, whose text is stored elsewhere."""
        return Source(text=text, **{n: column[row].as_py() for n, column in self._columns.items()})

    def url_and_title(self, row: int) -> tuple[str, str]:
        """Return the URL, as given, and the title of a row."""
        return self._columns["url"][row].as_py(), self._columns["title"][row].as_py()

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the offsets of the passages of a row."""
        part = self._spans[self.starts[row] : self.starts[row + 1]]
        return [(start, end) for start, end in part.tolist()]

    def row_of_passage(self, passage: int) -> int:
        """Return the row of the source of a passage."""
        return int(np.searchsorted(self.starts, passage, side="right")) - 1

    def _damaged(self, reason: object) -> AdmiralError:
        return AdmiralError(
            f"{self._folder}: damaged ({reason}). Run `admiral library verify`, then build the "
            "library again with `admiral library build`."
        )
