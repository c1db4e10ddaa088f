"""Read files as streams, also by URL: decompression, lines of bounded length, JSON Lines."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

import pyarrow as pa

from admiral.errors import AdmiralError, RecordError, first_line

_BUFFER = 1 << 20  # large, because each request to a remote storage takes long


class RemotePath:
    """A file or folder at a URL.

    `url` is any of fsspec, such as ``s3://bucket/corpus`` or ``zip://a.jsonl::/data/a.zip``. Raises
    AdmiralError if its protocol is unknown, needs a package that is not installed, or cannot
    connect.
    """

    def __init__(self, url: str) -> None:
        import fsspec  # local corpora do not need it

        self._url = url
        try:
            self._files, self._path = fsspec.core.url_to_fs(url)
        except Exception as error:  # every protocol has its own errors
            raise AdmiralError(
                f"{url}: cannot be opened ({error}). Check the URL, and install what fsspec needs "
                "for it, such as s3fs or gcsfs, or aiohttp and requests for https"
            ) from error

    def __str__(self) -> str:
        return self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self._url == other._url

    @property
    def name(self) -> str:
        """Last part of the path."""
        return PurePosixPath(self._path).name

    @property
    def suffixes(self) -> list[str]:
        """Suffixes of the name, such as ``.txt`` and ``.gz``."""
        return PurePosixPath(self._path).suffixes

    def exists(self) -> bool:
        """Return whether the path exists."""
        return bool(self._call("exists"))

    def is_file(self) -> bool:
        """Return whether it is a file."""
        return bool(self._call("isfile"))

    def is_dir(self) -> bool:
        """Return whether it is a folder."""
        return bool(self._call("isdir"))

    def size(self) -> int:
        """Return the size of the file in bytes; 0 if the storage does not report it."""
        return int(self._call("size") or 0)

    def open(self, mode: str) -> IO[bytes]:
        """Open the file for reading."""
        return io.BufferedReader(self._call("open", mode), _BUFFER)

    def files_below(self) -> list[RemotePath]:
        """Return all files below that are not hidden, in the order of local paths."""
        top = self._path.rstrip("/") + "/"
        _, chained, outer = self._url.partition("::")
        files = []
        for path in self._call("find"):
            parts = path.removeprefix(top).split("/")
            if not any(part.startswith(".") for part in parts):
                files.append((parts, f"{self._files.unstrip_protocol(path)}{chained}{outer}"))
        return [RemotePath(url) for _, url in sorted(files)]

    def _call(self, method: str, *arguments: str) -> Any:
        try:
            return getattr(self._files, method)(self._path, *arguments)
        except Exception as error:  # every protocol has its own errors
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> AdmiralError:
        """Return the error for one that the storage raises."""
        problem = f"cannot be read ({first_line(error)}). Check the URL and your access to it"
        return AdmiralError(f"{self}: {problem}")


Place: TypeAlias = Path | RemotePath


def corpus_path(path: str | Path) -> Place:
    """Return a local path, or the remote path of a URL."""
    if not str(path):
        raise AdmiralError("the path of a corpus is empty. Name a file or a folder.")
    return RemotePath(path) if isinstance(path, str) and "://" in path else Path(path)


# A longer record would fill the memory.
LONGEST_RECORD = 64 * 2**20  # bytes
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

# What the decompressors raise for damaged data; some raise a bare OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class DamagedArchiveError(AdmiralError):
    """A compressed file that is damaged or cut off."""


@contextmanager
def open_binary(path: Place) -> Iterator[IO[bytes]]:
    """Open a file for reading, and decompress it if its first bytes are those of an archive."""
    try:
        with path.open("rb") as plain:
            magic = plain.peek(6)[:6]  # type: ignore[attr-defined]
            opener = next((own for start, own in _OPENERS.items() if magic.startswith(start)), None)
            yield plain if opener is None else opener(plain)
    except Exception as error:
        # Python's bz2 and Arrow's zstd raise a bare OSError without errno for damaged data.
        if isinstance(error, DAMAGED) or (type(error) is OSError and error.errno is None):
            problem = f"the compressed file is damaged or cut off ({error})"
            raise DamagedArchiveError(f"{path}: {problem}. Fetch or compress it again.") from error
        if isinstance(error, OSError):
            reason = error.strerror or first_line(error)
            raise AdmiralError(
                f"{path}: cannot be read ({reason}). Check the path and its permissions."
            ) from error
        if isinstance(path, RemotePath) and not isinstance(error, AdmiralError):
            raise path.unreadable(error) from error  # every protocol has its own errors
        raise


_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    # Arrow's reader notices a frame that is cut off; the stream reader of zstandard does not.
    b"\x28\xb5\x2f\xfd": lambda plain: io.BufferedReader(
        pa.CompressedInputStream(pa.PythonFile(plain), "zstd")
    ),
}

#: A line that is not blank, and its number from 1.
NumberedLine: TypeAlias = tuple[int, bytes]


def number_lines(lines: Iterable[bytes], name: str) -> Iterator[NumberedLine]:
    """Yield the lines that are not blank with their numbers; raise AdmiralError for UTF-16."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise AdmiralError(
                    f"{name}: the file is UTF-16. Convert it to UTF-8, for example with "
                    "`iconv -f utf-16 -t utf-8`."
                )
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.isspace():
            yield number, line


def numbered_lines(path: Place) -> Iterator[NumberedLine | RecordError]:
    """Yield (line number, line) for every line that is not blank, counting from 1.

    A line longer than `LONGEST_RECORD` is yielded as a `RecordError`, and so is the end of a
    compressed file that is cut off after a whole line. The file may be compressed. Raises
    AdmiralError as in `open_binary`, or if the file is UTF-16.
    """
    last = 0
    try:
        with open_binary(path) as stream:
            for number, line in number_lines(_bounded(stream), str(path)):
                last = number
                if len(line) <= LONGEST_RECORD:
                    yield number, line
                    continue
                problem = f"the line is longer than {LONGEST_RECORD >> 20} MiB"
                remedy = "Write one record per line, or skip bad records with --skip-bad."
                yield RecordError(f"{path}:{number}", "", problem, remedy)
    except DamagedArchiveError as error:
        if not last:
            raise
        remedy = (
            "Fetch or compress it again. Where there is an option --skip-bad, it keeps the lines "
            "before."
        )
        problem = str(error).removeprefix(f"{path}: ").partition(". ")[0]
        yield RecordError(f"{path}:{last + 1}", "", problem, remedy)


def _bounded(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long, no more than its beginning."""
    while line := stream.readline(LONGEST_RECORD + 1):
        yield line
        while len(line) > LONGEST_RECORD and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_RECORD + 1)
            if not line:
                break


def json_objects(path: Place) -> Iterator[tuple[int, dict[str, Any]] | RecordError]:
    """Yield (line number, object) for each line of a JSON Lines file, bad ones as `RecordError`."""
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
    """Return the JSON object on a line in UTF-8.

    `example` is a correct line, for messages. Raises RecordError if the line is not such an object.
    """
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
            f"a JSON {type(value).__name__} instead of an object",
            f"Write one object such as {example} on each line.",
        )
    return value


def record_lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of `numbered_lines`; raise RecordError, with another remedy, for bad ones."""
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise RecordError(item.where, item.field, item.problem, remedy)
        yield item
