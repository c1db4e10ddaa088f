"""Files as streams: transparent decompression, bounded lines, JSON Lines with places."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from admiral.errors import AdmiralError, RecordError
from admiral.io.archives import open_bz2, open_xz
from admiral.io.remote import Place

# The longest record; one with no end in sight would otherwise fill the memory.
LONGEST_RECORD = 64 * 2**20
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


@contextmanager
def open_binary(path: Place) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing what its first bytes say is compressed.

    Errors of the file system and of damaged archives, also while reading inside the ``with``
    block, are raised as AdmiralError.
    """
    with open_plain(path) as plain:
        magic = plain.read(6)
        plain.seek(0)
        with _decompressed(plain, magic) as stream:
            yield stream


@contextmanager
def open_plain(path: Place) -> Iterator[IO[bytes]]:
    """Open a file for reading as it is; errors are those of `open_binary`."""
    try:
        with path.open("rb") as plain:
            yield plain
    except _DAMAGED as error:
        raise AdmiralError(
            f"{path}: the compressed file is damaged or cut off ({error}). Fetch or compress it "
            "again."
        ) from error
    except OSError as error:
        # Python's bz2 and Arrow's zstd raise a bare OSError without errno for damaged data.
        if error.errno is None:
            raise AdmiralError(
                f"{path}: the compressed file is damaged or cut off ({error}). Fetch or compress "
                "it again."
            ) from error
        raise AdmiralError(
            f"{path}: cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def is_compressed(magic: bytes) -> bool:
    """Whether the first six bytes of a file are those of an archive that is read as it is."""
    return magic.startswith(tuple(_OPENERS))


def _zstd(plain: IO[bytes]) -> IO[bytes]:
    # Arrow's reader notices a frame that is cut off; zstandard's stream reader does not.
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(plain), "zstd"))


_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": open_bz2,
    b"\xfd7zXZ\x00": open_xz,
    b"\x28\xb5\x2f\xfd": _zstd,
}


def _decompressed(plain: IO[bytes], magic: bytes) -> Any:
    for start, opener in _OPENERS.items():
        if magic.startswith(start):
            return opener(plain)
    return plain


def numbered_lines(path: Place) -> Iterator[tuple[int, bytes] | RecordError]:
    """Yield (line number from 1, line) of every line that is not blank.

    A line longer than LONGEST_RECORD is yielded as a RecordError and passed over.
    """
    with open_binary(path) as stream:
        number = 0
        while line := stream.readline(LONGEST_RECORD + 1):
            number += 1
            if len(line) > LONGEST_RECORD:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(LONGEST_RECORD)
                yield RecordError(
                    f"{path}:{number}",
                    "",
                    f"the line is longer than {LONGEST_RECORD >> 20} MiB",
                    "Write one record a line, or skip bad records with --skip-bad.",
                )
                continue
            if number == 1:
                _refuse_utf16(path, line)
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.isspace():
                yield number, line


def json_objects(path: Place) -> Iterator[tuple[int, dict[str, Any]] | RecordError]:
    """Yield (line number, object) of a JSON Lines file; bad lines come as RecordError."""
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            yield item
            continue
        number, line = item
        try:
            yield number, parse_object(line, f"{path}:{number}")
        except RecordError as error:
            yield error


def parse_object(
    line: bytes, where: str, example: str = '{"title": "...", "text": "..."}'
) -> dict[str, Any]:
    """Parse one JSON object in UTF-8, or raise RecordError; `example` shows what is right."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(
            where,
            "",
            f"not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x})",
            "Convert the file to UTF-8, for example with iconv.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise RecordError(
            where, "", f"not a JSON object ({error})", "Write one JSON object on each line."
        ) from error
    if not isinstance(value, dict):
        raise RecordError(
            where,
            "",
            f"a JSON {type(value).__name__} where an object is needed",
            f"Write one object such as {example} on each line.",
        )
    return value


def _refuse_utf16(path: Place, line: bytes) -> None:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AdmiralError(
            f"{path}: the file is UTF-16. Convert it to UTF-8, for example with "
            f"`iconv -f utf-16 -t utf-8`."
        )
