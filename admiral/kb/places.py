"""The path of a knowledge base as it was given, before anything is done there."""

from __future__ import annotations

import os
from pathlib import Path

from admiral.errors import AdmiralError


def kb_place(path: str | Path) -> Path:
    """Return the path of a knowledge base, relative where it was given so.

    Raises
    ------
    AdmiralError
        If it is empty, which a `Path` would take for the folder that one is in, or leads to a place
        whose name is not UTF-8, which Arrow and Java cannot open.
    """
    if not os.fspath(path):
        raise AdmiralError("the path of the knowledge base is empty. Name a directory.")
    place = os.path.realpath(path)
    try:
        place.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{place!r}: the path of a knowledge base must be UTF-8. Choose another name."
        ) from error
    return Path(path)
