"""Directories that appear whole or not at all.

A directory is written beside its final place, synced to the disk, and put there: by a rename, or in
the place of an older one, by swapping the two. At every moment readers find the old directory or
the new one as a whole. (Where the system cannot swap directories, they find none between two
renames.) What an interrupted writer left behind is cleared away (or, if it was the old directory on
its way out, put back) by the next one. A lock file beside the directory keeps two writers apart.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.storage.atomic_replace import exchange, sync_file
from admiral.storage.locks import acquire

logger = logging.getLogger(__name__)


@contextmanager
def staging(
    target: Path, *, overwrite: bool, owned: Callable[[Path], bool], wait: bool = False
) -> Iterator[Path]:
    """Give a temporary directory that takes the place of `target` when the block ends well.

    Parameters
    ----------
    target
        The final place; its parent is made if absent.
    overwrite
        Whether an existing `target` is replaced. It must satisfy `owned` even then, so that a
        mistyped path cannot delete someone's files.
    wait
        Wait for another writer instead of failing.

    Raises
    ------
    AdmiralError
        If `target` exists and may not be replaced, another writer is at work, or the disk is full
        or not writable.
    """
    # The last part may be a link to the real place; the rename must happen there.
    target = Path(os.path.realpath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(target, wait):
            _clear_leftovers(target)
            check_target(target, overwrite, owned)
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
    """Force everything below `directory` to the disk, files before the folders that name them."""
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            sync_file(Path(folder, name))
        sync_file(Path(folder))


@contextmanager
def exclusive(target: Path, wait: bool) -> Iterator[None]:
    """Keep other writers of `target` away.

    Raises
    ------
    AdmiralError
        If another one is at work, unless this one shall `wait` for it, or no lock can lie beside
        `target`, as it is the root of the file system.
    """
    if not target.name:
        raise AdmiralError(
            f"{target}: the root of the file system cannot be replaced. Name a directory in it."
        )
    lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=-1 if wait else 0)
    acquire(lock, target, "building or changing it")
    try:
        yield
    finally:
        # Unlinked while it is held; FileLock gives up a lock on a file that has lost its name.
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


def check_target(target: Path, overwrite: bool, owned: Callable[[Path], bool]) -> None:
    """Raise the `AdmiralError` of `staging` if `target` may not be replaced."""
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


def _publish(temporary: Path, target: Path) -> None:
    old = None
    if target.exists() and any(target.iterdir()):
        # In one step where that can be: readers then find one of the two at every moment.
        if exchange(temporary, target):
            sync_file(target.parent)
            return  # what is at the temporary place now is removed
        old = temporary.with_name(temporary.name.replace(".new-", ".old-", 1))
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        if old is not None and not target.exists():
            old.rename(target)
        raise
    sync_file(target.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Undo what a killed writer left; the caller holds the lock, so no other is at work."""
    for old in sorted(target.parent.glob(f".{escape(target.name)}.old-*")):
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            logger.warning("%s: put back after an interrupted replacement", target)
            old.rename(target)
    for stale in target.parent.glob(f".{escape(target.name)}.new-*"):
        logger.warning("%s: left by an interrupted build, removed", stale)
        shutil.rmtree(stale, ignore_errors=True)
