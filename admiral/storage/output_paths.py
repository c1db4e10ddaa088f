"""Check the paths that a program will write to, before it does anything else."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from admiral.errors import AdmiralError

_PAGE_START = b"<!doctype html>"


def resolve_output_path(path: Path) -> Path:
    """Return the path of the file to write, with all symbolic links resolved.

    Raises AdmiralError if `path` is a directory, a device, a pipe or the like, or a link to itself:
    a rename would replace it by a file.
    """
    target = Path(os.path.realpath(path))
    try:
        # Of `path`, not `target`: a link in /proc, such as /dev/stdout, leads to a pipe without a
        # path. A single call, since another writer may create the file between two.
        is_regular = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return target
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        is_regular = False
    if is_regular:
        return target
    raise AdmiralError(f"{path}: is not a regular file. Name a file, or a path that does not exist")


def check_output_path(output: Path) -> None:
    """Raise `AdmiralError` unless `output` can be written as a file in an existing directory."""
    if str(output) == "-":
        raise AdmiralError("-: is standard output elsewhere, but a file is needed here. Name one")
    if output.is_dir():
        raise AdmiralError(f"{output}: is a directory. Name a file")
    if not resolve_output_path(output).parent.is_dir():
        raise AdmiralError(f"{output}: its directory does not exist. Create it first")


def check_page_path(output: Path) -> None:
    """Raise `AdmiralError` if an HTML page cannot be written or would replace another file."""
    check_output_path(output)
    if output.exists():
        with output.open("rb") as file:
            start = file.read(len(_PAGE_START))
        if start and start.lower() != _PAGE_START:
            raise AdmiralError(f"{output}: exists and is not an HTML page. Name another file")


def check_distinct_paths(output: Path, *others: Path | None) -> None:
    """Raise `AdmiralError` if an output file is also an input or another output."""
    for path in others:
        if path is not None and _same_file(output, path):
            raise AdmiralError(
                f"{output}: is the input as well, or another output. Choose another output"
            )


def _same_file(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return os.path.realpath(first) == os.path.realpath(second)
