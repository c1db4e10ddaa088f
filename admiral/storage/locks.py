"""Locks that keep two processes from writing the same thing."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from admiral.errors import AdmiralError


def acquire(lock: FileLock, path: Path, doing: str) -> None:
    """Acquire the lock of what is written to `path`.

    Parameters
    ----------
    doing
        What another process that has it is doing.

    Raises
    ------
    AdmiralError
        If another process has it for longer than the lock's timeout.
    OSError
        If it cannot be made.
    """
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            # To FileLock a lock that cannot be made is a held one; this tells them apart.
            Path(lock.lock_file).touch()
            lock.acquire()
    except Timeout:
        raise AdmiralError(f"{path}: another process is {doing}. Wait for it to end") from None
