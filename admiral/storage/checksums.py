"""Sizes and checksums of the files of a directory, and checks against them."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError

REBUILD = "Build it again with `admiral index`."


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The size in bytes and SHA-256 (hexadecimal) of one file."""

    size: int
    sha256: str


def describe_file(file: Path) -> FileEntry:
    """Return the size and checksum of a file; raise `OSError` if it cannot be read."""
    with file.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        return FileEntry(os.fstat(stream.fileno()).st_size, checksum)


def describe_files(directory: Path) -> dict[str, FileEntry]:
    """Return the entries of all files below `directory`, by their relative paths, sorted."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {file.relative_to(directory).as_posix(): describe_file(file) for file in files}


def damaged_error(path: Path, reason: object) -> AdmiralError:
    """Return the error for a damaged file or folder of a knowledge base."""
    return AdmiralError(
        f"{path}: damaged ({reason}). Run `admiral verify`, then build the knowledge base again "
        "with `admiral index`."
    )


def check_files(directory: Path, files: Mapping[str, FileEntry], rebuild: str = REBUILD) -> None:
    """Check that the files of a directory are there, readable and of the expected size.

    The checksums of marisa tries are compared too (one second for some gigabytes), because marisa
    trusts its files and would read out of bounds in a damaged one. Other formats are checked by
    their readers. Raises AdmiralError for the first file that is missing, unreadable or damaged.
    """
    for name, entry in files.items():
        try:
            size = (directory / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError) as error:
            raise AdmiralError(
                f"{directory / name}: missing ({error.strerror}). {rebuild}"
            ) from error
        except OSError as error:
            raise _unreadable(directory / name, error.strerror) from error
        # Checked here because the libraries that read the file would report it as damaged.
        if not os.access(directory / name, os.R_OK):
            raise _unreadable(directory / name, os.strerror(errno.EACCES))
        if size != entry.size:
            raise AdmiralError(
                f"{directory / name}: {size:,} bytes where the manifest says {entry.size:,}; the "
                f"file was cut off or changed. {rebuild}"
            )
        if name.endswith(".marisa") and _describe_readable(directory / name) != entry:
            raise AdmiralError(f"{directory / name}: damaged (not what was built). {rebuild}")


def _describe_readable(file: Path) -> FileEntry:
    try:
        return describe_file(file)
    except OSError as error:
        raise _unreadable(file, error.strerror) from error


def _unreadable(file: Path, reason: str | None) -> AdmiralError:
    return AdmiralError(
        f"{file}: cannot be read ({reason}). Make it and its folders readable; nothing has to be "
        "rebuilt."
    )
