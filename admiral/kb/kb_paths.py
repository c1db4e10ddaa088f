"""Paths of knowledge bases: checked as they are given, and kept free of other output."""

from __future__ import annotations

import os
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.bundled_names import is_bundled


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


def keep_out(output: Path, *folders: str) -> None:
    """Raise `AdmiralError` if a file to be written lies in a knowledge base or checkpoint.

    The members of a joined knowledge base count, too.
    """
    for folder in folders:
        if is_bundled(folder) or not os.path.isdir(folder):
            continue
        for place in (Path(folder), *_members(Path(folder))):
            if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(place)):
                raise AdmiralError(
                    f"{output}: lies in {place}, which is read. Choose another output"
                )


def _members(folder: Path) -> list[Path]:
    from admiral.kb.store.members import find_join

    join = find_join(folder)
    return join.paths(folder) if join else []
