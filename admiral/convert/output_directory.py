"""Output of a conversion: a directory written atomically, and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.atomic_directories import staging
from admiral.storage.atomic_files import as_os_errors


@dataclass(frozen=True, slots=True)
class Conversion:
    """Summary of a conversion.

    Attributes
    ----------
    directory
        The directory that was written.
    n_parameters
        Number of parameters; tied ones count once.
    vocab_size
        Number of rows of the embedding.
    notices
        Remarks for the user, such as tensors that were left out and values that were assumed.
    """

    directory: Path
    n_parameters: int
    vocab_size: int
    notices: tuple[str, ...]


@contextmanager
def atomic_directory(target: Path, *, source: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty directory that replaces `target` when the block ends without an error.

    Parameters
    ----------
    target
        Directory to write.
    source
        Input of the conversion, which must not be inside `target`.
    overwrite
        Replace an existing `target` instead of raising an error.

    Raises
    ------
    AdmiralError
        If `target` exists and `overwrite` is False, or the disk cannot be written.
    """
    target = Path(os.path.abspath(target))  # unlike resolve(), does not follow links
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise AdmiralError(f"{target}: exists and is not a directory. Name another output.")
    if source.resolve().is_relative_to(target.resolve()):
        raise AdmiralError(f"{target}: holds the input {source}. Name another output.")
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise AdmiralError(f"{target}: exists. Name another output, or pass --overwrite.")
    with staging(target, overwrite=overwrite, owned=Path.is_dir) as fresh, as_os_errors():
        yield fresh
