"""Files of records in JSON Lines, which are dataclasses that pydantic checks, and parallel text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from admiral.errors import RecordError
from admiral.io.streams import json_objects
from admiral.records import json_of, read_record
from admiral.storage.atomic_files import encode_record, write_atomically

T = TypeVar("T")


def numbered_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the JSON object of each line; raise RecordError for one without."""
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        yield f"{path}:{number}", record


def read_records(path: Path, kind: type[T], remedy: str) -> Iterator[T]:
    """Yield the records of a file; raise RecordError for a bad one, with line and field."""
    for where, record in numbered_objects(path):
        yield read_record(kind, record, where, remedy)


def write_records(path: Path, items: Iterable[object]) -> int:
    """Write records to a file, which appears when it is complete, and return their number."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for item in items:
            count += 1
            yield encode_record(json_of(item))

    write_atomically(path, lines())
    return count


def write_parallel_text(directory: Path, split: str, pairs: Iterable[tuple[str, str]]) -> int:
    """Write inputs and outputs to ``<split>.source`` and ``<split>.target``, as fairseq reads them.

    Returns their number. A text with a line break, which would shift all lines after it, is a
    RecordError.
    """
    rows = list(pairs)
    directory.mkdir(parents=True, exist_ok=True)
    for at, side in enumerate(("source", "target")):
        path, lines = directory / f"{split}.{side}", []
        for number, row in enumerate(rows, start=1):
            if "\n" in row[at] or "\r" in row[at]:
                raise RecordError(f"{path}:{number}", side, "has a line break", "Remove it")
            lines.append(f"{row[at]}\n".encode())
        write_atomically(path, lines)
    return len(rows)
