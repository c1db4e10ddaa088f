"""Check the paths of knowledge bases, and keep other output out of them."""

from __future__ import annotations

import os
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.store.member_manifests import find_join
from admiral.storage import is_bundled


def checked_kb_path(path: str | Path, noun: str = "knowledge base") -> Path:
    """Return the path of a knowledge base or a library; a relative path stays relative.

    Raises AdmiralError if the path is empty, which `Path` would take for the current folder, or its
    real path is not UTF-8, which Arrow and Java cannot open.
    """
    if not os.fspath(path):
        raise AdmiralError(f"the path of the {noun} is empty. Name a directory.")
    real_path = os.path.realpath(path)
    try:
        real_path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{real_path!r}: the path of a {noun} must be UTF-8. Choose another name."
        ) from error
    return Path(path)


def check_outside_folders(output: Path, *folders: str) -> None:
    """Raise `AdmiralError` if an output file would lie in a knowledge base or a checkpoint.

    `folders` are names or directories of the knowledge bases and checkpoints in use. The members of
    a joined knowledge base count too.
    """
    for name in folders:
        if is_bundled(name) or not os.path.isdir(name):
            continue
        folder = Path(name)
        join = find_join(folder)
        for directory in (folder, *(join.paths(folder) if join else ())):
            if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(directory)):
                raise AdmiralError(
                    f"{output}: lies in {directory}, which is read. Choose another output"
                )
