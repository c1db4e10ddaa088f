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
from trie.index.csr import Ints
from trie.index.token_trie import TokenTrie

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
        self._trie = trie
        self._contained: dict[int, bool] = {}

    def start_state(self, value: int) -> int:
        """Return the root; states are nodes."""
        return self._trie.root

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node."""
        return self._trie.children(state)

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return state if self._trie.ends(state) else None

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence; looked up once per token."""
        if token not in self._contained:
            self._contained[token] = self._trie.contains_token(token)
        return self._contained[token]


class BoundedTrieSequence(TrieSequence):
    """A sequence of a trie, such as a trie of text spans, whose length can be bounded by `within`.

    Without a bound, it is a segment itself.

    Attributes
    ----------
    trie
        The sequences.
    distances_to_end
        The least number of tokens from each node to the end of a sequence; (nodes,).
    shortest
        Number of tokens of the shortest sequence.

    Raises
    ------
    ValueError
        If the trie is empty.
    """

    def __init__(self, trie: TokenTrie) -> None:
        super().__init__(trie)
        self.trie, self.distances_to_end = trie, trie.distances_to_end()
        self.shortest = int(self.distances_to_end[trie.root])

    def within(self, max_tokens: int) -> LengthBound:
        """Return the segment of the sequences with at most `max_tokens` tokens.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.shortest > max_tokens:
            raise ValueError(
                f"the shortest sequence has {self.shortest} tokens, more than {max_tokens}"
            )
        return LengthBound(self, min(max_tokens, self.trie.longest))


@dataclass(frozen=True, slots=True)
class LengthBound:
    """A sequence of at most `max_tokens` tokens; see `BoundedTrieSequence.within`.

    The node at which it ends is the segment's value.
    """

    sequences: BoundedTrieSequence
    max_tokens: int

    def start_state(self, value: int) -> int:
        """Return the root; states are nodes."""
        return self.sequences.start_state(value)

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node from which an end is within reach."""
        tokens, nodes = self.sequences.successors(state)
        left = self.max_tokens - self.sequences.trie.depth(state) - 1
        kept = self.sequences.distances_to_end[nodes] <= left
        return tokens[kept], nodes[kept]

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return self.sequences.value(state)

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence, however long."""
        return self.sequences.contains_token(token)


def _single(token: int, state: int) -> tuple[Ints, Ints]:
    return np.array([token], dtype=np.int64), np.array([state], dtype=np.int64)
