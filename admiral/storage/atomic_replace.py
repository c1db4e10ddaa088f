"""Files and directories that take the place of older ones at once, whatever fails."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from admiral.errors import AdmiralError

logger = logging.getLogger(__name__)

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write that takes the place, and the mode, of `path` when the block ends well.

    It is written beside it as ``NAME.new.partial``, forced to the disk and renamed. A link stays,
    and what it leads to is replaced. Whoever else writes the same `path` waits for it (where the
    file system has locks); what a killed writer left is taken up by the next one, so that there is
    one such file at most.

    Raises
    ------
    AdmiralError
        If something is there that is no regular file.
    OSError
        If that fails; the older file is untouched and the partial one gone.
    """
    path = replaceable(path)
    temporary = path.with_name(f"{path.name}.new.partial")
    with _locked(temporary) as file:
        try:
            yield file
            file.flush()
            _keep_mode(file, path)
            os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    sync_file(path.parent)


def replaceable(path: Path) -> Path:
    """Return where a file is that may take the place of `path`: behind all links.

    Raises
    ------
    AdmiralError
        If a directory, a device, a pipe or the like is there, or a link that leads to itself. A
        rename would put a file in its place.
    """
    target = Path(os.path.realpath(path))
    try:
        # Of `path` itself: a link of /proc, as /dev/stdout, leads to pipes that have no path. One
        # look at it: another writer may put the file there between two.
        regular = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return target
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        regular = False
    if regular:
        return target
    raise AdmiralError(f"{path}: is not a regular file. Name a file, or a place where nothing is")


def sync_file(path: Path) -> None:
    """Force a file, or the entries of a directory, such as a rename, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step; return False where the system has no way to do so.

    Raises
    ------
    OSError
        If that fails; both are then where they were.
    """
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # of Linux, with glibc 2.28 or newer
        return False
    names = os.fsencode(one), os.fsencode(other)
    if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _keep_mode(file: IO[bytes], path: Path) -> None:
    # Whoever could read the older file can read this one, whatever the umask is.
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode != stat.S_IMODE(os.fstat(file.fileno()).st_mode):
            os.fchmod(file.fileno(), mode)


def _locked(temporary: Path) -> IO[bytes]:
    """Open a file that no other process writes, and empty it."""
    while True:
        file = temporary.open("ab")  # what another one is writing is not cut off
        try:
            _lock(file, temporary)
            # Another writer may have given it its final name meanwhile, or removed it.
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
        logger.warning("%s: another process is writing it; waiting for it to end", temporary)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        pass  # no locks on this file system
