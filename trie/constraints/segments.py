"""Segments: the terminal parts of a grammar.

A segment is a small automaton of its own. Its states are integers, and every state that it enters
can be completed. Where a segment may end, it passes an integer, its value, to the next segment (the
node of a trie, the position in a text), so that what was read can matter later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trie.constraints.constraint import Trie
from trie.index.bit_vector import Ints

_EMPTY: Ints = np.empty(0, dtype=np.int64)
_NO_SUCCESSORS = _EMPTY, _EMPTY


class Segment(Protocol):
    """A part of a grammar. Equal segments have equal states, so their automata can be shared."""

    def start_state(self, value: int) -> int:
        """Return the state before the first token, given the value of the previous segment."""
        ...

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow, distinct and ascending, and the state after each."""
        ...

    def value(self, state: int) -> int | None:
        """Return the value, at least 0, passed on if the segment ends here; None if it may not."""
        ...

    def contains_token(self, token: int) -> bool:
        """Return whether the segment can read `token` anywhere."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTokens:
    """Given tokens, one after another. The value of the previous segment is passed on."""

    tokens: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(self.tokens))

    def start_state(self, value: int) -> int:
        """Return the state before the first token, which encodes value and position."""
        return value * (len(self.tokens) + 1)

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the next token."""
        place = state % (len(self.tokens) + 1)
        if place == len(self.tokens):
            return _NO_SUCCESSORS
        return _single(self.tokens[place], state + 1)

    def value(self, state: int) -> int | None:
        """Return the previous segment's value after the last token."""
        value, place = divmod(state, len(self.tokens) + 1)
        return value if place == len(self.tokens) else None

    def contains_token(self, token: int) -> bool:
        """Return whether `token` is one of the tokens."""
        return token in self.tokens


class TokenSet:
    """Exactly one token of a set. The token is the segment's value.

    Raises
    ------
    ValueError
        If the set is empty.
    """

    def __init__(self, tokens: Iterable[int]) -> None:
        self.tokens = tuple(sorted(set(tokens)))
        if not self.tokens:
            raise ValueError("there are no tokens to choose from")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenSet) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    def start_state(self, value: int) -> int:
        """Return the state before the token, 0; after token ``t`` it is ``t + 1``."""
        return 0

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return all tokens before one has been read."""
        if state:
            return _NO_SUCCESSORS
        tokens = np.array(self.tokens, dtype=np.int64)
        return tokens, tokens + 1

    def value(self, state: int) -> int | None:
        """Return the token that was read."""
        return state - 1 if state else None

    def contains_token(self, token: int) -> bool:
        """Return whether `token` is in the set."""
        return token in self.tokens


@dataclass(frozen=True, slots=True)
class SpanFrom:
    """A span of a text with a given start and one of several ends. The end is the value.

    Attributes
    ----------
    text
        The tokens of the text.
    start
        The position at which the span begins.
    ends
        The positions at which it may end, ascending; at least one, none before `start`.
    """

    text: Sequence[int]
    start: int
    ends: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", tuple(self.text))
        object.__setattr__(self, "ends", tuple(self.ends))
        if not self.ends or not self.start <= self.ends[0] or self.ends[-1] > len(self.text):
            raise ValueError("a span needs an end that lies in the text and not before its start")

    def start_state(self, value: int) -> int:
        """Return the start; states are positions in the text."""
        return self.start

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the next token of the text, up to the last possible end."""
        return _single(self.text[state], state + 1) if state < self.ends[-1] else _NO_SUCCESSORS

    def value(self, state: int) -> int | None:
        """Return the position, if the span may end there."""
        return state if state in self.ends else None

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs between the start and the last end."""
        return token in self.text[self.start : self.ends[-1]]


class TrieSequence:
    """A sequence of a trie. The node at which it ends is the segment's value.

    Two objects are never equal, even over the same trie: use one object to share states.

    Raises
    ------
    ValueError
        If the trie is empty.
    """

    def __init__(self, trie: Trie) -> None:
        if not len(trie):
            raise ValueError("there are no sequences to choose from")
        self.trie = trie
        self._contained: dict[int, bool] = {}

    def start_state(self, value: int) -> int:
        """Return the root; states are nodes."""
        return self.trie.root

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node."""
        return self.trie.children(state)

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return state if self.trie.ends(state) else None

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence; looked up once per token."""
        if token not in self._contained:
            self._contained[token] = self.trie.contains_token(token)
        return self._contained[token]


def _single(token: int, state: int) -> tuple[Ints, Ints]:
    return np.array([token], dtype=np.int64), np.array([state], dtype=np.int64)
