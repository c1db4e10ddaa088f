"""The lines of files of claims and of answers, which are read more than once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import numbered_lines


def record_lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) of every line that is not blank.

    Parameters
    ----------
    remedy
        What to do about a line that is too long.

    Raises
    ------
    RecordError
        For a line that is too long.
    AdmiralError
        If the file cannot be read, or only once, as a pipe.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        problem = "is a pipe or a device, which cannot be read more than once"
        raise AdmiralError(f"{path}: {problem}. Write what it gives to a file, and give that")
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise RecordError(item.where, item.field, item.problem, remedy)
        yield item
