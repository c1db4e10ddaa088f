"""A trie whose rows have other numbers than those it was built with."""

from __future__ import annotations

import numpy as np

from trie.constraints.constraint import Trie
from trie.index.bits import Ints


class Renumbered:
    """Shows the rows of a trie by other numbers, and hides some.

    Nodes are those of the trie: nothing is copied, and following tokens costs the same.

    Parameters
    ----------
    trie
        The trie.
    starts, numbers
        Stretches of rows: the row at which each begins, ascending from 0, and the number that is
        shown for that row. The rows behind it count on from there. No number is shown for two rows.
    hidden
        Numbers that are not shown, ascending, of rows that are there. The sequence of each must be
        that of a row that is shown, too: it can still be followed to its end.

    Raises
    ------
    ValueError
        If there is not one number for each start, or the starts do not ascend from 0.
    """

    root = 0

    def __init__(self, trie: Trie, starts: Ints, numbers: Ints, hidden: Ints) -> None:
        if (
            starts.shape != numbers.shape
            or starts[:1].tolist() != [0]
            or (np.diff(starts) < 1).any()
        ):
            raise ValueError("the stretches of rows do not ascend from 0, each with a number")
        self._trie, self._starts, self._hidden = trie, starts, hidden
        self._shifts = numbers - starts
        # As they are, without another call around each.
        self.children, self.child, self.walk = trie.children, trie.child, trie.walk
        self.depth, self.ends, self.holds = trie.depth, trie.ends, trie.holds
        self.fewest = trie.fewest

    @property
    def nodes(self) -> int:
        """A number that all nodes are below."""
        return self._trie.nodes

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return self._trie.longest

    def __len__(self) -> int:
        return len(self._trie) - self._hidden.size

    def rows(self, node: int) -> Ints:
        """Return the numbers of the rows whose sequences end at `node`, ascending."""
        rows = self._trie.rows(node)
        found = np.sort(rows + self._shifts[self._starts.searchsorted(rows, side="right") - 1])
        if self._hidden.size:
            places = self._hidden.searchsorted(found).clip(max=self._hidden.size - 1)
            found = found[self._hidden[places] != found]
        return found
