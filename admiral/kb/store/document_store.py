"""Read documents from disk by row, through a memory map; `document_writer` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.kb.store.document_writer import FILE, IDS, OPTIONAL_FILES, ORIGINS, ROWS, SCHEMA
from admiral.records import Document
from trie.npy_files import open_array

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
            self._optional_maps = {
                name: pa.memory_map(str(directory / name))
                for name in OPTIONAL_FILES
                if (directory / name).exists()
            }
            self._optional = {name: self._open_optional(name) for name in self._optional_maps}
            self._rows = open_array(directory / ROWS)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from error
        if not self._reader.schema.equals(SCHEMA):
            raise self._damaged("unexpected columns")
        if self._rows.shape != (self.batches + 1,) or self._rows.dtype != np.int64:
            raise self._damaged(f"{ROWS} does not fit")
        for name, reader in self._optional.items():
            if reader.num_record_batches != self.batches:
                raise self._damaged(f"{name} does not fit")
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
        """Whether documents have sources, sections and offsets in files, or ids."""
        return ORIGINS in self._optional or IDS in self._optional

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
        return _document(self._batch(number), row - int(self._rows[number]))

    def titles(self) -> Iterator[str]:
        """Yield the titles in the order of rows without decompressing sentences or links."""
        for number in range(self.batches):
            yield from self._checked(self._titles, number).column(0).to_pylist()

    def sources(self) -> Iterator[str]:
        """Yield the sources in the order of rows; "" where a document is not of a file."""
        return self._optional_texts(ORIGINS)

    def ids(self) -> Iterator[str]:
        """Yield the ids in the order of rows; "" where a document has none."""
        return self._optional_texts(IDS)

    def __iter__(self) -> Iterator[Document]:
        for number in range(self.batches):
            batches = self._read_batch(number)
            for offset in range(batches[0].num_rows):
                yield _document(batches, offset)

    def close(self) -> None:
        """Release the memory maps."""
        self._batch.cache_clear()
        self._map.close()
        for opened in self._optional_maps.values():
            opened.close()

    def _optional_texts(self, name: str) -> Iterator[str]:
        """Yield the first column of an optional file."""
        for number in range(self.batches):
            if name in self._optional:
                yield from self._checked(self._optional[name], number).column(0).to_pylist()
            else:
                yield from [""] * int(self._rows[number + 1] - self._rows[number])

    def _open_optional(self, name: str) -> pa.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(use_threads=False)
        reader = pa.ipc.open_file(self._optional_maps[name], options=options)
        if not reader.schema.equals(OPTIONAL_FILES[name]):
            raise ValueError(f"unexpected columns in {name}")
        return reader

    def _read_batch(self, number: int) -> list[pa.RecordBatch]:
        """Return one batch of rows: of the documents, then of each optional file."""
        readers = [self._reader, *self._optional.values()]
        return [self._checked(reader, number) for reader in readers]

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


def _document(batches: list[pa.RecordBatch], offset: int) -> Document:
    fields = {
        field.name: _value(column[offset].as_py())
        for batch in batches
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    return Document(**fields)


def _value(value: Any) -> Any:
    """Return the value of a field of a document: lists of Arrow are tuples."""
    return tuple(map(_value, value)) if isinstance(value, list) else value
