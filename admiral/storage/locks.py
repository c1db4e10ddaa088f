"""Locks that keep two processes from writing the same path."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from admiral.errors import AdmiralError


class WriterLock:
    """A lock file; a context manager.

    `path`: what the lock protects, for the error message. `activity`: what another process that
    holds the lock is doing, such as "writing this output".
    """

    def __init__(self, lock_file: Path, path: Path, activity: str, *, wait: bool = False) -> None:
        self._lock = FileLock(lock_file, timeout=-1 if wait else 0)
        self._lock_file, self._path, self._activity = lock_file, path, activity

    def acquire(self) -> None:
        """Acquire the lock.

        Raises AdmiralError if another process holds the lock and `wait` is False. Raises OSError if
        the lock file cannot be created.
        """
        try:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                # FileLock reports a lock file that it cannot create as held; `touch` raises.
                self._lock_file.touch()
                self._lock.acquire()
        except Timeout:
            raise AdmiralError(
                f"{self._path}: another process is {self._activity}. Wait for it to end"
            ) from None

    def release(self) -> None:
        """Release the lock and remove its file."""
        # Unlinked while it is held: FileLock does not acquire a lock on an unlinked file.
        with suppress(OSError):
            self._lock_file.unlink()
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
