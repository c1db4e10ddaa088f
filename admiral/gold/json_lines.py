"""Lines of a JSON Lines file that is read more than once (gold claims, results)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import numbered_lines


def record_lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for every line that is not blank.

    Raises RecordError for a line that is too long. Raises AdmiralError if the file cannot be read,
    or can be read only once (a pipe or a device).
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        problem = "is a pipe or a device, which cannot be read more than once"
        raise AdmiralError(f"{path}: {problem}. Write its content to a file, and give that file")
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise RecordError(item.where, item.field, item.problem, remedy)
        yield item
