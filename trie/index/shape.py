"""The shape of a trie: its nodes, which ones hang from which, and where sequences end.

Nodes are numbered breadth first, so the children of a node are neighbours, ascending by the token
that leads to each, and come in the order of their parents. Two bits a node then say all about the
shape: whether it is a first child, and whether it has children. The children of the k-th node that
has any are those from the k-th first child on. Every leaf ends a sequence; one more bit says which
of the other nodes do. The rows lie in the order of the nodes at which their sequences end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

from trie.index.trie_build import TrieArrays


class Shape:
    """What there is to know of a trie without a look at its tokens and rows."""

    def __init__(self, arrays: TrieArrays) -> None:
        self._firsts, self._inner, self._ends = arrays.firsts, arrays.inner, arrays.ends
        self._shared, self._size = arrays.shared.data, arrays.rows.low.size
        #: Number of nodes, the root included.
        self.nodes = arrays.tokens.size

    def __len__(self) -> int:
        return self._size

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return len(self.levels) - 2

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        if self._inner[node]:
            return bool(self._ends[self._inner.rank(node)])
        return self._size > 0  # every leaf, but for the root of the empty trie

    def parent(self, node: int) -> int:
        """Return the node in front of `node`, which is not the root."""
        return self._inner.select(self._firsts.rank(node + 1) - 2)

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
        starts = [0]
        while starts[-1] < self.nodes:
            starts.append(self._first(starts[-1]))
        return starts

    def _first(self, node: int) -> int:
        """Return where the children of `node`, and of those behind it, begin."""
        number = self._inner.rank(node) + 1
        return self._firsts.select(number) if number < self._firsts.total else self.nodes

    def _span(self, node: int) -> tuple[int, int]:
        """Return where the children of `node` begin and end."""
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

    def _places(self, node: int) -> tuple[int, int]:
        """Return where the rows of `node` begin and end."""
        return (self._start(node), self._start(node + 1)) if self._size else (0, 0)
