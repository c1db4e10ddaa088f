"""Write files and directories atomically: readers find the old one or the new one as a whole.

A file is written next to its final place, forced to the disk and renamed; a directory the same way,
after the old one was moved away. The next writer removes what an interrupted one left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from admiral.errors import AdmiralError


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

    The old file is unchanged.
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


def check_distinct_paths(
    output: Path, *inputs: Path | None, folders: Iterable[str | Path | None] = ()
) -> None:
    """Check that an output file has a folder that is not read, and is no input as well."""
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


@contextmanager
def staging(target: Path, *, overwrite: bool, owned: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a temporary directory that becomes `target` when the block ends without an error.

    `owned`: whether an existing directory is one that may be replaced at all, so that a mistyped
    path cannot delete a user's files.
    """
    # If the last component is a link, the rename must happen at the real place.
    target = Path(os.path.realpath(target))
    temporary, old = (target.with_name(f".{target.name}.{kind}") for kind in ("new", "old"))
    lock_file = target.with_name(f".{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock_file, blocking=False):
            if old.exists() and not target.exists():
                old.rename(target)  # a writer was interrupted between two renames
            for leftover in (temporary, old):
                shutil.rmtree(leftover, ignore_errors=True)
            check_replaceable(target, overwrite, owned)
            temporary.mkdir()
            try:
                yield temporary
                sync_tree(temporary)
                if target.exists():
                    target.rename(old)
                temporary.rename(target)
                sync_path(target.parent)
            finally:
                if old.exists() and not target.exists():
                    old.rename(target)
                for leftover in (temporary, old):
                    shutil.rmtree(leftover, ignore_errors=True)
                lock_file.unlink(missing_ok=True)
    except Timeout:
        raise AdmiralError(
            f"{target}: another process is building or changing it. Wait for it to end"
        ) from None
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


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise `OSError` if it cannot be read."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
