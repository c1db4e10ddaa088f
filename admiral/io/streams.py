"""Read files as streams, also by URL: decompression, lines of bounded length, JSON Lines."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
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
        return io.BufferedReader(_RemoteFile(self, self._call("open", mode)), _BUFFER)

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
        with _explained(self):
            return getattr(self._files, method)(self._path, *arguments)


class _RemoteFile(io.RawIOBase):
    """An open remote file, whose errors name the URL."""

    def __init__(self, path: RemotePath, file: IO[bytes]) -> None:
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _explained(self._path):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        with _explained(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def _explained(path: RemotePath) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise AdmiralError(
            f"{path}: cannot be read ({first_line(error)}). Check the URL and your access to it"
        ) from error


Place: TypeAlias = Path | RemotePath


def corpus_path(path: str | Path) -> Place:
    """Return a local path, or the remote path of a URL.

    Raises AdmiralError if it is empty, or as in `RemotePath`.
    """
    if not str(path):
        raise AdmiralError("the path of a corpus is empty. Name a file or a folder.")
    return RemotePath(path) if isinstance(path, str) and "://" in path else Path(path)


# A longer record would fill the memory.
LONGEST_RECORD = 64 * 2**20  # bytes
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

# What the decompressors raise for damaged data; some raise a bare OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_CHUNK = 1 << 16

_Decompressor: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor


class DamagedArchiveError(AdmiralError):
    """A compressed file that is damaged or cut off."""


@contextmanager
def open_binary(path: Place) -> Iterator[IO[bytes]]:
    """Open a file for reading, and decompress it if its first bytes are those of an archive.

    Raises AdmiralError for errors of the file system and for damaged archives, also while reading
    inside the ``with`` block.
    """
    try:
        with path.open("rb") as plain:
            magic = plain.read(6)
            plain.seek(0)
            with _decompressed(plain, magic) as stream:
                yield stream
    except DAMAGED as error:
        raise _damaged_error(path, error) from error
    except OSError as error:
        # Python's bz2 and Arrow's zstd raise a bare OSError without errno for damaged data.
        if error.errno is None:
            raise _damaged_error(path, error) from error
        raise AdmiralError(
            f"{path}: cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error


def _damaged_error(path: Place, error: Exception) -> DamagedArchiveError:
    problem = f"the compressed file is damaged or cut off ({error})"
    return DamagedArchiveError(f"{path}: {problem}. Fetch or compress it again.")


def is_compressed(magic: bytes) -> bool:
    """Return whether the first six bytes of a file are those of a supported archive."""
    return magic.startswith(tuple(_OPENERS))


def _decompressed(plain: IO[bytes], magic: bytes) -> Any:
    for start, opener in _OPENERS.items():
        if magic.startswith(start):
            return opener(plain)
    return plain


def _open_bz2(plain: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_ConcatenatedStreams(plain, bz2.BZ2Decompressor), _CHUNK)


def _open_xz(plain: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(
        _ConcatenatedStreams(plain, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)), _CHUNK
    )


def _open_zstd(plain: IO[bytes]) -> IO[bytes]:
    # Arrow's reader notices a frame that is cut off; the stream reader of zstandard does not.
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(plain), "zstd"))


_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": _open_bz2,
    b"\xfd7zXZ\x00": _open_xz,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}


class _ConcatenatedStreams(io.RawIOBase):
    """Decompress an archive of one or more streams; only NUL padding is skipped between them.

    The modules ``bz2`` and ``lzma`` ignore everything that follows the first stream and is not
    another stream. Documents after padding, or in a stream with a damaged header, would be lost
    without an error.
    """

    def __init__(self, plain: IO[bytes], new_stream: Callable[[], _Decompressor]) -> None:
        self._plain, self._new_stream = plain, new_stream
        self._stream: _Decompressor | None = new_stream()
        self._unread = b""  # bytes of the file that are not decompressed yet

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and len(buffer) and self._stream is not None:
            if self._stream.eof:
                self._next_stream(self._stream.unused_data)
            else:
                data = self._stream.decompress(self._input(self._stream), len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _input(self, stream: _Decompressor) -> bytes:
        if not stream.needs_input:
            return b""
        if chunk := self._unread or self._plain.read(_CHUNK):
            self._unread = b""
            return chunk
        raise EOFError("the file ends within a compressed stream")

    def _next_stream(self, rest: bytes) -> None:
        while not (start := rest.lstrip(b"\0")):
            if not (rest := self._plain.read(_CHUNK)):
                self._stream = None
                return
        self._stream, self._unread = self._new_stream(), start


def numbered_lines(path: Place) -> Iterator[tuple[int, bytes] | RecordError]:
    """Yield (line number, line) for every line that is not blank, counting from 1.

    A line longer than `LONGEST_RECORD` is yielded as a `RecordError`, and so is the end of a
    compressed file that is cut off after a whole line. The file may be compressed. Raises
    AdmiralError as in `open_binary`, or if the file is UTF-16.
    """
    number = 0
    try:
        with open_binary(path) as stream:
            while line := stream.readline(LONGEST_RECORD + 1):
                number += 1
                if len(line) > LONGEST_RECORD:
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(LONGEST_RECORD)
                    yield RecordError(
                        f"{path}:{number}",
                        "",
                        f"the line is longer than {LONGEST_RECORD >> 20} MiB",
                        "Write one record per line, or skip bad records with --skip-bad.",
                    )
                    continue
                if number == 1:
                    _refuse_utf16(path, line)
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if not line.isspace():
                    yield number, line
    except DamagedArchiveError as error:
        if not number:
            raise
        remedy = (
            "Fetch or compress it again. Where there is an option --skip-bad, it keeps the lines "
            "before."
        )
        problem = str(error).removeprefix(f"{path}: ").partition(". ")[0]
        yield RecordError(f"{path}:{number + 1}", "", problem, remedy)


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


def _refuse_utf16(path: Place, line: bytes) -> None:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AdmiralError(
            f"{path}: the file is UTF-16. Convert it to UTF-8, for example with "
            f"`iconv -f utf-16 -t utf-8`."
        )


def record_lines(path: Path, remedy: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for every line that is not blank.

    Raises RecordError for a line that is too long. Raises AdmiralError if the file cannot be read,
    or can be read only once (a pipe or a device).
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        problem = "is a pipe or a device, which cannot be read more than once"
        raise AdmiralError(f"{path}: {problem}. Write its content to a file, and give that file")
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise RecordError(item.where, item.field, item.problem, remedy)
        yield item
