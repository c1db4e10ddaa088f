"""The files of a directory: their sizes and checksums, and whether they are still those."""

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
    """Return the entry of a file; OSError if it cannot be read."""
    with file.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        return FileEntry(os.fstat(stream.fileno()).st_size, checksum)


def describe_files(directory: Path) -> dict[str, FileEntry]:
    """Return the entries of all files below `directory`, sorted by path."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {file.relative_to(directory).as_posix(): describe_file(file) for file in files}


def check_files(directory: Path, files: Mapping[str, FileEntry]) -> None:
    """Raise AdmiralError for the first file that is absent, not of its size, or not to be read.

    marisa follows whatever its files say, also out of bounds: theirs are compared with their
    checksums, in a second for some gigabytes; others are checked where they are read.
    """
    for name, entry in files.items():
        try:
            size = (directory / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError) as error:
            raise AdmiralError(
                f"{directory / name}: missing ({error.strerror}). {REBUILD}"
            ) from error
        except OSError as error:
            raise _unreadable(directory / name, error.strerror) from error
        # Asked here, as the libraries that read it would call it damaged.
        if not os.access(directory / name, os.R_OK):
            raise _unreadable(directory / name, os.strerror(errno.EACCES))
        if size != entry.size:
            raise AdmiralError(
                f"{directory / name}: {size:,} bytes where the manifest says {entry.size:,}; the "
                f"file was cut off or changed. {REBUILD}"
            )
        if name.endswith(".marisa") and _described(directory / name) != entry:
            raise AdmiralError(f"{directory / name}: damaged (not what was built). {REBUILD}")


def _described(file: Path) -> FileEntry:
    try:
        return describe_file(file)
    except OSError as error:
        raise _unreadable(file, error.strerror) from error


def _unreadable(file: Path, why: str | None) -> AdmiralError:
    return AdmiralError(
        f"{file}: cannot be read ({why}). Make it and its folders readable; nothing need be built "
        "again."
    )
