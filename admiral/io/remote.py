"""Corpora by URL: whatever fsspec opens, with the few methods of a path that the readers use."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from admiral.errors import AdmiralError, first_line

_BUFFER = 1 << 20  # storages far away are read in large blocks


class RemotePath:
    """A file or folder by a URL such as ``s3://bucket/corpus`` or ``zip://a.jsonl::/data/a.zip``.

    Raises
    ------
    AdmiralError
        If the URL is of an unknown kind, or what it needs is not installed or cannot be reached.
    """

    def __init__(self, url: str) -> None:
        import fsspec  # a corpus on this machine needs none of it

        self._url = url
        try:
            self._files, self._path = fsspec.core.url_to_fs(url)
        except Exception as error:  # every kind of storage has errors of its own
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
        """The last part of the path."""
        return PurePosixPath(self._path).name

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of the name, such as ``.txt`` and ``.gz``."""
        return PurePosixPath(self._path).suffixes

    def exists(self) -> bool:
        """Whether anything is there."""
        return bool(self._ask("exists"))

    def is_file(self) -> bool:
        """Whether it is a file."""
        return bool(self._ask("isfile"))

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._ask("isdir"))

    def size(self) -> int:
        """Return the size of the file in bytes; 0 where the storage does not tell it."""
        return int(self._ask("size") or 0)

    def open(self, mode: str) -> IO[bytes]:
        """Open the file to be read."""
        return io.BufferedReader(_Told(self, self._ask("open", mode)), _BUFFER)

    def files_below(self) -> list[RemotePath]:
        """Return all files below that are not hidden, sorted."""
        top = self._path.rstrip("/") + "/"
        _, chained, outer = self._url.partition("::")
        found = []
        for path in self._ask("find"):
            parts = path.removeprefix(top).split("/")
            if not any(part.startswith(".") for part in parts):
                found.append((parts, f"{self._files.unstrip_protocol(path)}{chained}{outer}"))
        return [RemotePath(url) for _, url in sorted(found)]  # in the order of local paths

    def _ask(self, method: str, *arguments: str) -> Any:
        with _told(self):
            return getattr(self._files, method)(self._path, *arguments)


class _Told(io.RawIOBase):
    """A file of a storage, whose errors name the URL."""

    def __init__(self, path: RemotePath, file: IO[bytes]) -> None:
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _told(self._path):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        with _told(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def _told(path: RemotePath) -> Iterator[None]:
    """Turn whatever a storage raises into one `AdmiralError` that names the URL."""
    try:
        yield
    except Exception as error:
        raise AdmiralError(
            f"{path}: cannot be read ({first_line(error)}). Check the URL and your access to it"
        ) from error


Place: TypeAlias = Path | RemotePath


def corpus_path(path: str | Path) -> Place:
    """Return a path, or the remote path of a URL; AdmiralError if it is empty."""
    if not str(path):
        raise AdmiralError("the path of a corpus is empty. Name a file or a folder.")
    return RemotePath(path) if isinstance(path, str) and "://" in path else Path(path)
