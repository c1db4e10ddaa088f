"""Checks of the paths that a program is to write to, before it does anything else."""

from __future__ import annotations

import os
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.atomic_replace import replaceable


def check_place(output: Path) -> None:
    """Raise `AdmiralError` if a file cannot be put there, or behind the link that is there.

    That is where there is no directory to hold it, or something that is no regular file.
    """
    if output.is_dir():
        raise AdmiralError(f"{output}: is a directory. Name a file")
    if not replaceable(output).parent.is_dir():
        raise AdmiralError(f"{output}: its directory does not exist. Create it first")


def keep_apart(output: Path, *inputs: Path | None) -> None:
    """Raise `AdmiralError` if a file to be written is an input, or another output."""
    for path in inputs:
        if path is not None and _same(output, path):
            raise AdmiralError(
                f"{output}: is the input as well, or another output. Choose another output"
            )


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)
