"""What tells the manifest of a library from that of a knowledge base."""

from __future__ import annotations

import os
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.store.manifest import is_collection
from admiral.kb.store.manifest_records import CollectionKind
from admiral.library.segment_files import SOURCES

LIBRARY = CollectionKind(
    "admiral-library", "library", "admiral library build SOURCES --library PATH", (SOURCES,)
)


def is_library(directory: Path) -> bool:
    """Return whether a directory holds a library, of any version and in any state."""
    return is_collection(directory, LIBRARY)


def checked_library_path(path: str | Path) -> Path:
    """Return the absolute path of a library, so that it stays the same if the process moves.

    Raises
    ------
    AdmiralError
        If the path is empty, which `Path` would take for the current folder, or is not UTF-8, which
        Arrow cannot open.
    """
    if not os.fspath(path):
        raise AdmiralError("the path of the library is empty. Name a directory.")
    try:
        os.path.realpath(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{str(path)!r}: the path of a library must be UTF-8. Choose another name."
        ) from error
    return Path(path).absolute()
