"""The sentence identifiers at the start of the hop retriever's output, as a grammar segment."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from trie.token_trie import Ints


class _State(NamedTuple):
    """The state after some identifiers. Prefixes that allow the same continuations share a state.

    Attributes
    ----------
    missing
        Number of identifiers that must follow.
    first
        Position of the first identifier that may follow.
    taken
        Documents, from there on, that already have an identifier.
    """

    missing: int
    first: int
    taken: frozenset[int]


class Identifiers:
    """A `trie.Segment` that accepts the identifiers of `count` distinct documents, in order.

    An identifier is allowed only if enough documents remain to complete the sequence. The value of
    the complete segment is 0.

    Parameters
    ----------
    tokens
        The identifiers, in the order in which they may occur.
    documents
        The document of each identifier. Each document is named at most once.
    count
        Number of identifiers in a sequence.

    Raises
    ------
    ValueError
        If there are fewer than `count` documents, or two identifiers are equal.
    """

    def __init__(self, tokens: Sequence[int], documents: Sequence[Hashable], count: int) -> None:
        numbers: dict[Hashable, int] = {}
        self._tokens = tuple(tokens)
        self._documents = tuple(numbers.setdefault(d, len(numbers)) for d in documents)
        self._count = count
        if not 0 <= count <= len(numbers):
            raise ValueError(f"cannot name {count} of {len(numbers)} documents")
        if len(set(self._tokens)) < len(self._documents):
            raise ValueError("two pieces of evidence have the same identifier")
        self._states: list[_State] = []
        self._numbers: dict[_State, int] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identifiers) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        return self._tokens, self._documents, self._count

    def start_state(self, value: int) -> int:
        """Return the state before the first identifier."""
        return self._number(self._count, 0, frozenset())

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the allowed identifiers, in ascending order, and the states that they lead to."""
        missing, first, taken = self._states[state]
        next_states: dict[int, int] = {}
        remaining: set[int] = set()
        for position in reversed(range(first, len(self._tokens) if missing else first)):
            document = self._documents[position]
            if document not in taken:
                if len(remaining | {document}) >= missing:
                    still_taken = (taken | {document}) & set(self._documents[position + 1 :])
                    next_state = self._number(missing - 1, position + 1, still_taken)
                    next_states[self._tokens[position]] = next_state
                remaining.add(document)
        tokens = sorted(next_states)
        states = [next_states[token] for token in tokens]
        return np.array(tokens, dtype=np.int64), np.array(states, dtype=np.int64)

    def value(self, state: int) -> int | None:
        """Return 0 if no identifier is missing, else None."""
        return None if self._states[state].missing else 0

    def contains_token(self, token: int) -> bool:
        """Return whether a token is one of the identifiers."""
        return token in self._tokens

    def _number(self, missing: int, first: int, taken: frozenset[int]) -> int:
        state = _State(missing, first, taken) if missing else _State(0, 0, frozenset())
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number
