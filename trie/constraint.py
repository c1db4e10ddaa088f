"""What decoding requires of a constraint, and what constraints require of a trie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from trie.token_trie import Ints


@dataclass(frozen=True, slots=True)
class Transitions:
    """The transitions from a batch of states, in compressed sparse rows."""

    tokens: Ints  # those allowed in each state, distinct and ascending within a state
    next_states: Ints  # the state after each token
    sizes: Ints  # the number of tokens of each state; (states,). 0 only after the end token


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
    """What constraints require of a trie: a `TokenTrie`, which describes the methods, or a view.

    A trie is immutable: nodes keep their numbers, and every call returns the same. From every node,
    except the root of an empty trie, the end of a sequence can be reached.
    """

    @property
    def root(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def __len__(self) -> int: ...
    def children(self, node: int) -> tuple[Ints, Ints]: ...
    def child(self, node: int, token: int) -> int: ...
    def walk(self, ids: Iterable[int], node: int = 0) -> int: ...
    def ends(self, node: int) -> bool: ...
    def rows(self, node: int) -> Ints: ...
    def contains_token(self, token: int) -> bool: ...
