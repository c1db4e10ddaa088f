"""Constraints from grammars, by the subset construction, one state at a time as decoding visits it.

A configuration is a position in a grammar together with the state of the segment there, packed in
one integer. After some tokens, a grammar nearly always allows a single configuration, which is the
state of the automaton. Where it allows several, the state is the number of their set.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

import numpy as np

from trie.grammar import (
    Alternatives,
    Deferred,
    FixedTokens,
    Grammar,
    Segment,
    Transitions,
    TrieSequence,
)
from trie.token_trie import Ints, TokenTrie

# The position is in the bits above those of the segment's state.
_BITS = 44
_STATE = (1 << _BITS) - 1
# States that are numbers of sets have the first position; the end token has the second.
_SET, _END = 0, 1
# Visited states whose transitions are kept; they are computed again when they are needed.
_MAX_KEPT = 1 << 16


class Automaton:
    """A finite-state automaton for any number of grammars, each followed by the end token `eos`.

    No segment may read the end token: reaching it raises `ValueError`. Thread-safe.
    """

    def __init__(self, eos: int) -> None:
        self.eos = eos
        self._end = FixedTokens((eos,))
        self._positions: list[tuple[Segment, Grammar]] = [(self._end, ())] * 2
        self._position_numbers: dict[tuple[Segment, Grammar], int] = {}
        self._sets: list[tuple[int, ...]] = []
        self._set_numbers: dict[tuple[int, ...], int] = {}
        self._kept: dict[int, tuple[Ints, Ints]] = {}
        self._lock = Lock()

    def state(self, grammar: Grammar) -> int:
        """Return the start state of a grammar."""
        with self._lock:
            return self._number(self._enter(grammar, 0))

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        rows = [self.successors(state) for state in states.tolist()]
        if not rows:
            return Transitions(*(np.empty(0, dtype=np.int64) for _ in range(3)))
        return Transitions(
            np.concatenate([tokens for tokens, _ in rows]),
            np.concatenate([next_states for _, next_states in rows]),
            np.array([tokens.size for tokens, _ in rows], dtype=np.int64),
        )

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow a state, ascending, and the state after each."""
        if (successors := self._kept.get(state)) is None:
            with self._lock:
                successors = self._successors(state)
                if len(self._kept) >= _MAX_KEPT:
                    self._kept.clear()
                self._kept[state] = successors
        return successors

    def values(self, state: int) -> list[int]:
        """Return the values of the last segment after the end token, one per configuration.

        There are several only if a grammar is ambiguous. The list is empty if the end token has not
        been read.
        """
        ended = [c & _STATE for c in self._configurations(state) if c >> _BITS == _END]
        values = map(self._end.value, ended)
        return [value for value in values if value is not None]

    def _configurations(self, state: int) -> tuple[int, ...]:
        return self._sets[state & _STATE] if state >> _BITS == _SET else (state,)

    def _number(self, configurations: set[int]) -> int:
        if len(configurations) == 1:
            return next(iter(configurations))
        key = tuple(sorted(configurations))
        if key not in self._set_numbers:
            self._set_numbers[key] = len(self._sets)
            self._sets.append(key)
        return self._set_numbers[key]

    def _successors(self, state: int) -> tuple[Ints, Ints]:
        parts = []
        todo = list(self._configurations(state))
        seen = set(todo)
        while todo:
            configuration = todo.pop()
            position, inner = configuration >> _BITS, configuration & _STATE
            segment, rest = self._positions[position]
            tokens, next_states = segment.successors(inner)
            parts.append((tokens, next_states | position << _BITS))
            if position == _END:
                continue
            if (tokens == self.eos).any():
                raise ValueError(
                    f"the grammar contains the end token {self.eos}. Leave it out, it is appended; "
                    "trie.SafeTokenizer never turns text that spells the end token into this token"
                )
            if (value := segment.value(inner)) is not None:
                entered = self._enter(rest, value) - seen
                seen |= entered
                todo += entered
        if len(parts) == 1:
            return parts[0]
        all_tokens, all_states = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = all_tokens.argsort(kind="stable")
        tokens, begins = np.unique(all_tokens[order], return_index=True)
        next_states = all_states[order]
        if tokens.size < next_states.size:
            same = np.split(next_states, begins[1:])
            numbers = [self._number(set(states.tolist())) for states in same]
            next_states = np.array(numbers, dtype=np.int64)
        return tokens, next_states

    def _enter(self, grammar: Grammar, value: int) -> set[int]:
        """Return the configurations before the first token of a grammar and of its end."""
        configurations, todo = set(), [tuple(grammar)]
        while todo:
            if not (items := todo.pop()):
                configurations.add(_END << _BITS | self._end.start_state(value))
                continue
            item, *rest = items
            if isinstance(item, Alternatives):
                todo += [(*option, *rest) for option in dict.fromkeys(item.grammars)]
            elif isinstance(item, Deferred):
                todo.append((*item(value), *rest))
            else:
                key = item, tuple(rest)
                if key not in self._position_numbers:
                    self._position_numbers[key] = len(self._positions)
                    self._positions.append(key)
                configurations.add(self._position_numbers[key] << _BITS | item.start_state(value))
        return configurations


class GrammarConstraint:
    """A `trie.Constraint` that accepts the sequences of a grammar, followed by the end token.

    Constraints that use the same automaton share the states that their grammars have in common.
    """

    def __init__(self, grammar: Grammar, automaton: Automaton) -> None:
        self.automaton = automaton
        self.start = automaton.state(grammar)

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        return self.automaton.transitions(states)

    def walk(self, ids: Iterable[int]) -> int:
        """Return the state after some tokens.

        Raises ValueError if a token is not allowed at its position.
        """
        state = self.start
        for token in ids:
            tokens, next_states = self.automaton.successors(state)
            place = int(tokens.searchsorted(token))
            if place == tokens.size or tokens[place] != token:
                raise ValueError(f"token {token} is not allowed in state {state}")
            state = int(next_states[place])
        return state

    def value(self, state: int) -> int:
        """Return the value of the grammar's last segment, given a state after the end token.

        If the tokens can be read in several ways, this is the smallest of their values.

        Raises ValueError if `state` is not a state after the end token.
        """
        values = self.automaton.values(state)
        if not values:
            raise ValueError("the sequence has not ended")
        return min(values)


class TrieConstraint(GrammarConstraint):
    """A `trie.Constraint` that accepts the sequences of a trie, each followed by the end token.

    It does not depend on the input, so one object can serve any number of inputs.

    Raises ValueError if the trie is empty, or a sequence contains the end token.
    """

    def __init__(self, trie: TokenTrie, eos: int) -> None:
        if trie.contains_token(eos):
            raise ValueError(f"a sequence of the trie contains the end token {eos}")
        self._trie, self._eos = trie, eos
        super().__init__([TrieSequence(trie)], Automaton(eos))

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence, including its end token."""
        return self._trie.longest + 1

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the sequences that end in `state`; several if sequences are equal.

        Raises ValueError if `state` is not a state after the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Return the rows of the sequence that `ids` spell up to the first end token.

        The tokens are given without start token and prompt; those after the end are ignored.

        Raises ValueError if the tokens are not a sequence of the trie, or the end token is missing.
        """
        ids = list(ids)
        return self.rows(self.walk(ids[: ids.index(self._eos) + 1] if self._eos in ids else ids))
