"""Lazy validation of tokens and rows: one checksum per block, checked at the first read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from trie.index.invariants import RowInvariants, token_problem
from trie.index.trie_build import TrieArrays
from trie.trie_errors import TrieFileError

#: Nodes or rows per block; a multiple of 64. Checking a block takes a fraction of a millisecond.
BLOCK_SIZE = 1 << 14

Checksums = npt.NDArray[np.uint32]


class LazyBlocks:
    """Checks the blocks of an array when they are first needed. Thread-safe.

    Parameters
    ----------
    size, block
        Number of items of the array, and of a block.
    check
        Called with the bounds of a block; raises an error if the block is damaged.
    """

    def __init__(self, size: int, block: int, check: Callable[[int, int], None]) -> None:
        self._size, self._block, self._check = size, block, check
        self._unchecked = bytearray(b"\1") * -(-size // block)
        self._left = len(self._unchecked)
        self._lock = Lock()

    def require(self, begin: int, end: int) -> None:
        """Check the blocks of the items ``[begin, end)`` that have not been checked yet."""
        if self._left and begin < end:
            low, high = begin // self._block, (end - 1) // self._block + 1
            while (number := self._unchecked.find(1, low, high)) >= 0:
                self._check_block(number)

    def require_all(self) -> None:
        """Check all blocks that have not been checked yet."""
        self.require(0, self._size)

    def _check_block(self, number: int) -> None:
        with self._lock:
            if self._unchecked[number]:
                begin = number * self._block
                self._check(begin, min(begin + self._block, self._size))
                self._unchecked[number] = 0
                self._left -= 1


@dataclass(frozen=True, slots=True)
class BlockChecks:
    """Checksums of a trie's blocks, and which blocks have been checked.

    Attributes
    ----------
    checksums
        The CRC-32 of each block; see `block_checksums`.
    tokens, rows
        The blocks of the tokens and of the rows.
    """

    checksums: Checksums
    tokens: LazyBlocks
    rows: LazyBlocks

    @classmethod
    def for_built(cls, arrays: TrieArrays) -> BlockChecks:
        """Return the checks of arrays built by this process, which leave nothing to check."""
        nothing = LazyBlocks(0, BLOCK_SIZE, lambda begin, end: None)
        return cls(block_checksums(arrays, BLOCK_SIZE), nothing, nothing)

    @classmethod
    def for_opened(
        cls, arrays: TrieArrays, checksums: Checksums, block: int, directory: Path
    ) -> BlockChecks:
        """Return the checks of arrays from files, of which only the structure was checked."""
        checker = _FileChecker(arrays, checksums, block, directory)
        nodes, rows = arrays.tokens.size, arrays.rows.low.size
        return cls(
            checksums,
            LazyBlocks(nodes, block, checker.check_tokens),
            LazyBlocks(rows, block, checker.check_rows),
        )


class _FileChecker:
    """Checks blocks of the files of a trie."""

    def __init__(
        self, arrays: TrieArrays, checksums: Checksums, block: int, directory: Path
    ) -> None:
        self._arrays, self._block, self._directory = arrays, block, directory
        sizes = _sizes(arrays)
        counts = [-(-size // block) for size in sizes.values()]
        by_array = np.split(checksums, np.cumsum(counts)[:-1])
        self._checksums = dict(zip(sizes, by_array, strict=True))
        self._row_invariants = RowInvariants(arrays.rows, arrays.shared)

    def check_tokens(self, begin: int, end: int) -> None:
        self._compare("tokens", begin, end)
        problem = token_problem(self._arrays.tokens, self._arrays.firsts, begin, end)
        if problem:
            raise self._error("tokens", problem)

    def check_rows(self, begin: int, end: int) -> None:
        self._compare("rows", begin, end)
        self._compare("rows_high", begin, end)
        if problem := self._row_invariants.problem(begin, end):
            raise self._error("rows", problem)

    def _compare(self, name: str, begin: int, end: int) -> None:
        expected = self._checksums[name][begin // self._block]
        if block_checksum(self._arrays, name, begin, end) != expected:
            raise self._error(name, "damaged: the checksum differs")

    def _error(self, name: str, problem: str) -> TrieFileError:
        return TrieFileError(self._directory / f"{name}.npy", problem)


def block_checksums(arrays: TrieArrays, block: int) -> Checksums:
    """Return the CRC-32 of each block: of the tokens, the rows, and the rows' high bits."""
    checksums = [
        block_checksum(arrays, name, begin, min(begin + block, size))
        for name, size in _sizes(arrays).items()
        for begin in range(0, size, block)
    ]
    return np.array(checksums, dtype=np.uint32)


def block_checksum(arrays: TrieArrays, name: str, begin: int, end: int) -> int:
    """Return the CRC-32 of the items ``[begin, end)`` of an array."""
    if name == "tokens":
        return zlib.crc32(arrays.tokens[begin:end].data)
    rows = arrays.rows.block(begin, end)
    checksum = 0
    for part in [rows.low] if name == "rows" else rows.high:
        checksum = zlib.crc32(part.data, checksum)
    return checksum


def block_count(nodes: int, rows: int, block: int) -> int:
    """Return the number of checksums that `block_checksums` returns."""
    return -(-nodes // block) - 2 * (-rows // block)


def _sizes(arrays: TrieArrays) -> dict[str, int]:
    nodes, rows = arrays.tokens.size, arrays.rows.low.size
    return {"tokens": nodes, "rows": rows, "rows_high": rows}
