"""Write documents to disk: Arrow record batches compressed with zstd.

A batch holds at most BATCH_ROWS documents and about BATCH_BYTES bytes of text (more only if a
single document is larger), so reading one document decompresses little. ``rows.npy`` holds the
first row of each batch, followed by the number of documents.

Where documents were read from files, ``origins.arrow`` holds their sources, sections and offsets in
batches of the same rows; where they have ids, ``ids.arrow`` holds these, and where they are records
of a corpus, ``places.arrow`` holds its file and their lines. They are files of their own, so that
releases that do not know them open the knowledge base all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from admiral.records import Document

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
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("line", pa.int64(), nullable=False),
    ]
)
BATCH_ROWS = 256
BATCH_BYTES = 256 * 1024
_COMPRESSION_LEVEL = 9
FILE, ROWS = "documents.arrow", "rows.npy"
ORIGINS, IDS, PLACES = "origins.arrow", "ids.arrow", "places.arrow"
#: Files that exist only if some document has a value in one of their columns.
OPTIONAL_FILES = {ORIGINS: ORIGINS_SCHEMA, IDS: IDS_SCHEMA, PLACES: PLACES_SCHEMA}


class DocumentWriter:
    """Append documents to a new directory.

    It is a context manager: the files are complete when the block ends without an error.

    Parameters
    ----------
    directory
        Directory to create.

    Attributes
    ----------
    documents, sentences, links
        Numbers written so far.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.documents = self.sentences = self.links = 0
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
        self.documents += 1
        self.sentences += len(document.sentences)
        self.links += sum(map(len, document.links))
        return self.documents - 1

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            pa.array([getattr(document, field.name) for document in documents], field.type)
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
    return {"documents": 1, "sentences": len(document.sentences), "links": links}
