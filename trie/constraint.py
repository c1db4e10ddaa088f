"""What constrained decoding asks of a constraint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Constraint(Protocol):
    """An automaton over integer states that says which token may come next.

    A sequence ends when the end token is emitted; only states that may end allow it. From every
    state that can be reached the end can be reached: there are no dead ends.
    """

    start: int

    def allowed(self, state: int) -> npt.NDArray[np.int64]:
        """Return the token ids that may follow, ascending, each once; none behind the end."""
        ...

    def advance(self, state: int, token: int) -> int:
        """Return the state behind an allowed `token`."""
        ...


class Trie(Protocol):
    """What constraints ask of a trie of token sequences: `TokenTrie` or `UpdatedTrie`.

    It does not change: a node stays one, and what can follow there is the same at every call.
    Every node but the root of the empty trie leads to a sequence's end.
    """

    @property
    def root(self) -> int:
        """The node in front of all tokens."""
        ...

    @property
    def nodes(self) -> int:
        """A number that all nodes are below."""
        ...

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        ...

    def __len__(self) -> int:
        """Return the number of sequences."""
        ...

    def children(self, node: int) -> tuple[npt.NDArray[np.int64], int]:
        """Return the tokens that lead on from `node`, ascending, and a number for `TokenTrie`."""
        ...

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        ...

    def walk(self, ids: Iterable[int], node: int = 0) -> int:
        """Return the node that `ids` lead to from `node`, -1 where they leave the trie."""
        ...

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        ...

    def rows(self, node: int) -> npt.NDArray[np.int64]:
        """Return the rows of the sequences that end at `node`, ascending."""
        ...

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence."""
        ...
