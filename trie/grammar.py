"""What decoding requires of a constraint, and grammars: descriptions of what may be decoded.

A grammar is a sequence of items that are read one after another. An item is a segment, a choice
between several grammars, or a function that returns the rest of the grammar from what has been
read. Since segments can always be completed, so can every grammar built from them.

A segment is a small automaton of its own. Its states are integers, and every state that it enters
can be completed. Where a segment may end, it passes an integer, its value, to the next item (the
node of a trie, the position in a text), so that what was read can matter later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from trie.token_trie import Ints, TokenTrie


@dataclass(frozen=True, slots=True)
class Transitions:
    """The transitions from a batch of states, in compressed sparse rows."""

    tokens: Ints  # those allowed in each state, distinct and ascending within a state
    next_states: Ints  # the state after each token
    sizes: Ints  # the number of tokens of each state; (states,). 0 only after the end token


class Constraint(Protocol):
    """A deterministic finite-state automaton over tokens that says which token may come next.

    States are integers from 0 on. A sequence ends when the end token is emitted. From every
    reachable state the end can be reached: there are no dead ends.
    """

    start: int

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        ...


_NO_SUCCESSORS = (np.empty(0, dtype=np.int64),) * 2


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
        place = state % (len(self.tokens) + 1)
        if place == len(self.tokens):
            return _NO_SUCCESSORS
        return _single(self.tokens[place], state + 1)

    def value(self, state: int) -> int | None:
        value, place = divmod(state, len(self.tokens) + 1)
        return value if place == len(self.tokens) else None


@dataclass(frozen=True, slots=True)
class TokenSet:
    """Exactly one token of a set. The token is the segment's value.

    Raises ValueError if the set is empty.
    """

    tokens: Collection[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(sorted(set(self.tokens))))
        if not self.tokens:
            raise ValueError("there are no tokens to choose from")

    def start_state(self, value: int) -> int:
        """Return the state before the token, 0; after token ``t`` it is ``t + 1``."""
        return 0

    def successors(self, state: int) -> tuple[Ints, Ints]:
        if state:
            return _NO_SUCCESSORS
        tokens = np.array(self.tokens, dtype=np.int64)
        return tokens, tokens + 1

    def value(self, state: int) -> int | None:
        return state - 1 if state else None


@dataclass(frozen=True, slots=True)
class SpanFrom:
    """A span of a text with a given start and one of several ends. The end is the value.

    Positions count the tokens of the text. The ends ascend; there is one, and none is before the
    start.
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
        return _single(self.text[state], state + 1) if state < self.ends[-1] else _NO_SUCCESSORS

    def value(self, state: int) -> int | None:
        return state if state in self.ends else None


class TrieSequence:
    """A sequence of a trie. The node at which it ends is the segment's value.

    Two objects are never equal, even over the same trie: use one object to share states.

    Raises ValueError if the trie is empty.
    """

    def __init__(self, trie: TokenTrie) -> None:
        if not len(trie):
            raise ValueError("there are no sequences to choose from")
        self._trie = trie

    def start_state(self, value: int) -> int:
        return self._trie.root

    def successors(self, state: int) -> tuple[Ints, Ints]:
        return self._trie.children(state)

    def value(self, state: int) -> int | None:
        return state if self._trie.ends(state) else None


class BoundedTrieSequence(TrieSequence):
    """A sequence of a trie, such as a trie of text spans, whose length can be bounded by `within`.

    Without a bound, it is a segment itself. `shortest` is the number of tokens of the shortest
    sequence, and `distances_to_end` the least number from each node to an end; (nodes,).

    Raises ValueError if the trie is empty.
    """

    def __init__(self, trie: TokenTrie) -> None:
        super().__init__(trie)
        self.trie, self.distances_to_end = trie, trie.distances_to_end()
        self.shortest = int(self.distances_to_end[trie.root])

    def within(self, max_tokens: int) -> LengthBound:
        """Return the segment of the sequences with at most `max_tokens` tokens.

        Raises ValueError if there is none.
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
        return self.sequences.start_state(value)

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node from which an end is within reach."""
        tokens, nodes = self.sequences.successors(state)
        left = self.max_tokens - self.sequences.trie.depth(state) - 1
        kept = self.sequences.distances_to_end[nodes] <= left
        return tokens[kept], nodes[kept]

    def value(self, state: int) -> int | None:
        return self.sequences.value(state)


@dataclass(frozen=True, slots=True)
class Deferred:
    """Continue with the grammar ``function(*arguments, value)``.

    `value` is the value of the previous segment. A function that refers to itself expresses
    repetition; a bound on it belongs in the arguments. The function must be pure: equal arguments
    and values give equal grammars.
    """

    function: Callable[..., Grammar]
    arguments: tuple[Hashable, ...] = ()

    def __call__(self, value: int) -> Grammar:
        return self.function(*self.arguments, value)


class Alternatives:
    """One of several grammars, which may share prefixes; one of them may be empty.

    Raises ValueError if there is none.
    """

    def __init__(self, *grammars: Grammar) -> None:
        self.grammars = tuple(map(tuple, grammars))
        if not grammars:
            raise ValueError("there are no grammars to choose from")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alternatives) and self.grammars == other.grammars

    def __hash__(self) -> int:
        return hash(self.grammars)


Item: TypeAlias = Segment | Alternatives | Deferred
Grammar: TypeAlias = Sequence[Item]


def repeated(grammar: Grammar, max_times: int, separator: Grammar = ()) -> Grammar:
    """Return the grammar of 1 to `max_times` repetitions, with a separator between them.

    Raises ValueError if `max_times` is less than 1.
    """
    if max_times < 1:
        raise ValueError(f"max_times must be at least 1, not {max_times}")
    if max_times == 1:
        return grammar
    return *grammar, Deferred(_repeat, (tuple(grammar), max_times - 1, tuple(separator)))


def _repeat(grammar: Grammar, max_times: int, separator: Grammar, _: int) -> Grammar:
    return (Alternatives((), (*separator, *repeated(grammar, max_times, separator))),)


def _single(token: int, state: int) -> tuple[Ints, Ints]:
    return np.array([token], dtype=np.int64), np.array([state], dtype=np.int64)


def check_vocabulary(tokens: Ints, size: int) -> None:
    """Raise ValueError if a token is outside the vocabulary of a model."""
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
        raise ValueError(
            f"a constraint allows a token outside the model's vocabulary of {size}; "
            "do model and tokenizer belong to the same checkpoint?"
        )
