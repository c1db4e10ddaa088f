"""Notice when files that are open by memory map are cut off, before a read beyond their end.

Such a read would end the process (SIGBUS). Nothing of ours shortens a file in place, but a careless
copy or a full disk elsewhere may. Between two checks a few milliseconds remain.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from admiral.errors import AdmiralError

# A check asks for the sizes of some tens of files, which takes tens of microseconds.
_INTERVAL = 0.01  # seconds


class ChangedFileError(AdmiralError):
    """Error for a file that is no longer as it was when it was opened.

    Parameters
    ----------
    path
        The file.
    change
        How it differs.
    """

    def __init__(self, path: Path, change: str) -> None:
        self.path, self.change = path, change
        super().__init__(
            f"{path}: was cut off or replaced while it was open ({change}). Restore it, or build "
            "the knowledge base again with `admiral index`, and start again."
        )


class OpenedFiles:
    """The sizes and inodes of files when they were opened; safe to share between threads."""

    def __init__(self) -> None:
        self._states: dict[Path, _State] = {}
        self._next_check = 0.0
        self._changed: tuple[Path, str] | None = None

    def add(self, files: Iterable[Path]) -> None:
        """Remember files that were just opened; those that do not exist are left out."""
        for path in files:
            known, state = self._states.get(path), _state(path)
            if state is not None and (known is None or known.file != state.file):
                self._states[path] = state

    def check(self) -> None:
        """Raise `ChangedFileError` if a file has another size than when it was opened.

        From then on, every check raises it. Files that were removed, or whose place another file
        has taken, stay open as they were.
        """
        now = time.monotonic()
        if self._changed is None and now >= self._next_check:
            self._next_check = now + _INTERVAL
            for path, opened in list(self._states.items()):
                state = _state(path)
                if state is not None and state.file == opened.file and state != opened:
                    self.refuse(path, f"{state.size:,} bytes instead of {opened.size:,}")
        if self._changed is not None:
            raise ChangedFileError(*self._changed)

    def refuse(self, path: Path, change: str) -> None:
        """Make every check raise the error for a file."""
        self._changed = path, change

    def replaced(self) -> Path | None:
        """Return a file whose place another file has taken, if there is one."""
        for path, opened in list(self._states.items()):
            state = _state(path)
            if state is not None and state.file != opened.file:
                return path
        return None


class _State(NamedTuple):
    file: tuple[int, int]  # device and inode
    size: int


def _state(path: Path) -> _State | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _State((status.st_dev, status.st_ino), status.st_size)
