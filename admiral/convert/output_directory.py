"""A converted directory that appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.atomic_directories import staging
from admiral.storage.atomic_files import library_errors


@contextmanager
def atomic_directory(target: Path, *, source: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty directory beside `target` that takes its name when the block ends well.

    Parameters
    ----------
    target
        The directory to make.
    source
        What the content is made from: it may not lie in `target`, which would take it along.
    overwrite
        Replace an existing `target`; otherwise it is an error, raised before any work.

    Raises
    ------
    AdmiralError
        Where `target` exists, or the disk cannot be written.
    """
    target = Path(os.path.abspath(target))  # resolve() would follow a link
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise AdmiralError(f"{target}: exists and is not a directory. Name another output.")
    if source.resolve().is_relative_to(target.resolve()):
        raise AdmiralError(f"{target}: holds the input {source}. Name another output.")
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise AdmiralError(f"{target}: exists. Name another output, or pass --overwrite.")
    with staging(target, overwrite=overwrite, owned=Path.is_dir) as fresh, library_errors():
        yield fresh
