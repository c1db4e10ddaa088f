"""Adding sequences to a token trie and removing them without rebuilding it.

The original trie is not changed. Additions go into a second, small trie, and removals are recorded
by `trie.index.pruned`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from pathlib import Path

import numpy as np

from trie.index import trie_build
from trie.index.bit_vector import Ints
from trie.index.csr import take_rows
from trie.index.pruned import PrunedTrie
from trie.index.token_trie import TokenTrie, Walkable
from trie.index.traversal import UNREACHABLE
from trie.index.trie_changes import TrieChanges, read_changes, write_changes


class UpdatedTrie(Walkable):
    """A token trie with changes; constraints accept it in place of a `TokenTrie`.

    It is immutable, too: `add` and `remove` return a new trie, at a cost that grows with the number
    of changes (removing also scans all rows). Decoding in progress is therefore not disturbed, and
    decoding that uses the new trie sees all changes.

    Rows of the base keep their numbers. Added sequences get the following rows, in order. The row
    of a removed sequence is not used again, so rows have gaps until `compact` renumbers them.

    With ``n`` nodes in the base, a node below ``n`` is a node of the base, and node ``n + i`` is
    node ``i`` of the trie of additions. A prefix of an added sequence always has the latter number,
    even if the base has a node for it, too.

    Attributes
    ----------
    base
        The trie before all changes.
    next_row
        The row of the next sequence to be added.
    nodes
        An exclusive upper bound of the node numbers.
    """

    def __init__(self, base: TokenTrie) -> None:
        self._assemble(PrunedTrie(base), {}, len(base))

    def _assemble(
        self, pruned: PrunedTrie, added: dict[int, tuple[int, ...]], next_row: int
    ) -> UpdatedTrie:
        self.base = pruned.base
        self.next_row = next_row
        self._pruned = pruned
        self._added = added  # row to sequence, ascending by row
        self._delta = TokenTrie.build(added.values())
        self._delta_rows = np.array(list(added), dtype=np.int64)
        # The base's node for the same prefix as a node of the delta, or -1; filled on demand.
        self._base_node: dict[int, int] = {}
        self.nodes = self.base.nodes + self._delta.nodes
        return self

    def add(self, sequences: Iterable[Sequence[int]]) -> UpdatedTrie:
        """Return a trie that also has these sequences, in rows from `next_row` on.

        Raises
        ------
        ValueError
            If a token id is negative or needs more than 31 bits.
        TypeError
            If a token id is not an integer.
        """
        added = dict(self._added)
        for row, sequence in enumerate(sequences, start=self.next_row):
            added[row] = tuple(map(index, sequence))
        next_row = self.next_row + len(added) - len(self._added)
        return UpdatedTrie.__new__(UpdatedTrie)._assemble(self._pruned, added, next_row)

    def remove(self, rows: Iterable[int]) -> UpdatedTrie:
        """Return a trie without the sequences of these rows.

        Raises
        ------
        ValueError
            If a row does not exist or is given twice.
        TypeError
            If a row is not an integer.
        """
        rows = list(map(index, rows))
        distinct = set(rows)
        if len(distinct) < len(rows):
            raise ValueError("a row is given twice")
        if (missing := next((row for row in rows if row not in self), None)) is not None:
            raise ValueError(f"there is no row {missing}")
        old = [row for row in rows if row < len(self.base)]
        pruned = self._pruned.remove(old) if old else self._pruned
        added = {row: sequence for row, sequence in self._added.items() if row not in distinct}
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
        """Return the tokens that may follow at `node`, ascending, and the child by each of them."""
        old, new = self._split(node)
        if new < 0:
            return self._pruned.children(old)
        tokens, nodes = self._delta.children(new)
        if old >= 0:
            old_tokens, old_nodes = self._pruned.children(old)
            _, in_new, in_old = np.intersect1d(
                tokens, old_tokens, assume_unique=True, return_indices=True
            )
            pairs = zip(nodes[in_new].tolist(), old_nodes[in_old].tolist(), strict=True)
            self._base_node.update(pairs)
            # Where both have a child, np.unique keeps the first one: that of the delta.
            tokens, order = np.unique(np.concatenate([tokens, old_tokens]), return_index=True)
            return tokens, np.concatenate([self.base.nodes + nodes, old_nodes])[order]
        return tokens, self.base.nodes + nodes

    def child(self, node: int, token: int) -> int:
        """Return the child of `node` by `token`, or -1."""
        old, new = self._split(node)
        if old >= 0:
            old = self._pruned.if_open(self.base.child(old, token))
        if new >= 0:
            new = self._delta.child(new, token)
        if new < 0:
            return old
        self._base_node[new] = old
        return self.base.nodes + new

    def depth(self, node: int) -> int:
        """Return the number of tokens on the path from the root to `node`."""
        old, new = self._split(node)
        return self.base.depth(old) if new < 0 else self._delta.depth(new)

    def distances_to_end(self) -> Ints:
        """Return the least number of tokens from each node to the end of a sequence; (nodes,)."""
        old, new = self._pruned.distances_to_end(), self._delta.distances_to_end()
        base_nodes = [self._split(self.base.nodes + node)[0] for node in range(new.size)]
        new = np.minimum(new, np.append(old, UNREACHABLE)[base_nodes])  # -1 is the last item
        old[self.root] = new[self.root]
        return np.concatenate([old, new])

    def ends(self, node: int) -> bool:
        """Return whether a sequence ends at `node`."""
        old, new = self._split(node)
        return (old >= 0 and self._pruned.ends(old)) or (new >= 0 and self._delta.ends(new))

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        old, new = self._split(node)
        base = [self._pruned.rows(old)] if old >= 0 else []
        added = [self._delta_rows[self._delta.rows(new)]] if new >= 0 else []
        return np.concatenate(base + added)

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence (scans all nodes)."""
        return self._delta.contains_token(token) or self._pruned.contains_token(token)

    def compact(self, order: Sequence[int] | None = None) -> TokenTrie:
        """Build a new trie of the current sequences.

        Row ``order[i]`` becomes row ``i``; by default, rows keep their order.

        Raises
        ------
        ValueError
            If `order` does not contain each current row exactly once.
        """
        size = len(self.base)
        current = [row for row in range(size) if row not in self._pruned.removed]
        current += self._added
        rows = np.array(current if order is None else order, dtype=np.int64)
        if not np.array_equal(np.sort(rows), current):
            raise ValueError("the order does not contain each row once")
        old_flat, old_lengths = self.base.flatten()
        new_flat, new_lengths = trie_build.concatenate(self._added.values())
        flat = np.concatenate([old_flat, new_flat])
        lengths = np.concatenate([old_lengths, new_lengths])
        # Added sequences lie in `flat` after those of the base, without gaps between their rows.
        is_added = rows >= size
        rows[is_added] = size + self._delta_rows.searchsorted(rows[is_added])
        return TokenTrie(trie_build.build_arrays(*take_rows(flat, lengths, rows)))

    def save(self, path: str | Path) -> None:
        """Write the changes, without the base, to a file; an older file is replaced atomically."""
        removed = sorted(self._pruned.removed)
        changes = TrieChanges(self.base.digest, self.next_row, removed, self._added)
        write_changes(Path(path), changes)

    @classmethod
    def open(cls, path: str | Path, base: TokenTrie) -> UpdatedTrie:
        """Read the changes of `base` from a file.

        Raises
        ------
        ValueError
            If the file is missing or damaged, or holds the changes of another trie; or if a file of
            the base is damaged.
        """
        changes = read_changes(Path(path), base.digest, len(base))
        pruned = PrunedTrie(base)
        pruned = pruned.remove(changes.removed) if changes.removed else pruned
        return cls.__new__(cls)._assemble(pruned, changes.added, changes.next_row)

    def _split(self, node: int) -> tuple[int, int]:
        """Return the node's number in the base and in the delta, -1 where it has none."""
        if node == self.root:
            return self._pruned.if_open(node), node
        if node < self.base.nodes:
            return node, -1
        node -= self.base.nodes
        if node not in self._base_node:
            path = self._delta.path(node)
            self._base_node[node] = self._pruned.if_open(self.base.walk(path))
        return self._base_node[node], node
