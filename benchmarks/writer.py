"""What the fault injection knows of a writer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer.

    Attributes
    ----------
    prepare
        Puts into an empty folder what is there before.
    write
        Is interrupted; works on the folder.
    read
        Returns what a reader finds, as JSON; an error or a crash is a loss.
    between
        Whether a state that is neither the old nor the new one may be seen.
    optional
        Whether it may do without writing: what it keeps saves time only.
    stays
        A regular expression of what may be left behind, since it serves the next run.
    share
        It gets so many times fewer rounds, since it is slow.
    """

    name: str
    prepare: Callable[[Path], None]
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    between: Callable[[Any], bool] = lambda seen: False
    optional: bool = False
    stays: str = "nothing"
    share: int = 1

    @staticmethod
    def shown(path: str) -> str:
        """Return a path with its parts that are made by chance as stars."""
        return re.sub(r"[0-9a-f]{16,}|events\.out.*", "*", path)


def files_seen(folder: Path, names: Iterable[str]) -> list[str]:
    """Return checksums of whole files."""
    return [
        hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16]
        if (folder / name).exists()
        else ABSENT
        for name in names
    ]
