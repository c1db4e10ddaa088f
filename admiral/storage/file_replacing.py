"""Write files atomically: readers find the old file or the new one as a whole, whatever fails.

A file is written next to its final place as ``NAME.new.partial``, forced to the disk and renamed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

logger = logging.getLogger(__name__)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends without an error.

    A concurrent writer of the same `path` waits (if the file system supports locks), and overwrites
    the partial file of a killed one, so that at most one partial file exists.

    Parameters
    ----------
    path
        The file to replace; not a symbolic link. Its permissions are kept.

    Yields
    ------
    IO[bytes]
        The new file, empty and open for writing.

    Raises
    ------
    OSError
        If writing fails. The old file is unchanged and the partial file is removed.
    """
    temporary = partial_path(path)
    with _open_locked(temporary) as file, replacing_path(path):
        yield file
        file.flush()


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """Yield the path of a new file that replaces `path` when the block ends without an error.

    This is for libraries that open the file themselves; the caller keeps other writers away.

    Raises
    ------
    OSError
        If writing fails. The old file is unchanged and the partial file is removed.
    """
    temporary = partial_path(path)
    try:
        yield temporary
        _rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # Outside the `try`: by now, the partial file may be another writer's.
    sync_path(path.parent)


def partial_path(path: Path) -> Path:
    """Return the temporary name of a file while it is written."""
    return path.with_name(f"{path.name}.new.partial")


def publish_file(temporary: Path, path: Path) -> None:
    """Force a complete file to the disk and rename it to `path`, keeping the permissions there."""
    _rename(temporary, path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Force a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(temporary: Path, path: Path) -> None:
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        with suppress(FileNotFoundError):  # there is no old file
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode != stat.S_IMODE(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)


def _open_locked(temporary: Path) -> IO[bytes]:
    """Open a file that no other process is writing, and empty it."""
    while True:
        file = temporary.open("ab")  # does not truncate what another process is writing
        try:
            _lock(file, temporary)
            # Another writer may have renamed or removed the file before the lock was acquired.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(temporary)):
                file.truncate(0)
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes], temporary: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        logger.warning("%s: another process is writing it; waiting", temporary)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        pass  # the file system has no locks
