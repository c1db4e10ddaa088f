"""The parts that declarations are made of: what may be read, piece by piece.

A segment is a small automaton of its own. Its states are integers, and from each that it enters it
can be completed. Where it may end it hands on a number, its value, to what stands behind it: the
node of the trie, the length of the stretch. So what was read can matter later on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trie.constraints.constraint import Trie
from trie.index.bits import Ints

_NOTHING: Ints = np.empty(0, dtype=np.int64)
_NO_MOVES = _NOTHING, _NOTHING


class Segment(Protocol):
    """A part of a declaration. Equal segments have the same states, so they can be shared."""

    def begin(self, value: int) -> int:
        """Return the state in front of the first token, behind a segment that ended in `value`."""
        ...

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow, ascending, each once, and the state behind each."""
        ...

    def value(self, state: int) -> int | None:
        """Return what the segment hands on, at least 0, if it may end here; else None."""
        ...

    def holds(self, token: int) -> bool:
        """Whether it may read `token` anywhere."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Given tokens, one after the other. It hands on what was handed to it."""

    tokens: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(self.tokens))

    def begin(self, value: int) -> int:
        """Return the state in front of the first token: value and place in one number."""
        return value * (len(self.tokens) + 1)

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the next token."""
        place = state % (len(self.tokens) + 1)
        return _one(self.tokens[place], state + 1) if place < len(self.tokens) else _NO_MOVES

    def value(self, state: int) -> int | None:
        """Return the value from before, behind the last token."""
        value, place = divmod(state, len(self.tokens) + 1)
        return value if place == len(self.tokens) else None

    def holds(self, token: int) -> bool:
        """Whether it is one of them."""
        return token in self.tokens


class AnyOf:
    """One token of a set, which it hands on.

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
        return isinstance(other, AnyOf) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    def begin(self, value: int) -> int:
        """Return the state in front of it, 0; behind token ``t`` it is ``t + 1``."""
        return 0

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return all of them, once."""
        if state:
            return _NO_MOVES
        tokens = np.array(self.tokens, dtype=np.int64)
        return tokens, tokens + 1

    def value(self, state: int) -> int | None:
        """Return the token that was read."""
        return state - 1 if state else None

    def holds(self, token: int) -> bool:
        """Whether it is one of them."""
        return token in self.tokens


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens of a text from a given place on, up to one of several others, which it hands on.

    Attributes
    ----------
    text
        The tokens of the text.
    first
        Where it begins.
    ends
        Where it may end, ascending; at least one, none before `first`.
    """

    text: Sequence[int]
    first: int
    ends: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", tuple(self.text))
        object.__setattr__(self, "ends", tuple(self.ends))
        if not self.ends or not self.first <= self.ends[0] or self.ends[-1] > len(self.text):
            raise ValueError("a stretch ends behind its beginning, in the text")

    def begin(self, value: int) -> int:
        """Return the place where it begins; places in the text are the states."""
        return self.first

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the next token, up to the last place where it may end."""
        return _one(self.text[state], state + 1) if state < self.ends[-1] else _NO_MOVES

    def value(self, state: int) -> int | None:
        """Return the place."""
        return state if state in self.ends else None

    def holds(self, token: int) -> bool:
        """Whether the token lies where it may read."""
        return token in self.text[self.first : self.ends[-1]]


class InTrie:
    """A sequence of a trie; it hands on the node at which the sequence ends.

    Two of them are never equal, even over one trie: use one object where states are to be shared.

    Raises
    ------
    ValueError
        If the trie is empty.
    """

    def __init__(self, trie: Trie) -> None:
        if not len(trie):
            raise ValueError("there are no sequences to choose from")
        self.trie = trie
        self._held: dict[int, bool] = {}

    def begin(self, value: int) -> int:
        """Return the root; nodes are the states."""
        return self.trie.root

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node."""
        return self.trie.children(state)

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return state if self.trie.ends(state) else None

    def holds(self, token: int) -> bool:
        """Whether it occurs in any sequence; looked up once."""
        if token not in self._held:
            self._held[token] = self.trie.holds(token)
        return self._held[token]


def _one(token: int, state: int) -> tuple[Ints, Ints]:
    return np.array([token], dtype=np.int64), np.array([state], dtype=np.int64)
