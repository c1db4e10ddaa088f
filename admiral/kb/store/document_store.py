"""Read documents from disk by row, through a memory map; `document_writer` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.kb.store.document_writer import FILE, ORIGINS, ORIGINS_SCHEMA, ROWS, SCHEMA
from admiral.records import SECTION_SEPARATOR, Document
from trie.index.npy_files import open_array

_CACHED_BATCHES = 64


class DocumentStore:
    """Documents of a directory by row; safe to share between threads.

    Parameters
    ----------
    directory
        Directory that `DocumentWriter` wrote.

    Raises
    ------
    AdmiralError
        If the files cannot be read. Lookups raise it if a batch is damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        try:
            self._map = pa.memory_map(str(self._path))
            options = pa.ipc.IpcReadOptions(use_threads=False)
            self._reader = pa.ipc.open_file(self._map, options=options)
            # A second view that decompresses the titles only.
            self._titles = pa.ipc.open_file(
                self._map, options=pa.ipc.IpcReadOptions(use_threads=False, included_fields=[0])
            )
            self._origins = self._open_origins(directory / ORIGINS)
            self._rows = open_array(directory / ROWS)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from error
        if not self._reader.schema.equals(SCHEMA):
            raise self._damaged("unexpected columns")
        if self._rows.shape != (self.batches + 1,) or self._rows.dtype != np.int64:
            raise self._damaged(f"{ROWS} does not fit")
        if self._origins and self._origins.num_record_batches != self.batches:
            raise self._damaged(f"{ORIGINS} does not fit")
        self._batch = lru_cache(_CACHED_BATCHES)(self._read_batch)

    @property
    def batches(self) -> int:
        """The number of record batches."""
        return int(self._reader.num_record_batches)

    @property
    def rows(self) -> np.ndarray:
        """First row of each batch, then the number of documents: int64, (batches + 1,)."""
        return self._rows

    @property
    def has_origins(self) -> bool:
        """Whether documents were read from files, and have sources."""
        return self._origins is not None

    def __len__(self) -> int:
        return int(self._rows[-1])

    def document(self, row: int) -> Document:
        """Return the document of a row.

        Raises
        ------
        IndexError
            If there is no such row.
        """
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        number = int(np.searchsorted(self._rows, row, side="right")) - 1
        return _document(*self._batch(number), row - int(self._rows[number]))

    def titles(self) -> Iterator[str]:
        """Yield the titles in the order of rows without decompressing sentences or links."""
        for number in range(self.batches):
            yield from self._checked(self._titles, number).column(0).to_pylist()

    def sources(self) -> Iterator[str]:
        """Yield the sources in the order of rows; "" where a document is not of a file."""
        for number in range(self.batches):
            if self._origins is None:
                yield from [""] * int(self._rows[number + 1] - self._rows[number])
            else:
                yield from self._checked(self._origins, number).column(0).to_pylist()

    def __iter__(self) -> Iterator[Document]:
        return self._documents(0, self.batches)

    def texts(self, first: int, end: int) -> Iterator[tuple[str, str]]:
        """Yield the title and text of each document of batches `first` to `end` for indexing.

        The text begins with the headings of the document, since none of its sentences has them.
        """
        for document in self._documents(first, end):
            headings = dict.fromkeys(
                heading
                for section in dict.fromkeys(document.sections)
                for heading in section.split(SECTION_SEPARATOR)
                if heading
            )
            yield document.title, " ".join((*headings, *document.sentences))

    def close(self) -> None:
        """Release the memory maps."""
        self._batch.cache_clear()
        self._map.close()
        if self._origins_map is not None:
            self._origins_map.close()

    def _documents(self, first: int, end: int) -> Iterator[Document]:
        for number in range(first, end):
            batch, origins = self._read_batch(number)
            for offset in range(batch.num_rows):
                yield _document(batch, origins, offset)

    def _open_origins(self, path: Path) -> pa.RecordBatchFileReader | None:
        self._origins_map = pa.memory_map(str(path)) if path.exists() else None
        if self._origins_map is None:
            return None
        options = pa.ipc.IpcReadOptions(use_threads=False)
        reader = pa.ipc.open_file(self._origins_map, options=options)
        if not reader.schema.equals(ORIGINS_SCHEMA):
            raise ValueError(f"unexpected columns in {ORIGINS}")
        return reader

    def _read_batch(self, number: int) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        origins = None if self._origins is None else self._checked(self._origins, number)
        return self._checked(self._reader, number), origins

    def _checked(self, reader: pa.RecordBatchFileReader, number: int) -> pa.RecordBatch:
        try:
            batch = reader.get_batch(number)
            # Otherwise Arrow would follow damaged offsets beyond the buffer.
            batch.validate(full=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            if self._map.closed:
                raise AdmiralError(
                    f"{self._path}: the knowledge base was closed. Open it again."
                ) from error
            raise self._damaged(error) from error
        if batch.num_rows != self._rows[number + 1] - self._rows[number]:
            raise self._damaged(f"batch {number} has {batch.num_rows} documents")
        return batch

    def _damaged(self, reason: object) -> AdmiralError:
        return AdmiralError(
            f"{self._path}: damaged ({reason}). Run `admiral verify`, then build the knowledge "
            "base again with `admiral index`."
        )


def _document(batch: pa.RecordBatch, origins: pa.RecordBatch | None, offset: int) -> Document:
    document = Document(
        batch.column(0)[offset].as_py(),
        tuple(batch.column(1)[offset].as_py()),
        tuple(map(tuple, batch.column(2)[offset].as_py())),
    )
    if origins is None:
        return document
    return replace(
        document,
        source=origins.column(0)[offset].as_py(),
        sections=tuple(origins.column(1)[offset].as_py()),
        offsets=tuple(origins.column(2)[offset].as_py()),
    )
