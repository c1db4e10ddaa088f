"""The tree structure of a trie in LOUDS-Sparse bit vectors.

LOUDS is the level-order unary degree sequence of Jacobson (1989), here in the variant of SuRF
(Zhang et al., SIGMOD 2018). Nodes are numbered breadth first, so the children of a node are
consecutive, ascending by token, and come in the order of their parents. Two bits per node describe
the whole tree: whether it is its parent's first child (``firsts``), and whether it has children
(``inner``). The children of the k-th inner node begin at the k-th first child. Every leaf ends a
sequence; one bit for each inner node says whether a sequence ends there, too (``ends``). The rows
of the sequences are stored in the order of the nodes at which the sequences end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

from trie.index.trie_build import TrieArrays


class LoudsTree:
    """Everything about a trie that needs neither its tokens nor its rows.

    Attributes
    ----------
    nodes
        Number of nodes, including the root.
    """

    def __init__(self, arrays: TrieArrays) -> None:
        self._firsts, self._inner, self._ends = arrays.firsts, arrays.inner, arrays.ends
        self._shared, self._size = arrays.shared.data, arrays.rows.low.size
        self.nodes = arrays.tokens.size

    def __len__(self) -> int:
        return self._size

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return len(self.levels) - 2

    def ends(self, node: int) -> bool:
        """Return whether a sequence ends at `node`."""
        if self._inner[node]:
            return bool(self._ends[self._inner.rank(node)])
        return self._size > 0  # every leaf, except the root of the empty trie

    def parent(self, node: int) -> int:
        """Return the parent of `node`, which must not be the root."""
        return self._inner.select(self._firsts.rank(node + 1) - 2)

    def count(self, node: int) -> int:
        """Return the number of sequences that end at `node` or below it."""
        total, low, high = 0, node, node + 1
        while low < high and self._size:
            total += self._first_row(high) - self._first_row(low)
            low, high = self._first_child(low), self._first_child(high)
        return total

    def depth(self, node: int) -> int:
        """Return the number of tokens on the path from the root to `node`."""
        return bisect_right(self.levels, node) - 1

    @cached_property
    def levels(self) -> list[int]:
        """The first node of each depth, followed by the number of nodes."""
        starts = [0]
        while starts[-1] < self.nodes:
            starts.append(self._first_child(starts[-1]))
        return starts

    def _first_child(self, node: int) -> int:
        """Return the first node whose parent is `node` or a later node."""
        number = self._inner.rank(node) + 1
        return self._firsts.select(number) if number < self._firsts.total else self.nodes

    def _child_range(self, node: int) -> tuple[int, int]:
        """Return the half-open range of the children of `node`."""
        first = self._first_child(node)
        return first, self._firsts.next_set(first + 1) if self._inner[node] else first

    def _end_rank(self, node: int) -> int:
        """Return how many nodes before `node` end a sequence."""
        number = self._inner.rank(node)
        return node - number + self._ends.rank(number)

    def _first_row(self, node: int) -> int:
        """Return where the rows of `node` and of later nodes begin."""
        ended = self._end_rank(node)
        return ended + bisect_left(self._shared, ended)

    def _row_range(self, node: int) -> tuple[int, int]:
        """Return the half-open range in which the rows of `node` are stored."""
        return (self._first_row(node), self._first_row(node + 1)) if self._size else (0, 0)
