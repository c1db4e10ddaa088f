"""The tokens and rows of a trie in blocks: a checksum for each, checked when it is first read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from trie.index.soundness import Rows, token_problem
from trie.index.trie_build import TrieArrays
from trie.trie_errors import TrieFileError

#: Nodes of a block, or rows; a multiple of 64. It is checked in a fraction of a millisecond.
BLOCK = 1 << 14

Sums = npt.NDArray[np.uint32]


class Blocks:
    """Which blocks of an array are sound. Threads may share it.

    Parameters
    ----------
    size, block
        How many items there are, and how many a block has.
    check
        Raises an error if a block is not sound, of which it is given the bounds.
    """

    def __init__(self, size: int, block: int, check: Callable[[int, int], None]) -> None:
        self._size, self._block, self._check = size, block, check
        self._doubtful = bytearray(b"\1") * -(-size // block)
        self._left = len(self._doubtful)
        self._lock = Lock()

    def need(self, first: int, end: int) -> None:
        """Check the blocks of the items from `first` to below `end` that were not checked yet."""
        if self._left and first < end:
            low, high = first // self._block, (end - 1) // self._block + 1
            while (number := self._doubtful.find(1, low, high)) >= 0:
                self._look(number)

    def need_all(self) -> None:
        """Check all blocks that were not checked yet."""
        self.need(0, self._size)

    def _look(self, number: int) -> None:
        with self._lock:
            if self._doubtful[number]:
                begin = number * self._block
                self._check(begin, min(begin + self._block, self._size))
                self._doubtful[number] = 0
                self._left -= 1


@dataclass(frozen=True, slots=True)
class Checks:
    """What is known of a trie's arrays.

    Attributes
    ----------
    sums
        The CRC-32 of each block; see `block_sums`.
    tokens, rows
        Which blocks are sound.
    """

    sums: Sums
    tokens: Blocks
    rows: Blocks

    @classmethod
    def built(cls, arrays: TrieArrays) -> Checks:
        """Return those of arrays that this process built: nothing is left to check."""
        nothing = Blocks(0, BLOCK, lambda begin, end: None)
        return cls(block_sums(arrays, BLOCK), nothing, nothing)

    @classmethod
    def opened(cls, arrays: TrieArrays, sums: Sums, block: int, directory: Path) -> Checks:
        """Return those of arrays in files, of which no more than the shape was checked."""
        found = _Files(arrays, sums, block, directory)
        nodes, rows = arrays.tokens.size, arrays.rows.low.size
        return cls(sums, Blocks(nodes, block, found.tokens), Blocks(rows, block, found.rows))


class _Files:
    """Checks blocks of the files of a trie."""

    def __init__(self, arrays: TrieArrays, sums: Sums, block: int, directory: Path) -> None:
        self._arrays, self._block, self._directory = arrays, block, directory
        counts = [-(-size // block) for size in _sizes(arrays).values()]
        self._sums = dict(zip(_sizes(arrays), np.split(sums, np.cumsum(counts)[:-1]), strict=True))
        self._rows = Rows(arrays.rows, arrays.shared)

    def tokens(self, begin: int, end: int) -> None:
        self._compare("tokens", begin, end)
        problem = token_problem(self._arrays.tokens, self._arrays.firsts, begin, end)
        if problem:
            raise self._error("tokens", problem)

    def rows(self, begin: int, end: int) -> None:
        self._compare("rows", begin, end)
        self._compare("rows_high", begin, end)
        if problem := self._rows.problem(begin, end):
            raise self._error("rows", problem)

    def _compare(self, name: str, begin: int, end: int) -> None:
        if block_sum(self._arrays, name, begin, end) != self._sums[name][begin // self._block]:
            raise self._error(name, "damaged, its checksum is another")

    def _error(self, name: str, problem: str) -> TrieFileError:
        return TrieFileError(self._directory / f"{name}.npy", problem)


def block_sums(arrays: TrieArrays, block: int) -> Sums:
    """Return the CRC-32 of each block: those of the tokens, the rows, and their higher bits."""
    sums = [
        block_sum(arrays, name, begin, min(begin + block, size))
        for name, size in _sizes(arrays).items()
        for begin in range(0, size, block)
    ]
    return np.array(sums, dtype=np.uint32)


def block_sum(arrays: TrieArrays, name: str, begin: int, end: int) -> int:
    """Return the CRC-32 of the items of an array from `begin` to below `end`."""
    if name == "tokens":
        return zlib.crc32(arrays.tokens[begin:end].data)
    part = arrays.rows.part(begin, end)
    sum_ = 0
    for piece in [part.low] if name == "rows" else part.high:
        sum_ = zlib.crc32(piece.data, sum_)
    return sum_


def block_count(nodes: int, rows: int, block: int) -> int:
    """Return how many checksums `block_sums` has."""
    return -(-nodes // block) - 2 * (-rows // block)


def _sizes(arrays: TrieArrays) -> dict[str, int]:
    nodes, rows = arrays.tokens.size, arrays.rows.low.size
    return {"tokens": nodes, "rows": rows, "rows_high": rows}
