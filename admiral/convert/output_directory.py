"""Output of a conversion: a directory written atomically, and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.models.checkpoint_sums import SUMS
from admiral.storage.atomic_directories import staging
from admiral.storage.atomic_files import as_os_errors

# What `hf_to_fairseq` writes. `fairseq_to_hf` lists its files in their checksums.
_FAIRSEQ_FILES = {
    "model.pt",
    "dict.txt",
    "dict.source.txt",
    "dict.target.txt",
    "encoder.json",
    "vocab.bpe",
    "tokenizer",
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """Summary of a conversion."""

    directory: Path
    n_parameters: int
    vocab_size: int
    # remarks for the user, such as tensors that were left out and values that were assumed
    notices: tuple[str, ...]


@contextmanager
def atomic_directory(target: Path, *, source: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty directory that replaces `target` when the block ends without an error.

    `source`: input of the conversion, which must not be inside `target`. Raises AdmiralError if
    `target` exists and `overwrite` is False or it holds other files, or the disk cannot be written.
    """
    target = Path(os.path.abspath(target))  # unlike resolve(), does not follow links
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise AdmiralError(f"{target}: exists and is not a directory. Name another output.")
    if source.resolve().is_relative_to(target.resolve()):
        raise AdmiralError(f"{target}: holds the input {source}. Name another output.")
    with staging(target, overwrite=overwrite, owned=_is_conversion) as fresh, as_os_errors():
        yield fresh


def _is_conversion(directory: Path) -> bool:
    names = {path.name for path in directory.iterdir()}
    if SUMS in names:
        lines = (directory / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
        listed = {line.partition("  ")[2] for line in lines}
        return "config.json" in listed and names <= {*listed, SUMS}
    return {"model.pt", "dict.txt"} <= names <= _FAIRSEQ_FILES
