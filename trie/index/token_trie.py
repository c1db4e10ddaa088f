"""An immutable trie of token sequences in a few flat arrays, opened by memory map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from trie.index import traversal, trie_build, trie_files
from trie.index.bit_vector import BitVector, Ints, Unsigned
from trie.index.block_checks import BlockChecks
from trie.index.louds import LoudsTree

# Nodes with at least so many children get a bitmask, unless it had more than so many bits each.
_WIDE_CHILDREN, _BITS_PER_CHILD = 1024, 64


class Walkable(ABC):
    """A trie that can be followed token by token from its root."""

    #: The node of the empty prefix.
    root = 0

    @abstractmethod
    def child(self, node: int, token: int) -> int:
        """Return the child of `node` by `token`, or -1."""

    def walk(self, ids: Iterable[int], node: int = root) -> int:
        """Return the node that `ids` lead to from `node`, or -1 if they leave the trie."""
        for token in ids:
            node = self.child(node, token)
            if node < 0:
                break
        return node


class TokenTrie(LoudsTree, Walkable):
    """A trie of token id sequences.

    The row of a sequence is its position among the sequences that the trie was built from. Several
    sequences may be equal, or one a prefix of another; the empty sequence ends at the root. Use
    `build` or `open` to make a trie. ``len(trie)`` is the number of sequences.

    Opening takes milliseconds for millions of sequences, because only the tree structure is checked
    then. Tokens and rows are checked block by block before they are first read, so damaged values
    are never used; every method that reads tokens or rows of an opened trie raises a
    `TrieFileError` if they are damaged. `check` checks everything.
    """

    def __init__(self, arrays: trie_build.TrieArrays, checks: BlockChecks | None = None) -> None:
        super().__init__(arrays)
        self._arrays, self._checks = arrays, checks or BlockChecks.for_built(arrays)
        self._tokens = arrays.tokens.data
        self._require_tokens = self._checks.tokens.require
        self._require_rows = self._checks.rows.require
        # For each very wide node that was asked for a child: its first child and its bitmask.
        self._wide: dict[int, tuple[int, BitVector]] = {}

    @classmethod
    def build(cls, sequences: Iterable[Sequence[int]]) -> TokenTrie:
        """Build the trie of `sequences`, which are iterated over once.

        Raises
        ------
        ValueError
            If a token id is negative or needs more than 31 bits.
        """
        return cls(trie_build.build_arrays(*trie_build.concatenate(sequences)))

    def save(self, directory: str | Path) -> None:
        """Write the arrays into an existing directory. Not atomic."""
        self.check()  # otherwise new checksums would hide damage
        trie_files.write_arrays(self._arrays, Path(directory))

    @classmethod
    def open(cls, directory: str | Path) -> TokenTrie:
        """Open a saved trie by memory map and check its structure.

        Raises
        ------
        TrieFileError
            If a file is missing or of another version, or the checks made on opening find damage.
        """
        return cls(*trie_files.open_arrays(Path(directory)))

    def check(self) -> None:
        """Check all tokens and rows that have not been read yet.

        Raises
        ------
        TrieFileError
            If a file is damaged.
        """
        self._checks.tokens.require_all()
        self._checks.rows.require_all()

    @cached_property
    def digest(self) -> str:
        """Checksums of the arrays, which differ between tries."""
        checksums = trie_files.file_checksums(self._arrays, self._checks.checksums)
        return "".join(f"{crc:08x}" for crc in checksums.values())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, memory-mapped or not."""
        arrays = self._arrays
        wide = sum(mask.nbytes for _, mask in self._wide.values())
        bits = arrays.firsts.nbytes + arrays.inner.nbytes + arrays.ends.nbytes + wide
        rows = arrays.rows.low.nbytes + arrays.rows.high.nbytes + arrays.shared.nbytes
        return int(arrays.tokens.nbytes + bits + rows)

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow at `node`, ascending, and the child by each of them."""
        first, end = self._child_range(node)
        self._require_tokens(first, end)
        return self._arrays.tokens[first:end].astype(np.int64), np.arange(first, end)

    def child(self, node: int, token: int) -> int:
        """Return the child of `node` by `token`, or -1."""
        if node in self._wide:
            first, mask = self._wide[node]
            return first + mask.rank(token) if 0 <= token < mask.size and mask[token] else -1
        first, end = self._child_range(node)
        self._require_tokens(first, end)
        if _is_wide(self._arrays.tokens, first, end):
            self._wide[node] = first, _bitmask(self._arrays.tokens[first:end])
            return self.child(node, token)
        place = bisect_left(self._tokens, token, first, end)
        return place if place < end and self._tokens[place] == token else -1

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        first, end = self._row_range(node)
        self._require_rows(first, end)
        return np.array([self._arrays.rows[place] for place in range(first, end)], dtype=np.int64)

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence (scans all nodes)."""
        contained = bool(np.any(self._arrays.tokens[1:] == token))
        if contained:  # it may be damage; a token that does not occur cannot be read either
            self._checks.tokens.require_all()
        return contained

    def nodes_after(self, token: int) -> Ints:
        """Return all nodes whose last token is `token` (scans all nodes)."""
        self._checks.tokens.require_all()
        return np.flatnonzero(self._arrays.tokens[1:] == token) + 1

    def path(self, node: int) -> list[int]:
        """Return the tokens on the path from the root to `node`."""
        tokens = []
        while node != self.root:
            self._require_tokens(node, node + 1)
            tokens.append(self._tokens[node])
            node = self.parent(node)
        return tokens[::-1]

    def locate(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of a row and the node at which its sequence ends (scans all rows)."""
        self._checks.rows.require_all()
        values = self._arrays.rows.unpack()
        places = np.flatnonzero(np.isin(values, np.array(rows, dtype=np.int64)))
        shared = self._arrays.shared.astype(np.int64) + 1 + np.arange(len(self._shared))
        end_ranks = places - shared.searchsorted(places, side="right")
        nodes = range(self.nodes)
        return [
            (int(values[place]), bisect_right(nodes, end_rank, key=self._end_rank) - 1)
            for place, end_rank in zip(places.tolist(), end_ranks.tolist(), strict=True)
        ]

    def flatten(self) -> tuple[Unsigned, Ints]:
        """Return the tokens of all sequences, one after another in row order, and their lengths."""
        self.check()
        return traversal.flatten(self._arrays, self.levels)

    def distances_to_end(self, ignored: Sequence[int] = ()) -> Ints:
        """Return the least number of tokens from each node to the end of a sequence; (nodes,).

        Ends at the nodes `ignored` do not count. The distance is
        `trie.index.traversal.UNREACHABLE` or more where no end can be reached.
        """
        return traversal.distances_to_end(self._arrays, self.levels, ignored)


def _is_wide(tokens: Unsigned, first: int, end: int) -> bool:
    """Return whether a node with the children ``[first, end)`` is worth a bitmask.

    Children are ordered by token, so the child by token ``t`` is the first child plus the number of
    bits set before ``t``. The root of a large trie has tens of thousands of children; a bitmask
    takes less memory than their tokens and finds a child in constant time.
    """
    return end - first >= _WIDE_CHILDREN and int(tokens[end - 1]) < (end - first) * _BITS_PER_CHILD


def _bitmask(tokens: Unsigned) -> BitVector:
    """Return the bitmask in which the bits of `tokens` are set."""
    flags = np.zeros(int(tokens[-1]) + 1, dtype=bool)
    flags[tokens] = True
    return BitVector.pack(flags)
