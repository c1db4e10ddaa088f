"""Write files and directories atomically: readers find the old one or the new one as a whole.

A file is written next to its final place, forced to the disk and renamed; a directory the same way.
An old directory is swapped with the new one in one step where the system supports it; elsewhere,
readers find no directory between two renames. The next writer removes what an interrupted one left
behind, and restores an old directory that was already moved away. Errors name the file and the
remedy.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from admiral.errors import AdmiralError

logger = logging.getLogger(__name__)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends without an error.

    The file that a symbolic link leads to is replaced, the link stays. Permissions are kept. Raises
    AdmiralError if `path` exists and is not a regular file, and OSError if writing fails: the old
    file is then unchanged.
    """
    with replacing_path(path) as temporary, temporary.open("wb") as file:
        yield file


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, as `replacing`, for libraries that open the file themselves."""
    if path.exists() and not path.is_file():
        raise AdmiralError(f"{path}: is not a regular file. Name a file")
    target = Path(os.path.realpath(path))
    # Of its own name, so that two writers do not mix; the last one counts.
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield temporary
        publish_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def publish_file(temporary: Path, path: Path) -> None:
    """Force a complete file to the disk and rename it to `path`, keeping the permissions there."""
    with suppress(FileNotFoundError):
        shutil.copymode(path, temporary)
    sync_path(temporary)
    temporary.replace(path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Force a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Legal inside JSON strings, but many readers take these characters for line breaks.
_LINE_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line of JSON in UTF-8, with the line feed.

    Lone surrogates, which UTF-8 cannot encode, and Unicode line breaks are escaped.
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a file that replaces `path`, as `replacing` does.

    Raises AdmiralError if writing fails, or `path` is not a regular file. The old file is
    unchanged.
    """
    with explain_write_errors(path), replacing(path) as file:
        file.writelines(chunks)


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into an `AdmiralError` that names `path`."""
    try:
        yield
    except OSError as error:
        remedy = "Check the path and the free space; what was written before is kept"
        raise AdmiralError(f"{path}: cannot be written: {error.strerror}. {remedy}") from error


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Turn the errors that libraries raise if they cannot write a file into `OSError`.

    safetensors raises `SafetensorError`, tokenizers a bare `Exception`, and torch a `RuntimeError`
    of its archive writer.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from error
    except RuntimeError as error:
        if "iostream" not in str(error) and "inline_container" not in str(error):
            raise
        raise OSError("the weights cannot be written") from error
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise OSError(str(error)) from error


class WriterLock:
    """A lock file; a context manager.

    `path`: what the lock protects, for the error message. `activity`: what another process that
    holds the lock is doing, such as "writing this output". Raises AdmiralError if another process
    holds the lock and `wait` is False, and OSError if the lock file cannot be created.
    """

    def __init__(self, lock_file: Path, path: Path, activity: str, *, wait: bool = False) -> None:
        self._lock = FileLock(lock_file, timeout=-1 if wait else 0)
        self._lock_file, self._path, self._activity = lock_file, path, activity

    def __enter__(self) -> None:
        self._lock_file.touch()  # FileLock reports a lock file that it cannot create as held
        try:
            self._lock.acquire()
        except Timeout:
            raise AdmiralError(
                f"{self._path}: another process is {self._activity}. Wait for it to end"
            ) from None

    def __exit__(self, *_: object) -> None:
        # Unlinked while it is held: FileLock does not acquire a lock on an unlinked file.
        self._lock_file.unlink(missing_ok=True)
        self._lock.release()


def check_distinct_paths(
    output: Path, *inputs: Path | None, folders: Iterable[str | Path | None] = ()
) -> None:
    """Check that an output file has a folder, which is none that is read, and is no input as well.

    Raises AdmiralError if not.
    """
    target = Path(os.path.realpath(output))
    if not target.parent.is_dir():
        raise AdmiralError(f"{output}: its folder does not exist. Create it first")
    for path in inputs:
        if path is not None and target == Path(os.path.realpath(path)):
            raise AdmiralError(
                f"{output}: is the input as well, or another output. Choose another output"
            )
    for folder in folders:
        if folder and target.is_relative_to(os.path.realpath(folder)):
            raise AdmiralError(f"{output}: lies in {folder}, which is read. Choose another output")


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


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise `OSError` if it cannot be read."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
