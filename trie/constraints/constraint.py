"""Protocols: what decoding requires of a constraint, and what constraints require of a trie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from trie.index.csr import Ints


@dataclass(frozen=True, slots=True)
class Transitions:
    """The transitions from a batch of states, as CSR arrays.

    Attributes
    ----------
    tokens
        The tokens allowed in each state, distinct and ascending within a state; int64.
    next_states
        The state after each token; int64, aligned with `tokens`.
    sizes
        The number of tokens of each state; int64, (states,). 0 only after the end token.
    """

    tokens: Ints
    next_states: Ints
    sizes: Ints


class Constraint(Protocol):
    """A deterministic finite-state automaton over tokens that says which token may come next.

    States are consecutive integers from 0 on, numbered as they are discovered, and never change. A
    sequence ends when the end token is emitted. From every reachable state the end can be reached:
    there are no dead ends.
    """

    start: int

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        ...


class Trie(Protocol):
    """What constraints require of a trie: `TokenTrie`, `UpdatedTrie` and `RenumberedTrie`.

    A trie is immutable: nodes keep their numbers, and every call returns the same. From every node,
    except the root of an empty trie, the end of a sequence can be reached.
    """

    @property
    def root(self) -> int:
        """The node of the empty prefix."""
        ...

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        ...

    def __len__(self) -> int:
        """Return the number of sequences."""
        ...

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow at `node`, ascending, and the child by each of them."""
        ...

    def child(self, node: int, token: int) -> int:
        """Return the child of `node` by `token`, or -1."""
        ...

    def walk(self, ids: Iterable[int], node: int = 0) -> int:
        """Return the node that `ids` lead to from `node`, or -1 if they leave the trie."""
        ...

    def ends(self, node: int) -> bool:
        """Return whether a sequence ends at `node`."""
        ...

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        ...

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence."""
        ...
