"""Parallel text for fairseq: ``<split>.source`` and ``<split>.target``, one sample per line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from admiral.errors import RecordError
from admiral.storage.atomic_files import write_atomically


def write_parallel_text(directory: Path, split: str, pairs: Iterable[tuple[str, str]]) -> int:
    """Write the inputs and outputs of a split, and return their number.

    A text with a line break, which would shift all lines after it, is a RecordError.
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
