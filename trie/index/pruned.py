"""A token trie without some of its rows.

For each node on the path of a removed row the removed rows behind it are counted. A node behind
which all are removed is closed: it counts as absent, so that no path leads to a dead end. All other
nodes cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from trie.index.bits import Ints
from trie.index.token_trie import TokenTrie


class PrunedTrie:
    """What is left of a token trie; immutable, `remove` returns another one.

    Nodes and rows have the numbers that they have in the trie.
    """

    def __init__(self, base: TokenTrie) -> None:
        self.base = base
        #: The rows that are not there.
        self.removed: frozenset[int] = frozenset()
        self._dead: dict[int, int] = {}  # removed rows behind each node that has any
        self._closed: frozenset[int] = frozenset()
        self._closed_nodes: Ints = np.empty(0, dtype=np.int64)  # the same, ascending

    def remove(self, rows: Sequence[int]) -> PrunedTrie:
        """Return the trie without these rows, too, which are there."""
        other = PrunedTrie(self.base)
        dead, touched = dict(self._dead), set()
        for _, node in self.base.locate(rows):
            for place in self._up(node):
                dead[place] = dead.get(place, 0) + 1
                touched.add(place)
        other.removed, other._dead = self.removed.union(rows), dead
        other._closed = self._closed.union(n for n in touched if dead[n] == self.base.count(n))
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

    def open(self, node: int) -> int:
        """Return `node`, or -1 if it is closed."""
        return -1 if node in self._closed else node

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that lead on from `node`, ascending, and the node behind each."""
        tokens, nodes = self.base.children(node)
        if node not in self._dead or not nodes.size:
            return tokens, nodes
        low, high = self._closed_nodes.searchsorted([nodes[0], nodes[-1] + 1])
        closed = self._closed_nodes[low:high] - nodes[0]
        return np.delete(tokens, closed), np.delete(nodes, closed)

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        return self.rows(node).size > 0 if node in self._dead else self.base.ends(node)

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        rows = self.base.rows(node)
        if node not in self._dead:
            return rows
        return np.array([row for row in rows.tolist() if row not in self.removed], dtype=np.int64)

    def fewest(self) -> Ints:
        """Return how many tokens lead from each node of the trie to the next end; (nodes,)."""
        return self.base.fewest([node for node in self._dead if not self.rows(node).size])

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence (looks at all nodes)."""
        if not self._closed:
            return self.base.holds(token)
        return any(node not in self._closed for node in self.base.behind(token).tolist())

    def _up(self, node: int) -> Iterable[int]:
        """Yield the nodes from `node` to the root."""
        yield node
        while node != TokenTrie.root:
            node = self.base.parent(node)
            yield node
