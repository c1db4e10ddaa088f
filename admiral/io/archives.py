"""Archives of several compressed streams one behind the other, read as one file.

Python's own ``bz2`` and ``lzma`` take whatever follows the first stream and does not begin another
one for rubbish and pass over it: documents behind padding, or in a stream whose header is damaged,
would be left out without a word.
"""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import IO, Any, TypeAlias

_CHUNK = 1 << 16

Decompressor: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor


def open_bz2(plain: IO[bytes]) -> IO[bytes]:
    """Return what the bzip2 streams of a file hold; errors come while it is read."""
    return io.BufferedReader(_Streams(plain, bz2.BZ2Decompressor), _CHUNK)


def open_xz(plain: IO[bytes]) -> IO[bytes]:
    """Return what the xz streams of a file hold; errors come while it is read."""
    return io.BufferedReader(_Streams(plain, _xz_stream), _CHUNK)


def _xz_stream() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


class _Streams(io.RawIOBase):
    """Decompresses stream after stream; between and behind them, only NULs are passed over."""

    def __init__(self, plain: IO[bytes], make: Callable[[], Decompressor]) -> None:
        self._plain, self._make = plain, make
        self._stream: Decompressor | None = make()
        self._ahead = b""  # of the file, read and not decompressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and len(buffer) and self._stream is not None:
            if self._stream.eof:
                self._next(self._stream.unused_data)
            else:
                data = self._stream.decompress(self._input(self._stream), len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _input(self, stream: Decompressor) -> bytes:
        if not stream.needs_input:
            return b""
        if chunk := self._ahead or self._plain.read(_CHUNK):
            self._ahead = b""
            return chunk
        raise EOFError("the file ends within a compressed stream")

    def _next(self, left: bytes) -> None:
        """Begin the next stream, of which `left` is read already, or none at the end."""
        while not (start := left.lstrip(b"\0")):
            if not (left := self._plain.read(_CHUNK)):
                self._stream = None
                return
        self._stream, self._ahead = self._make(), start
