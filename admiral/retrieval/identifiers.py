"""The identifiers of the retriever's output: ascending, each of another document."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from trie.index.bits import Ints


class _State(NamedTuple):
    """How many are missing, where they may come from, and which documents there are taken.

    Choices that leave the same behind them are the same state.
    """

    missing: int
    first: int
    taken: frozenset[int]


class Identifiers:
    """The identifiers of exactly `count` documents, in a given order; a `trie.Segment`.

    A choice from which that many can no longer be made is never entered. It hands on 0.

    Parameters
    ----------
    tokens
        The identifiers, in the order in which they are to be written.
    documents
        The document of each; of one document at most one is written.
    count
        How many are written.

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

    def begin(self, value: int) -> int:
        """Return the state in front of all of them."""
        return self._number(self._count, 0, frozenset())

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the identifiers behind which enough new documents can be named."""
        missing, first, taken = self._states[state]
        found: dict[int, int] = {}
        ahead: set[int] = set()
        for place in reversed(range(first, len(self._tokens) if missing else first)):
            document = self._documents[place]
            if document not in taken:
                if len(ahead | {document}) >= missing:
                    still = (taken | {document}) & set(self._documents[place + 1 :])
                    found[self._tokens[place]] = self._number(missing - 1, place + 1, still)
                ahead.add(document)
        tokens = sorted(found)
        states = [found[token] for token in tokens]
        return np.array(tokens, dtype=np.int64), np.array(states, dtype=np.int64)

    def value(self, state: int) -> int | None:
        """Return 0 when none is missing."""
        return None if self._states[state].missing else 0

    def holds(self, token: int) -> bool:
        """Whether it is one of the identifiers."""
        return token in self._tokens

    def _number(self, missing: int, first: int, taken: frozenset[int]) -> int:
        state = _State(missing, first, taken) if missing else _State(0, 0, frozenset())
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number
