"""Views of a token trie with changes: sequences added and removed, rows renumbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import index

import numpy as np

from trie.token_trie import Ints, TokenTrie, Walkable


class UpdatedTrie(Walkable):
    """A token trie with changes, which do not copy it; constraints accept it like a `TokenTrie`.

    Rows of the base keep their numbers; to find the removed ones, all rows are scanned. Added
    sequences get the following rows, in order. A node below ``n``, the number of nodes of the base,
    is a node of the base, and node ``n + i`` is node ``i`` of the trie of additions. A prefix of an
    added sequence always has the latter number, even if the base has a node for it, too.

    Raises
    ------
    ValueError
        If a removed row does not exist or is given twice, or a token id is negative or needs more
        than 31 bits.
    """

    def __init__(
        self,
        base: TokenTrie,
        added: Iterable[Sequence[int]] = (),
        removed: Iterable[int] = (),
    ) -> None:
        rows = list(map(index, removed))
        self._removed = frozenset(rows)
        if len(self._removed) < len(rows):
            raise ValueError("a row is given twice")
        if (missing := next((row for row in rows if not 0 <= row < len(base)), None)) is not None:
            raise ValueError(f"there is no row {missing}")
        self._base, self._delta = base, TokenTrie.build(added)
        self._ends = frozenset(base.locate(np.array(rows, dtype=np.int64)).tolist())
        self._closed = self._closed_nodes()
        self._closed_array = np.array(sorted(self._closed), dtype=np.int64)

    def _closed_nodes(self) -> frozenset[int]:
        closed, queued = set[int](), set(self._ends)
        todo = [-node for node in queued]
        heapify(todo)
        while todo:  # the last node first, so children before their parents
            node = -heappop(todo)
            if not self._base_rows(node).size and closed.issuperset(
                self._base.children(node)[1].tolist()
            ):
                closed.add(node)
                if node != self.root and (parent := self._base.parent(node)) not in queued:
                    queued.add(parent)
                    heappush(todo, -parent)
        return frozenset(closed)

    def __len__(self) -> int:
        return len(self._base) - len(self._removed) + len(self._delta)

    @property
    def longest(self) -> int:
        levels = list(enumerate(pairwise(self._base.levels)))
        depths = (d for d, nodes in levels[::-1] if not self._closed.issuperset(range(*nodes)))
        return max(next(depths, 0), self._delta.longest)

    def children(self, node: int) -> tuple[Ints, Ints]:
        old, new = self._split(node)
        if new < 0:
            return self._base_children(old)
        tokens, nodes = self._delta.children(new)
        nodes = self._base.nodes + nodes
        if old >= 0:
            old_tokens, old_nodes = self._base_children(old)
            # Where both have a child, np.unique keeps the first one: that of the delta.
            tokens, order = np.unique(np.concatenate([tokens, old_tokens]), return_index=True)
            nodes = np.concatenate([nodes, old_nodes])[order]
        return tokens, nodes

    def child(self, node: int, token: int) -> int:
        old, new = self._split(node)
        if new >= 0 and (found := self._delta.child(new, token)) >= 0:
            return self._base.nodes + found
        return self._if_open(self._base.child(old, token)) if old >= 0 else -1

    def ends(self, node: int) -> bool:
        return self.rows(node).size > 0

    def rows(self, node: int) -> Ints:
        old, new = self._split(node)
        base = [self._base_rows(old)] if old >= 0 else []
        added = [len(self._base) + self._delta.rows(new)] if new >= 0 else []
        return np.concatenate(base + added)

    def contains_token(self, token: int) -> bool:
        open_nodes = np.setdiff1d(self._base.nodes_after(token), self._closed_array)
        return open_nodes.size > 0 or self._delta.contains_token(token)

    def _split(self, node: int) -> tuple[int, int]:
        """Return the node's number in the base and in the delta, -1 where it has none."""
        if node == self.root:
            return self._if_open(node), node
        if node < self._base.nodes:
            return node, -1
        new = node - self._base.nodes
        return self._if_open(self._base.walk(self._delta.path(new))), new

    def _if_open(self, node: int) -> int:
        return -1 if node in self._closed else node

    def _base_rows(self, node: int) -> Ints:
        rows = self._base.rows(node)
        if node not in self._ends:
            return rows
        return np.array([row for row in rows.tolist() if row not in self._removed], dtype=np.int64)

    def _base_children(self, node: int) -> tuple[Ints, Ints]:
        tokens, nodes = self._base.children(node)
        if not nodes.size:
            return tokens, nodes
        low, high = self._closed_array.searchsorted([nodes[0], nodes[-1] + 1])
        closed = self._closed_array[low:high] - nodes[0]
        return np.delete(tokens, closed), np.delete(nodes, closed)


class RenumberedTrie:
    """A view of a trie that maps its rows to other numbers and hides some.

    Nodes are those of the trie: nothing is copied, and following tokens costs the same.

    Parameters
    ----------
    trie
        The trie.
    starts, numbers
        Ranges of rows: the row at which each range begins, ascending from 0, and the number that
        this row is mapped to. The following rows of the range are mapped to consecutive numbers. No
        two rows may be mapped to the same number.
    hidden
        The numbers to hide, ascending, of existing rows. The sequence of each must also be that of
        a visible row, because it can still be followed to its end.
    """

    root = 0

    def __init__(
        self, trie: TokenTrie | UpdatedTrie, starts: Ints, numbers: Ints, hidden: Ints
    ) -> None:
        self._trie, self._starts, self._hidden = trie, starts, hidden
        self._shifts = numbers - starts
        # Bound methods of the trie, to save a call.
        self.children, self.child, self.walk = trie.children, trie.child, trie.walk
        self.ends, self.contains_token = trie.ends, trie.contains_token

    @property
    def longest(self) -> int:
        return self._trie.longest

    def __len__(self) -> int:
        return len(self._trie) - self._hidden.size

    def rows(self, node: int) -> Ints:
        rows = self._trie.rows(node)
        ranges = self._starts.searchsorted(rows, side="right") - 1
        return np.setdiff1d(rows + self._shifts[ranges], self._hidden)
