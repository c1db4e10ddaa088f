"""Split a large file of lines into byte ranges of whole lines, and read one range like a file."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import IO, Any

from admiral.errors import RecordError
from admiral.io.streams import Place, RemotePath, is_compressed, open_plain

_BLOCK = 1 << 20  # bytes


class FileRange:
    """A range of bytes that corpus readers read like a file.

    `file`: the file, which must not be compressed.
    """

    def __init__(self, file: Place, first: int, end: int) -> None:
        self._file, self._first, self._end = file, first, end
        self.lines = 0

    def __str__(self) -> str:
        return str(self._file)

    def is_file(self) -> bool:
        """Return True: readers treat a range as a file."""
        return True

    def lines_before(self) -> int:
        """Count the lines before the range, which reads the file up to there."""
        count, left = 0, self._first
        with self._file.open("rb") as file:
            while left and (block := file.read(min(_BLOCK, left))):
                count, left = count + block.count(b"\n"), left - len(block)
        return count

    def open(self, mode: str) -> IO[bytes]:
        """Open the range for reading, and count its lines anew."""
        self.lines = 0
        return io.BufferedReader(_RangeStream(self, self._file.open(mode), self._first, self._end))


class _RangeStream(io.RawIOBase):
    """Bytes `first` to `end` of an open file, which is closed with the stream."""

    def __init__(self, owner: FileRange, file: IO[bytes], first: int, end: int) -> None:
        self._owner, self._file, self._first, self._end = owner, file, first, end
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
        # Readers look at the first bytes and seek back: count the lines of those bytes once.
        self._owner.lines += data[max(self._counted - self._at, 0) :].count(b"\n")
        self._at += len(data)
        self._counted = max(self._counted, self._at)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def file_size(file: Place) -> int:
    """Return the size of a file in bytes, or 0 if a remote storage does not report it."""
    if isinstance(file, RemotePath):
        return file.size()
    with open_plain(file) as stream:
        return stream.seek(0, io.SEEK_END)


def split_lines(file: Place, size: int) -> list[tuple[int, int]]:
    """Split a file into consecutive ranges of whole lines.

    `size` is the approximate size of a range in bytes, at least one. Return (first, end) of each
    range, in bytes: none for a file that can only be read from the start, because it is compressed
    or its storage cannot seek. Raises AdmiralError if the file cannot be read.
    """
    with open_plain(file) as stream:
        magic = stream.read(6)
        if is_compressed(magic) or not stream.seekable():
            return []
        total = stream.seek(0, io.SEEK_END)
        starts = [0]
        while starts[-1] + size < total:
            stream.seek(starts[-1] + size - 1)  # a line may start exactly `size` bytes later
            while (line := stream.readline(_BLOCK)) and not line.endswith(b"\n"):
                pass
            starts.append(stream.tell())
        if starts[-1] < total:
            starts.append(total)
    return list(pairwise(starts))


def with_line_of_file(error: RecordError, place: Place) -> RecordError:
    """Return an error of a range with the line number counted from the start of its file."""
    if not isinstance(place, FileRange):
        return error
    name, _, line = error.where.rpartition(":")
    where = f"{name}:{int(line) + place.lines_before()}"
    return RecordError(where, error.field, error.problem, error.remedy)
