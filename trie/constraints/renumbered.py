"""A view of a trie whose rows have other numbers."""

from __future__ import annotations

import numpy as np

from trie.constraints.constraint import Trie
from trie.index.bit_vector import Ints


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

    Raises
    ------
    ValueError
        If starts and numbers differ in length, or the starts do not ascend from 0.
    """

    root = 0

    def __init__(self, trie: Trie, starts: Ints, numbers: Ints, hidden: Ints) -> None:
        if (
            starts.shape != numbers.shape
            or starts[:1].tolist() != [0]
            or (np.diff(starts) < 1).any()
        ):
            raise ValueError("the ranges of rows do not ascend from 0, each with a number")
        self._trie, self._starts, self._hidden = trie, starts, hidden
        self._shifts = numbers - starts
        # Bound methods of the trie, to save a call.
        self.children, self.child, self.walk = trie.children, trie.child, trie.walk
        self.depth, self.ends, self.contains_token = trie.depth, trie.ends, trie.contains_token
        self.distances_to_end = trie.distances_to_end

    @property
    def nodes(self) -> int:
        """An exclusive upper bound of the node numbers."""
        return self._trie.nodes

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return self._trie.longest

    def __len__(self) -> int:
        return len(self._trie) - self._hidden.size

    def rows(self, node: int) -> Ints:
        """Return the numbers of the visible rows whose sequences end at `node`, ascending."""
        rows = self._trie.rows(node)
        ranges = self._starts.searchsorted(rows, side="right") - 1
        numbers = np.sort(rows + self._shifts[ranges])
        if self._hidden.size:
            places = self._hidden.searchsorted(numbers).clip(max=self._hidden.size - 1)
            numbers = numbers[self._hidden[places] != numbers]
        return numbers
