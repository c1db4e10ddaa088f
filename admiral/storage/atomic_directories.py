"""Write directories atomically: readers find the old directory or the new one as a whole.

A directory is written next to its final place, forced to the disk and renamed. If there is an old
directory, the two are swapped in one step where the system supports it; elsewhere, readers find no
directory between two renames. The next writer removes what an interrupted one left behind, and
restores an old directory that was already moved away. A lock file keeps other writers out.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import WriterLock, sync_path

logger = logging.getLogger(__name__)

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux's <fcntl.h> and <stdio.h>
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@contextmanager
def staging(
    target: Path, *, overwrite: bool, owned: Callable[[Path], bool], wait: bool = False
) -> Iterator[Path]:
    """Yield a temporary directory that becomes `target` when the block ends without an error.

    `owned`: whether an existing directory is one that may be replaced at all, so that a mistyped
    path cannot delete a user's files. Raises AdmiralError if `target` exists and may not be
    replaced, another process is writing it, or the disk is full or not writable.
    """
    # If the last component is a link, the rename must happen at the real place.
    target = Path(os.path.realpath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_access(target, wait):
            _clear_leftovers(target)
            check_replaceable(target, overwrite, owned)
            temporary = target.with_name(f".{target.name}.new-{secrets.token_hex(6)}")
            temporary.mkdir()
            try:
                yield temporary
                sync_tree(temporary)
                _publish(temporary, target)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise AdmiralError(
            f"{target}: cannot be written ({error.strerror or error}). Check the permissions and "
            "the free space; nothing half-written is left."
        ) from error


def sync_tree(directory: Path) -> None:
    """Force everything below a directory to the disk, files before the folders that name them."""
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            sync_path(Path(folder, name))
        sync_path(Path(folder))


@contextmanager
def exclusive_access(target: Path, wait: bool) -> Iterator[None]:
    """Keep other writers of a directory away during the block.

    `target`: the directory; the lock file ``.NAME.lock`` lies next to it. Raises AdmiralError if
    another process is writing `target` and `wait` is False, or `target` is the root of the file
    system.
    """
    if not target.name:
        raise AdmiralError(
            f"{target}: the root of the file system cannot be replaced. Name a directory in it."
        )
    lock_file = target.with_name(f".{target.name}.lock")
    with WriterLock(lock_file, target, "building or changing it", wait=wait):
        yield


def check_replaceable(target: Path, overwrite: bool, owned: Callable[[Path], bool]) -> None:
    """Raise an `AdmiralError` if `target` may not be replaced; see `staging`."""
    if not target.exists():
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not target.is_dir() or not owned(target):
        raise AdmiralError(
            f"{target}: something else is there, and it is not replaced. Choose another path."
        )
    if not overwrite:
        raise AdmiralError(f"{target}: exists already. Give --overwrite to replace it.")


def swap_directories(first: Path, second: Path) -> bool:
    """Swap two directories in one step; return False if the system does not support it.

    Raises OSError if swapping fails. Both directories are then where they were.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # needs Linux with glibc 2.28 or newer
        return False
    paths = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def _publish(temporary: Path, target: Path) -> None:
    old = None
    if target.exists() and any(target.iterdir()):
        if swap_directories(temporary, target):
            sync_path(target.parent)
            return  # the old directory now has the temporary name; the caller removes it
        old = temporary.with_name(temporary.name.replace(".new-", ".old-", 1))
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        if old is not None and not target.exists():
            old.rename(target)
        raise
    sync_path(target.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    for old in sorted(target.parent.glob(f".{escape(target.name)}.old-*")):
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            logger.warning("%s: restored after an interrupted replacement", target)
            old.rename(target)
    for stale in target.parent.glob(f".{escape(target.name)}.new-*"):
        logger.warning("%s: left by an interrupted build; removed", stale)
        shutil.rmtree(stale, ignore_errors=True)
