"""Sequences added to a token trie and removed from it, without building it again.

The trie stays as it is. Beside it there are a small trie of the added sequences, and a note of the
removed ones (`trie.index.pruned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from pathlib import Path

import numpy as np

from trie.index import journal
from trie.index.bits import Ints
from trie.index.flatten import FAR
from trie.index.merged import merged
from trie.index.pruned import PrunedTrie
from trie.index.token_trie import TokenTrie
from trie.index.walkable import Walkable


class UpdatedTrie(Walkable):
    """A token trie with changes; constraints take it in the place of a `TokenTrie`.

    It is immutable, too: `add` and `remove` return another one, at a cost that grows with the
    changes (removing looks at all rows besides). So a decode that is under way is not disturbed,
    and the next one that is given the new object sees every change.

    Rows of the base keep their numbers. Added sequences get the next ones, in order; the number of
    a removed row is not given again. So rows have gaps, until `compact` numbers them anew.

    With ``n`` nodes in the base, a node is the base's by its number, or ``n`` plus a node of the
    small trie: where an added sequence passes, whether or not the base has such a node, too.
    """

    def __init__(self, base: TokenTrie) -> None:
        self._assemble(PrunedTrie(base), {}, len(base))

    def _assemble(
        self, pruned: PrunedTrie, added: dict[int, tuple[int, ...]], next_row: int
    ) -> UpdatedTrie:
        self.base = pruned.base
        self.next_row = next_row  #: The row that the next added sequence gets.
        self._pruned = pruned
        self._added = added  # row to sequence, ascending by row
        self._delta = TokenTrie.build(added.values())
        self._numbers = np.array(list(added), dtype=np.int64)
        # The base's node beside one of the delta, -1 where there is none; filled on demand.
        self._beside: dict[int, int] = {}
        self.nodes = self.base.nodes + self._delta.nodes  #: All nodes are below it.
        return self

    def add(self, sequences: Iterable[Sequence[int]]) -> UpdatedTrie:
        """Return a trie that has these sequences, too; the first one's row is `next_row`.

        Raises
        ------
        ValueError
            If a token id is negative or beyond 31 bits.
        TypeError
            If a token id is no integer.
        """
        added = dict(self._added)
        for row, sequence in enumerate(sequences, start=self.next_row):
            added[row] = tuple(map(index, sequence))
        next_row = self.next_row + len(added) - len(self._added)
        return UpdatedTrie.__new__(UpdatedTrie)._assemble(self._pruned, added, next_row)

    def remove(self, rows: Iterable[int]) -> UpdatedTrie:
        """Return a trie that lacks the sequences of these rows.

        Raises
        ------
        ValueError
            If a row is not there, or named twice.
        TypeError
            If a row is no integer.
        """
        rows = list(map(index, rows))
        gone = set(rows)
        if len(gone) < len(rows):
            raise ValueError("a row is named twice")
        if (missing := next((row for row in rows if row not in self), None)) is not None:
            raise ValueError(f"there is no row {missing}")
        old = [row for row in rows if row < len(self.base)]
        pruned = self._pruned.remove(old) if old else self._pruned
        added = {row: sequence for row, sequence in self._added.items() if row not in gone}
        return UpdatedTrie.__new__(UpdatedTrie)._assemble(pruned, added, self.next_row)

    def __contains__(self, row: int) -> bool:
        return row in self._added or (0 <= row < len(self.base) and row not in self._pruned.removed)

    def __len__(self) -> int:
        return len(self._pruned) + len(self._added)

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return max(self._pruned.longest, self._delta.longest)

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that lead on from `node`, ascending, and the node behind each."""
        old, new = self._pair(node)
        if new < 0:
            return self._pruned.children(old)
        tokens, nodes = self._delta.children(new)
        if old >= 0:
            below, beside = self._pruned.children(old)
            _, both, at = np.intersect1d(tokens, below, assume_unique=True, return_indices=True)
            self._beside.update(zip(nodes[both].tolist(), beside[at].tolist(), strict=True))
            # Of two nodes behind one token the first counts: the one of the delta.
            tokens, order = np.unique(np.concatenate([tokens, below]), return_index=True)
            return tokens, np.concatenate([self.base.nodes + nodes, beside])[order]
        return tokens, self.base.nodes + nodes

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        old, new = self._pair(node)
        if old >= 0:
            old = self._pruned.open(self.base.child(old, token))
        if new >= 0:
            new = self._delta.child(new, token)
        if new < 0:
            return old
        self._beside[new] = old
        return self.base.nodes + new

    def depth(self, node: int) -> int:
        """Return the number of tokens that lead to `node`."""
        old, new = self._pair(node)
        return self.base.depth(old) if new < 0 else self._delta.depth(new)

    def fewest(self) -> Ints:
        """Return how many tokens lead from each node to the next end of a sequence; (nodes,)."""
        old, new = self._pruned.fewest(), self._delta.fewest()
        beside = [self._pair(self.base.nodes + node)[0] for node in range(new.size)]
        new = np.minimum(new, np.append(old, FAR)[beside])  # -1 is the last
        old[self.root] = new[self.root]
        return np.concatenate([old, new])

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        old, new = self._pair(node)
        return (old >= 0 and self._pruned.ends(old)) or (new >= 0 and self._delta.ends(new))

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        old, new = self._pair(node)
        base = [self._pruned.rows(old)] if old >= 0 else []
        added = [self._numbers[self._delta.rows(new)]] if new >= 0 else []
        return np.concatenate(base + added)

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence (looks at all nodes)."""
        return self._delta.holds(token) or self._pruned.holds(token)

    def compact(self, order: Sequence[int] | None = None) -> TokenTrie:
        """Build a fresh trie of the sequences that are there.

        Row ``order[i]`` becomes row ``i``; without an order, they ascend.

        Raises
        ------
        ValueError
            If `order` does not name each row that is there once.
        """
        return merged(self.base, self._pruned.removed, self._added, order)

    def save(self, path: str | Path) -> None:
        """Write the changes, not the base, into one file, which takes the place of an older one.

        At every moment there is the older file or the new one as a whole.
        """
        removed = sorted(self._pruned.removed)
        changes = journal.Journal(self.base.digest, self.next_row, removed, self._added)
        journal.write(Path(path), changes)

    @classmethod
    def open(cls, path: str | Path, base: TokenTrie) -> UpdatedTrie:
        """Read the changes of `base` from a file.

        Raises
        ------
        ValueError
            If the file is missing, damaged, or holds the changes of another trie; or if a file of
            the base turns out to be damaged.
        """
        found = journal.read(Path(path), base.digest, len(base))
        pruned = PrunedTrie(base)
        pruned = pruned.remove(found.removed) if found.removed else pruned
        return cls.__new__(cls)._assemble(pruned, found.added, found.next_row)

    def _pair(self, node: int) -> tuple[int, int]:
        """Return the node's places in the base and in the delta, -1 where it is not in one."""
        if node == self.root:
            return self._pruned.open(node), node
        if node < self.base.nodes:
            return node, -1
        node -= self.base.nodes
        if node not in self._beside:
            self._beside[node] = self._pruned.open(self.base.walk(self._delta.path(node)))
        return self._beside[node], node
