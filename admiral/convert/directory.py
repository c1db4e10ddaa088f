"""A directory that appears complete or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from admiral.errors import AdmiralError


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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        fresh, old = work / "new", work / "old"
        try:
            fresh.mkdir()
            yield fresh
            _flush(fresh)
            if target.exists():
                target.rename(old)
            try:
                fresh.rename(target)
            except OSError:
                if old.exists():
                    old.rename(target)
                raise
            _flush_one(target.parent)
        except OSError as error:
            raise _unwritable(target, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _flush(directory: Path) -> None:
    """Force every file of the tree to the disk, so that the rename cannot overtake them."""
    for path in [*directory.rglob("*"), directory]:
        _flush_one(path)


def _flush_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(target: Path, error: OSError) -> AdmiralError:
    reason = error.strerror or str(error)
    return AdmiralError(
        f"{target}: cannot be written ({reason}). Check the space and the permissions, "
        "or name another output."
    )
