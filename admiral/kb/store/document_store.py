"""Write documents to disk, and read them by row.

They are Arrow record batches compressed with zstd. A batch holds at most BATCH_ROWS documents and
about BATCH_BYTES bytes of text (more only if a
single document is larger), so reading one document decompresses little. ``rows.npy`` holds the
first row of each batch, followed by the number of documents.

Where documents were read from files, ``origins.arrow`` holds their sources, sections and offsets in
batches of the same rows; where they have ids, ``ids.arrow`` holds these, and where they are records
of a corpus, ``places.arrow`` holds its file and their lines; ``pages.arrow`` holds what sources are
in addition. They are files of their own, so that releases that do not know them open the knowledge
base all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.records import Document, Page
from admiral.storage.atomic_files import damaged_error
from trie.token_trie import open_array

SCHEMA = pa.schema(
    [
        pa.field("title", pa.string(), nullable=False),
        pa.field("sentences", pa.list_(pa.string()), nullable=False),
        pa.field("links", pa.list_(pa.list_(pa.string())), nullable=False),
    ]
)
ORIGINS_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("sections", pa.list_(pa.string()), nullable=False),
        pa.field("offsets", pa.list_(pa.int32()), nullable=False),
    ]
)
IDS_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])
PLACES_SCHEMA = pa.schema(
    [pa.field("file", pa.string(), nullable=False), pa.field("line", pa.int64(), nullable=False)]
)
_PAGE = pa.struct(
    [
        *(pa.field(n, pa.string()) for n in ("url", "name", "site", "date", "language")),
        pa.field("archive_url", pa.string()),
        pa.field("gaps", pa.list_(pa.string())),
        pa.field("passages", pa.list_(pa.int32())),  # start, end, start, end...
    ]
)
PAGES_SCHEMA = pa.schema([pa.field("page", _PAGE)])
BATCH_ROWS = 256
BATCH_BYTES = 256 * 1024
_COMPRESSION_LEVEL = 9
FILE, ROWS = "documents.arrow", "rows.npy"
ORIGINS, IDS, PLACES, PAGES = "origins.arrow", "ids.arrow", "places.arrow", "pages.arrow"
#: Files that exist only if some document has a value in one of their columns.
OPTIONAL_FILES = {
    ORIGINS: ORIGINS_SCHEMA,
    IDS: IDS_SCHEMA,
    PLACES: PLACES_SCHEMA,
    PAGES: PAGES_SCHEMA,
}


class DocumentWriter:
    """Append documents to a new directory.

    It is a context manager: the files are complete when the block ends without an error.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.counts = Counter(dict.fromkeys(("documents", "sentences", "links"), 0))
        self._directory = directory
        self._rows = [0]
        self._pending: list[Document] = []
        self._bytes = 0
        self._batches = _BatchFile(directory / FILE, SCHEMA)
        self._optional: dict[str, _BatchFile] = {}  # opened for the first document with a value

    def append(self, document: Document) -> int:
        """Add a document and return its row."""
        size = document_size(document)
        if self._pending and self._bytes + size > BATCH_BYTES:
            self._flush()
        self._pending.append(document)
        self._bytes += size
        if len(self._pending) == BATCH_ROWS:
            self._flush()
        self.counts.update(document_counts(document))
        return self.documents - 1

    @property
    def documents(self) -> int:
        """The number of documents so far."""
        return self.counts["documents"]

    def _flush(self) -> None:
        if not self._pending:
            return
        self._batches.write(self._pending)
        for name, schema in OPTIONAL_FILES.items():
            if name not in self._optional:
                if not any(getattr(d, field) for d in self._pending for field in schema.names):
                    continue
                self._optional[name] = _BatchFile(self._directory / name, schema)
                for first, end in pairwise(self._rows):
                    self._optional[name].write([Document("", ())] * (end - first))
            self._optional[name].write(self._pending)
        self._rows.append(self._rows[-1] + len(self._pending))
        self._pending, self._bytes = [], 0

    def __enter__(self) -> DocumentWriter:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self._flush()
        finally:
            with ExitStack() as closing:  # one that cannot be written must not keep others open
                for file in (self._batches, *self._optional.values()):
                    closing.callback(file.close, complete=error is None)
        if error is None:
            np.save(self._directory / ROWS, np.array(self._rows, np.int64), allow_pickle=False)


class _BatchFile:
    """An Arrow file whose columns are fields of documents."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(
            compression=pa.Codec("zstd", compression_level=_COMPRESSION_LEVEL), use_threads=False
        )
        self._schema = schema
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)

    def write(self, documents: Sequence[Document]) -> None:
        columns = [
            pa.array([_stored(getattr(document, field.name)) for document in documents], field.type)
            for field in self._schema
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self, *, complete: bool) -> None:
        try:
            if complete:
                self._writer.close()
        finally:
            self._sink.close()


def document_size(document: Document) -> int:
    """Return the approximate size of a document in bytes before compression."""
    return (
        len(document.title)
        + sum(len(sentence) + 8 for sentence in document.sentences)
        + sum(len(title) + 8 for row in document.links for title in row)
    )


def document_counts(document: Document) -> dict[str, int]:
    """Return what a document adds to the counts in the manifest."""
    links = sum(map(len, document.links))
    counts = {"documents": 1, "sentences": len(document.sentences), "links": links}
    if document.page is not None:
        counts["passages"] = len(document.page.passages)
        counts["empty"] = not document.sentences
    return counts


_CACHED_BATCHES, _CACHED_DOCUMENTS = 64, 256


class DocumentStore:
    """Documents of a directory by row; safe to share between threads.

    `DocumentWriter` wrote `directory`. Raises AdmiralError if the files cannot be read. Lookups
    raise it if a batch is damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        try:
            # Read rather than mapped: batches are decompressed anyway, and reading a file that was
            # cut off is an error instead of the end of the process.
            self._file = pa.input_stream(str(self._path), compression=None)
            options = pa.ipc.IpcReadOptions(use_threads=False)
            self._reader = pa.ipc.open_file(self._file, options=options)
            # A second view that decompresses the titles only.
            self._titles = pa.ipc.open_file(
                self._file, options=pa.ipc.IpcReadOptions(use_threads=False, included_fields=[0])
            )
            self._optional_files = {
                name: pa.input_stream(str(directory / name), compression=None)
                for name in OPTIONAL_FILES
                if (directory / name).exists()
            }
            self._optional = {name: self._open_optional(name) for name in self._optional_files}
            self._rows = open_array(directory / ROWS, mapped=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged_error(self._path, error) from error
        if not self._reader.schema.equals(SCHEMA):
            raise damaged_error(self._path, "unexpected columns")
        if self._rows.shape != (self.batches + 1,) or self._rows.dtype != np.int64:
            raise damaged_error(self._path, f"{ROWS} does not fit")
        for name, reader in self._optional.items():
            if reader.num_record_batches != self.batches:
                raise damaged_error(self._path, f"{name} does not fit")
        self._batch = lru_cache(_CACHED_BATCHES)(self._read_batch)
        self.document = lru_cache(_CACHED_DOCUMENTS)(self._read_document)

    @property
    def batches(self) -> int:
        """The number of record batches."""
        return int(self._reader.num_record_batches)

    @property
    def rows(self) -> np.ndarray:
        """First row of each batch, then the number of documents: int64, (batches + 1,)."""
        return self._rows

    def has(self, name: str) -> bool:
        """Return whether some document has a value in one of `OPTIONAL_FILES`."""
        return name in self._optional

    def __len__(self) -> int:
        return int(self._rows[-1])

    def _read_document(self, row: int) -> Document:
        """Return the document of a row; IndexError if there is no such row."""
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
        """Close the files."""
        self._batch.cache_clear()
        self.document.cache_clear()
        self._file.close()
        for opened in self._optional_files.values():
            opened.close()

    def _optional_texts(self, name: str) -> Iterator[str]:
        for number in range(self.batches):
            if name in self._optional:
                yield from self._checked(self._optional[name], number).column(0).to_pylist()
            else:
                yield from [""] * int(self._rows[number + 1] - self._rows[number])

    def _open_optional(self, name: str) -> pa.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(use_threads=False)
        reader = pa.ipc.open_file(self._optional_files[name], options=options)
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
            if self._file.closed:
                raise AdmiralError(
                    f"{self._path}: the knowledge base was closed. Open it again."
                ) from error
            raise damaged_error(self._path, error) from error
        if batch.num_rows != self._rows[number + 1] - self._rows[number]:
            raise damaged_error(self._path, f"batch {number} has {batch.num_rows} documents")
        return batch


def _document(batches: list[pa.RecordBatch], offset: int) -> Document:
    fields = {
        field.name: _value(column[offset].as_py())
        for batch in batches
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    return Document(**fields)


def _stored(value: Any) -> Any:
    """Return the value of a field of a document as Arrow takes it."""
    if isinstance(value, Page):
        fields = {name: getattr(value, name) for name in Page.__slots__}
        return {**fields, "passages": list(chain.from_iterable(value.passages))}
    return value


def _value(value: Any) -> Any:
    """Return the value of a field of a document: lists of Arrow are tuples."""
    if isinstance(value, dict):
        bounds = iter(value.pop("passages"))
        fields = {name: _value(each) for name, each in value.items()}
        return Page(**fields, passages=tuple(zip(bounds, bounds, strict=True)))
    if isinstance(value, list):
        return tuple(map(_value, value) if value and isinstance(value[0], list) else value)
    return value
