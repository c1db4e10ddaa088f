"""A token trie without some of its rows.

For each node on the path of a removed row, the removed rows at and below it are counted. A node
whose rows are all removed is closed: it counts as absent, so that no path leads to a dead end. All
other nodes need no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trie.index.bit_vector import Ints
from trie.index.token_trie import TokenTrie


class PrunedTrie:
    """A token trie without some of its rows. Immutable: `remove` returns a new one.

    Nodes and rows keep the numbers that they have in the original trie.

    Attributes
    ----------
    base
        The original trie.
    removed
        The removed rows.
    """

    def __init__(self, base: TokenTrie) -> None:
        self.base = base
        self.removed: frozenset[int] = frozenset()
        self._removed_below: dict[int, int] = {}  # the count of each node that has any
        self._closed: frozenset[int] = frozenset()
        self._closed_nodes: Ints = np.empty(0, dtype=np.int64)  # the same, ascending

    def remove(self, rows: Sequence[int]) -> PrunedTrie:
        """Return the trie without these rows, which must be present."""
        other = PrunedTrie(self.base)
        counts, touched = dict(self._removed_below), set()
        for _, end in self.base.locate(rows):
            for node in self._ancestors(end):
                counts[node] = counts.get(node, 0) + 1
                touched.add(node)
        other.removed, other._removed_below = self.removed.union(rows), counts
        other._closed = self._closed.union(n for n in touched if counts[n] == self.base.count(n))
        other._closed_nodes = np.array(sorted(other._closed), dtype=np.int64)
        return other

    def __len__(self) -> int:
        return len(self.base) - len(self.removed)

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        levels = self.base.levels
        for depth in reversed(range(len(levels) - 1)):
            if any(node not in self._closed for node in range(levels[depth], levels[depth + 1])):
                return depth
        return 0

    def if_open(self, node: int) -> int:
        """Return `node`, or -1 if it is closed."""
        return -1 if node in self._closed else node

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow at `node`, ascending, and the child by each of them."""
        tokens, nodes = self.base.children(node)
        if node not in self._removed_below or not nodes.size:
            return tokens, nodes
        low, high = self._closed_nodes.searchsorted([nodes[0], nodes[-1] + 1])
        closed = self._closed_nodes[low:high] - nodes[0]
        return np.delete(tokens, closed), np.delete(nodes, closed)

    def ends(self, node: int) -> bool:
        """Return whether a sequence ends at `node`."""
        return self.rows(node).size > 0 if node in self._removed_below else self.base.ends(node)

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        rows = self.base.rows(node)
        if node not in self._removed_below:
            return rows
        return np.array([row for row in rows.tolist() if row not in self.removed], dtype=np.int64)

    def distances_to_end(self) -> Ints:
        """Return the least number of tokens from each node to the end of a sequence; (nodes,)."""
        ignored = [node for node in self._removed_below if not self.rows(node).size]
        return self.base.distances_to_end(ignored)

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence (scans all nodes)."""
        if not self._closed:
            return self.base.contains_token(token)
        return any(node not in self._closed for node in self.base.nodes_after(token).tolist())

    def _ancestors(self, node: int) -> Iterator[int]:
        """Yield the nodes from `node` up to the root."""
        yield node
        while node != TokenTrie.root:
            node = self.base.parent(node)
            yield node
