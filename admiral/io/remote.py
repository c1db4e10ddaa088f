"""Files by URL, opened by fsspec, with the methods of a path that the corpus readers use."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from admiral.errors import AdmiralError, first_line

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
