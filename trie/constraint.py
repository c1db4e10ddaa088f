"""What constrained decoding asks of a constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Transitions:
    """What may follow each of a batch of states, behind each other.

    Attributes
    ----------
    tokens
        Token ids; of each state ascending, each once.
    states
        The state behind each of them.
    sizes
        How many there are of each state asked for; 0 only behind the end.
    """

    tokens: Ints
    states: Ints
    sizes: Ints


class Constraint(Protocol):
    """An automaton over integer states that says which token may come next.

    A sequence ends when the end token is emitted; only states that may end allow it. From every
    state that can be reached the end can be reached: there are no dead ends.
    """

    start: int

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`."""
        ...


def one_by_one(
    states: Ints, allowed: Callable[[int], Ints], advance: Callable[[int, int], int]
) -> Transitions:
    """Return the transitions of an automaton that answers for one state, and one token, a time."""
    tokens = [allowed(state) for state in states.tolist()]
    behind = [
        advance(state, token)
        for state, found in zip(states.tolist(), tokens, strict=True)
        for token in found.tolist()
    ]
    return Transitions(
        np.concatenate([np.empty(0, dtype=np.int64), *tokens]),
        np.array(behind, dtype=np.int64),
        np.array([len(found) for found in tokens], dtype=np.int64),
    )


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
