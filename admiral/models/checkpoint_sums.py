"""Checksums of a checkpoint, in the format of ``sha256sum``.

Loading a checkpoint checks names and shapes, but would not notice a flipped bit in a weight.
"""

from __future__ import annotations

import re
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.models.checkpoint import locate_checkpoint
from admiral.storage.atomic_files import write_atomically
from admiral.storage.checksums import describe_file

SUMS = "SHA256SUMS"
# Users edit the model card, and the checksum file cannot contain its own checksum.
_UNCHECKED = {"README.md", SUMS}
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\n]+)")


def write_sums(directory: Path) -> None:
    """Write the checksums of a checkpoint's files, replacing older ones."""
    lines = (f"{describe_file(file).sha256}  {file.name}\n" for file in _files(directory))
    write_atomically(directory / SUMS, [line.encode() for line in lines])


def verify_checkpoint(name: str | Path) -> list[str]:
    """Check the files of a checkpoint against their checksums and return the problems found.

    Raises AdmiralError if there is no such checkpoint, or it has no checksums.
    """
    directory = locate_checkpoint(name)
    path = directory / SUMS
    try:
        *lines, incomplete = path.read_bytes().decode("utf-8").split("\n")
    except FileNotFoundError as error:
        raise AdmiralError(
            f"{path}: missing, so the checkpoint cannot be verified. `sha256sum * > {SUMS}` "
            "in its directory creates it, if you know that the checkpoint is intact"
        ) from error
    except (OSError, UnicodeError) as error:
        return [f"{path}: cannot be read ({type(error).__name__})"]
    problems = [f"{path}: is cut off"] if incomplete else []
    listed = set()
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            problems.append(f"{path}:{number}: no checksum and name")
            continue
        file = directory / match[2]
        listed.add(match[2])
        try:
            if match[2] not in _UNCHECKED and describe_file(file).sha256 != match[1]:
                problems.append(f"{file}: changed since its checksum was written")
        except OSError as error:
            problems.append(f"{file}: cannot be read ({error.strerror})")
    problems += [
        f"{file}: has no checksum" for file in _files(directory) if file.name not in listed
    ]
    return problems


def _files(directory: Path) -> list[Path]:
    return sorted(
        path
        for path in directory.iterdir()
        if path.is_file() and path.name not in _UNCHECKED and not path.name.startswith(".")
    )
