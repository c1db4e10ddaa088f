"""An immutable trie of token sequences in a few flat arrays, opened by memory map.

Nodes are numbered breadth first, so the children of a node are neighbours, ascending by the token
that leads to each, and come in the order of their parents. Two bits a node then say all about the
shape: whether it is a first child, and whether it has children. The children of the k-th node that
has any are those from the k-th first child on. Every leaf ends a sequence; one more bit says which
of the other nodes do. The rows lie in the order of the nodes at which their sequences end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from trie import build, files
from trie.bits import Ints, Unsigned
from trie.flatten import fewest, flatten
from trie.walkable import Walkable
from trie.wide import wide_rows


class TokenTrie(Walkable):
    """Sequences of token ids; the row of a sequence is its position among those it was built from.

    Several sequences may be equal, or one the beginning of another; the empty one ends at the root.
    Make one with `build` or `open`. ``len(trie)`` is the number of sequences.
    """

    def __init__(self, arrays: build.TrieArrays) -> None:
        self._arrays = arrays
        self._firsts, self._inner, self._ends = arrays.firsts, arrays.inner, arrays.ends
        self._tokens, self._shared = arrays.tokens.data, arrays.shared.data
        #: Number of nodes, the root included.
        self.nodes = arrays.tokens.size
        self._size = arrays.rows.low.size
        self._wide = wide_rows(arrays)

    @classmethod
    def build(cls, sequences: Iterable[Sequence[int]]) -> TokenTrie:
        """Build the trie of `sequences`, which are read once.

        Raises
        ------
        ValueError
            If a token id is negative or beyond 31 bits.
        """
        return cls(build.arrays(*build.read(sequences)))

    def save(self, directory: str | Path) -> None:
        """Write the arrays into an existing directory; making that atomic is the caller's part."""
        files.write(self._arrays, Path(directory))

    @classmethod
    def open(cls, directory: str | Path) -> TokenTrie:
        """Open a saved trie by memory map, after a check of everything that reading relies on.

        Raises
        ------
        ValueError
            If a file is missing or damaged; the message names it.
        """
        return cls(files.open_arrays(Path(directory)))

    def __len__(self) -> int:
        return self._size

    @cached_property
    def digest(self) -> str:
        """What tells this trie from others: the checksums of its arrays."""
        return "".join(f"{crc:08x}" for crc in files.checksums(self._arrays).values())

    @property
    def nbytes(self) -> int:
        """Bytes of memory, whether mapped or not."""
        parts = self._arrays
        wide = sum(row.nbytes for _, row in self._wide.values())
        bits = parts.firsts.nbytes + parts.inner.nbytes + parts.ends.nbytes + wide
        rows = parts.rows.low.nbytes + parts.rows.high.nbytes + parts.shared.nbytes
        return int(parts.tokens.nbytes + bits + rows)

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return len(self.levels) - 2

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that lead on from `node`, ascending, and the node behind each."""
        first, end = self._span(node)
        return self._arrays.tokens[first:end].astype(np.int64), np.arange(first, end)

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        if node in self._wide:
            first, row = self._wide[node]
            return first + row.rank(token) if 0 <= token < row.size and row[token] else -1
        first, end = self._span(node)
        found = bisect_left(self._tokens, token, first, end)
        return found if found < end and self._tokens[found] == token else -1

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        if self._inner[node]:
            return bool(self._ends[self._inner.rank(node)])
        return self._size > 0  # every leaf, but for the root of the empty trie

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        places = range(self._start(node), self._start(node + 1)) if self._size else ()
        return np.array([self._arrays.rows[place] for place in places], dtype=np.int64)

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence (looks at all nodes)."""
        return bool(np.any(self._arrays.tokens[1:] == token))

    def behind(self, token: int) -> Ints:
        """Return all nodes that `token` leads to (looks at all nodes)."""
        return np.flatnonzero(self._arrays.tokens[1:] == token) + 1

    def parent(self, node: int) -> int:
        """Return the node in front of `node`, which is not the root."""
        return self._inner.select(self._firsts.rank(node + 1) - 2)

    def path(self, node: int) -> list[int]:
        """Return the tokens that lead from the root to `node`."""
        tokens = []
        while node != self.root:
            tokens.append(self._tokens[node])
            node = self.parent(node)
        return tokens[::-1]

    def count(self, node: int) -> int:
        """Return the number of sequences that end at `node` or behind it."""
        total, low, high = 0, node, node + 1
        while low < high and self._size:
            total += self._start(high) - self._start(low)
            low, high = self._first(low), self._first(high)
        return total

    def depth(self, node: int) -> int:
        """Return the number of tokens that lead to `node`."""
        return bisect_right(self.levels, node) - 1

    @cached_property
    def levels(self) -> list[int]:
        """Where the nodes of each depth begin, and the number of nodes."""
        starts = [self.root]
        while starts[-1] < self.nodes:
            starts.append(self._first(starts[-1]))
        return starts

    def locate(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return each of these rows with the node where its sequence ends (looks at all rows)."""
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
        return flatten(self._arrays, self.levels)

    def fewest(self, silent: Sequence[int] = ()) -> Ints:
        """Return how many tokens lead from each node to the next end of a sequence; (nodes,).

        At `silent` nodes no end counts; `trie.flatten.FAR` or more stands for none at all.
        """
        return fewest(self._arrays, self.levels, silent)

    def _first(self, node: int) -> int:
        """Return where the children of `node`, and of those behind it, begin."""
        number = self._inner.rank(node) + 1
        return self._firsts.select(number) if number < self._firsts.total else self.nodes

    def _span(self, node: int) -> tuple[int, int]:
        first = self._first(node)
        return first, self._firsts.following(first + 1) if self._inner[node] else first

    def _ended(self, node: int) -> int:
        """Return how many nodes before `node` end a sequence."""
        number = self._inner.rank(node)
        return node - number + self._ends.rank(number)

    def _start(self, node: int) -> int:
        """Return where the rows of `node`, and of those behind it, begin."""
        ended = self._ended(node)
        return ended + bisect_left(self._shared, ended)
