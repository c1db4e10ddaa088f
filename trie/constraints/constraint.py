"""What constrained decoding asks of a constraint, and what constraints ask of a trie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from trie.index.bits import Ints


@dataclass(frozen=True, slots=True)
class Transitions:
    """What may follow each of a batch of states, behind each other.

    Attributes
    ----------
    tokens
        The tokens, of each state ascending, each once; int64.
    states
        The state behind each of them; int64, aligned with `tokens`.
    sizes
        How many tokens belong to each state; int64, (states,). 0 only behind the end token.
    """

    tokens: Ints
    states: Ints
    sizes: Ints


class Constraint(Protocol):
    """An automaton over integer states that says which token may come next.

    States are small numbers from 0 on, given as they are first met, and never change. A sequence
    ends when the end token is emitted. From every state that can be reached the end can be
    reached: there are no dead ends.
    """

    start: int

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`; a state may be named several times."""
        ...


class Trie(Protocol):
    """What constraints ask of a trie of token sequences: `TokenTrie`, `UpdatedTrie`, `Renumbered`.

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

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that lead on from `node`, ascending, and the node behind each."""
        ...

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        ...

    def walk(self, ids: Iterable[int], node: int = 0) -> int:
        """Return the node that `ids` lead to from `node`, -1 where they leave the trie."""
        ...

    def depth(self, node: int) -> int:
        """Return the number of tokens that lead to `node`."""
        ...

    def fewest(self) -> Ints:
        """Return how many tokens lead from each node to the next end of a sequence; (nodes,)."""
        ...

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        ...

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        ...

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence."""
        ...
