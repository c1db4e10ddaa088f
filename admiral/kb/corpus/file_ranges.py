"""Parts of a large file of lines: ranges of bytes that begin and end between two lines."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import IO, Any

from admiral.io.remote import Place, RemotePath
from admiral.io.streams import is_compressed, open_plain

_BLOCK = 1 << 20


class FilePart:
    """A range of a file, to be read like a file of its own.

    Lines are counted from the beginning of the part while it is read.

    Parameters
    ----------
    file
        The file, which is not compressed.
    first, end
        The range, in bytes.

    Attributes
    ----------
    lines
        How many line feeds have been read.
    """

    def __init__(self, file: Place, first: int, end: int) -> None:
        self._file, self._first, self._end = file, first, end
        self.lines = 0

    def __str__(self) -> str:
        return str(self._file)

    def is_file(self) -> bool:
        """A part is a file for those who read it."""
        return True

    def lines_before(self) -> int:
        """Count the lines of the file before the part: they are read, so this takes a while."""
        count, left = 0, self._first
        with self._file.open("rb") as file:
            while left and (block := file.read(min(_BLOCK, left))):
                count, left = count + block.count(b"\n"), left - len(block)
        return count

    def open(self, mode: str) -> IO[bytes]:
        """Open the part to be read."""
        self.lines = 0
        return io.BufferedReader(_Range(self, self._file.open(mode), self._first, self._end))


class _Range(io.RawIOBase):
    """Bytes `first` to `end` of an open file, which is closed with it."""

    def __init__(self, part: FilePart, file: IO[bytes], first: int, end: int) -> None:
        self._part, self._file, self._first, self._end = part, file, first, end
        self._at = first
        self._counted = first
        file.seek(first)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: self._first, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = base + offset
        self._file.seek(self._at)
        return self._at - self._first

    def tell(self) -> int:
        return self._at - self._first

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._end - self._at))
        # What is read a second time, after a look at the first bytes, counts once.
        self._part.lines += data[max(self._counted - self._at, 0) :].count(b"\n")
        self._at += len(data)
        self._counted = max(self._counted, self._at)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def file_size(file: Place) -> int:
    """Return the size of a file in bytes; 0 where its storage does not tell it."""
    if isinstance(file, RemotePath):
        return file.size()
    with open_plain(file) as stream:
        return stream.seek(0, io.SEEK_END)


def split_lines(file: Place, size: int) -> list[tuple[int, int]]:
    """Return ranges of about `size` bytes, each of whole lines, that make up a file.

    Parameters
    ----------
    size
        In bytes, at least one.

    Returns
    -------
    list
        (first, end) of each; none for a file that must be read from its beginning: a compressed
        one, or one whose storage cannot do otherwise.

    Raises
    ------
    AdmiralError
        If the file cannot be read.
    """
    with open_plain(file) as stream:
        magic = stream.read(6)
        if is_compressed(magic) or not stream.seekable():
            return []
        total = stream.seek(0, io.SEEK_END)
        starts = [0]
        while starts[-1] + size < total:
            stream.seek(starts[-1] + size - 1)  # a line may begin at exactly this distance
            while (line := stream.readline(_BLOCK)) and not line.endswith(b"\n"):
                pass
            starts.append(stream.tell())
        if starts[-1] < total:
            starts.append(total)
    return list(pairwise(starts))
