"""An immutable trie of token sequences in a few flat arrays, opened by memory map."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from trie.index import trie_build, trie_files
from trie.index.bits import Bits, Ints, Unsigned
from trie.index.blocks import Checks
from trie.index.flatten import fewest, flatten
from trie.index.shape import Shape
from trie.index.walkable import Walkable
from trie.index.wide_nodes import pays_off, wide_row


class TokenTrie(Shape, Walkable):
    """Sequences of token ids; the row of a sequence is its position among those it was built from.

    Several sequences may be equal, or one the beginning of another; the empty one ends at the root.
    Make one with `build` or `open`. ``len(trie)`` is the number of sequences.

    Opening takes milliseconds for millions of sequences: only the shape is checked then. Tokens and
    rows are checked block by block, each before anything of it is read for the first time. So
    nothing damaged is ever used, but every method that reads tokens or rows of an opened trie
    raises a `TrieFileError` if they are damaged. `check` checks everything.
    """

    def __init__(self, arrays: trie_build.TrieArrays, checks: Checks | None = None) -> None:
        super().__init__(arrays)
        self._arrays, self._checks = arrays, checks or Checks.built(arrays)
        self._tokens = arrays.tokens.data
        self._need_tokens, self._need_rows = self._checks.tokens.need, self._checks.rows.need
        # Of each very wide node that was asked for a child, the first child and its row.
        self._wide: dict[int, tuple[int, Bits]] = {}

    @classmethod
    def build(cls, sequences: Iterable[Sequence[int]]) -> TokenTrie:
        """Build the trie of `sequences`, which are read once.

        Raises
        ------
        ValueError
            If a token id is negative or beyond 31 bits.
        """
        return cls(trie_build.arrays(*trie_build.read(sequences)))

    def save(self, directory: str | Path) -> None:
        """Write the arrays into an existing directory; making that atomic is the caller's part."""
        self.check()  # or new checksums would hide that it is damaged
        trie_files.write(self._arrays, Path(directory))

    @classmethod
    def open(cls, directory: str | Path) -> TokenTrie:
        """Open a saved trie by memory map, after a check of its shape.

        Raises
        ------
        TrieFileError
            If a file is missing, of another version, or found damaged so far.
        """
        return cls(*trie_files.open_arrays(Path(directory)))

    def check(self) -> None:
        """Check all tokens and rows that were not read yet.

        Raises
        ------
        TrieFileError
            If a file is damaged.
        """
        self._checks.tokens.need_all()
        self._checks.rows.need_all()

    @cached_property
    def digest(self) -> str:
        """What tells this trie from others: checksums of its arrays."""
        found = trie_files.checksums(self._arrays, self._checks.sums)
        return "".join(f"{crc:08x}" for crc in found.values())

    @property
    def nbytes(self) -> int:
        """Bytes of memory, whether mapped or not."""
        parts = self._arrays
        wide = sum(row.nbytes for _, row in self._wide.values())
        bits = parts.firsts.nbytes + parts.inner.nbytes + parts.ends.nbytes + wide
        rows = parts.rows.low.nbytes + parts.rows.high.nbytes + parts.shared.nbytes
        return int(parts.tokens.nbytes + bits + rows)

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that lead on from `node`, ascending, and the node behind each."""
        first, end = self._span(node)
        self._need_tokens(first, end)
        return self._arrays.tokens[first:end].astype(np.int64), np.arange(first, end)

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        if node in self._wide:
            first, row = self._wide[node]
            return first + row.rank(token) if 0 <= token < row.size and row[token] else -1
        first, end = self._span(node)
        self._need_tokens(first, end)
        if pays_off(self._arrays.tokens, first, end):
            self._wide[node] = first, wide_row(self._arrays.tokens[first:end])
            return self.child(node, token)
        found = bisect_left(self._tokens, token, first, end)
        return found if found < end and self._tokens[found] == token else -1

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        first, end = self._places(node)
        self._need_rows(first, end)
        return np.array([self._arrays.rows[place] for place in range(first, end)], dtype=np.int64)

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence (looks at all nodes)."""
        found = bool(np.any(self._arrays.tokens[1:] == token))
        if found:  # or they are damaged; but what is not there cannot be read from there either
            self._checks.tokens.need_all()
        return found

    def behind(self, token: int) -> Ints:
        """Return all nodes that `token` leads to (looks at all nodes)."""
        self._checks.tokens.need_all()
        return np.flatnonzero(self._arrays.tokens[1:] == token) + 1

    def path(self, node: int) -> list[int]:
        """Return the tokens that lead from the root to `node`."""
        tokens = []
        while node != self.root:
            self._need_tokens(node, node + 1)
            tokens.append(self._tokens[node])
            node = self.parent(node)
        return tokens[::-1]

    def locate(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return each of these rows with the node where its sequence ends (looks at all rows)."""
        self._checks.rows.need_all()
        values = self._arrays.rows.values()
        places = np.flatnonzero(np.isin(values, np.array(rows, dtype=np.int64)))
        shared = self._arrays.shared.astype(np.int64) + 1 + np.arange(len(self._shared))
        ended = places - shared.searchsorted(places, side="right")
        nodes = range(self.nodes)
        return [
            (int(values[place]), bisect_right(nodes, number, key=self._ended) - 1)
            for place, number in zip(places.tolist(), ended.tolist(), strict=True)
        ]

    def flatten(self) -> tuple[Unsigned, Ints]:
        """Return the tokens of all sequences behind each other, by row, and their lengths."""
        self.check()
        return flatten(self._arrays, self.levels)

    def fewest(self, silent: Sequence[int] = ()) -> Ints:
        """Return how many tokens lead from each node to the next end of a sequence; (nodes,).

        At `silent` nodes no end counts; `trie.index.flatten.FAR` or more stands for none at all.
        """
        return fewest(self._arrays, self.levels, silent)
