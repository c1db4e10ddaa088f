"""Constraints from grammars, which are compiled lazily to a deterministic automaton.

This is the subset construction. A configuration is a position in a grammar together with the state
of the segment there; a state of the automaton stands for the set of all configurations that the
tokens read so far allow. Most sets have one element and are stored in two flat arrays, so that the
thousands of children of a trie node are numbered at once. Transitions are stored in CSR arrays, so
that a batch of visited states is answered without a loop over states.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary, proxy

import numpy as np
import numpy.typing as npt

from trie.grammar import (
    Alternatives,
    Deferred,
    FixedTokens,
    Grammar,
    Segment,
    Transitions,
    Trie,
    TrieSequence,
    segments_of,
)
from trie.token_trie import Ints, row_positions

# The number of a position (a segment and the grammar after it), and the segment's state.
Configuration = tuple[int, int]
Configurations = tuple[Configuration, ...]

_END = 0  # the position of the end token
# With more tokens per state than this, copying slices is faster than indexing single tokens.
_WIDE = 256


class Automaton:
    """A finite-state automaton for any number of grammars, each followed by the end token.

    Grammars share the states of their common parts. States never change and are never freed;
    `size` is their number. No segment may read the model's end token, `eos`. Thread-safe.
    """

    def __init__(self, eos: int) -> None:
        self.eos = eos
        self._lock = RLock()
        end: Segment = FixedTokens((eos,))
        self._positions: list[tuple[Segment, Grammar]] = [(end, ())]
        self._position_numbers: dict[tuple[Segment, Grammar], int] = {}
        self._table = _StateTable()
        self._tokens, self._next_states = _GrowingArray(np.int32), _GrowingArray(np.int32)
        self._expanded: dict[Configurations, tuple[int, int]] = {}

    @property
    def size(self) -> int:
        """Number of states discovered so far."""
        return self._table.size

    def state(self, grammar: Grammar) -> int:
        """Return the start state of a grammar.

        Raises ValueError if a segment can read the end token.
        """
        with self._lock:
            return self._table.number(tuple(sorted(self._enter(self._checked(grammar), 0))))

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        sizes = self._table.sizes.array[states]
        if sizes.size and sizes.min() < 0:
            for state in states[sizes < 0].tolist():
                self._expand(state)
            sizes = self._table.sizes.array[states]
        offsets = self._table.offsets.array[states]
        if sizes.sum() > _WIDE * sizes.size:
            rows = zip(offsets.tolist(), sizes.tolist(), strict=True)
            slices = [slice(offset, offset + size) for offset, size in rows]
            tokens = np.concatenate([self._tokens.array[row] for row in slices])
            next_states = np.concatenate([self._next_states.array[row] for row in slices])
        else:
            places = row_positions(offsets, sizes)
            tokens, next_states = self._tokens.array[places], self._next_states.array[places]
        return Transitions(*(x.astype(np.int64) for x in (tokens, next_states, sizes)))

    def step(self, state: int, token: int) -> int:
        """Return the state after one token, or -1 if the token is not allowed."""
        size = self._table.sizes.array.item(state)
        if size < 0:
            self._expand(state)
            size = self._table.sizes.array.item(state)
        offset, tokens = self._table.offsets.array.item(state), self._tokens.array.data
        at = bisect_left(tokens, token, offset, offset + size)
        allowed = at < offset + size and tokens[at] == token
        return self._next_states.array.item(at) if allowed else -1

    def values(self, state: int) -> list[int]:
        """Return the values of the last segment after the end token, one per configuration.

        There are several only if a grammar is ambiguous. The list is empty if the end token has not
        been read.
        """
        end, _ = self._positions[_END]
        configurations = self._table.configurations(state)
        values = [end.value(inner) for position, inner in configurations if position == _END]
        return [value for value in values if value is not None]

    def _expand(self, state: int) -> None:
        with self._lock:
            if not 0 <= state < self.size:
                raise ValueError(f"there is no state {state}")
            successors = self._successors(self._table.configurations(state))
            key = tuple(successors)
            if key not in self._expanded:
                tokens, next_states = self._merge(successors)
                self._next_states.append(next_states, tokens.size)
                self._expanded[key] = self._tokens.append(tokens, tokens.size), tokens.size
            # Offsets first: other threads read without the lock, and look at the sizes first.
            self._table.offsets.array[state], self._table.sizes.array[state] = self._expanded[key]

    def _successors(self, configurations: Configurations) -> dict[Configuration, tuple[Ints, Ints]]:
        # Also of the configurations that follow an ended segment. Those without any are left out.
        successors = {}
        todo, seen = list(configurations), set(configurations)
        while todo:
            position, inner = configuration = todo.pop()
            segment, rest = self._positions[position]
            tokens, inner_states = segment.successors(inner)
            if tokens.size:
                successors[configuration] = tokens, inner_states
            value = None if position == _END else segment.value(inner)
            if value is not None:
                new = self._enter(rest, value) - seen
                seen |= new
                todo += new
        return {key: successors[key] for key in sorted(successors)}

    def _merge(
        self, successors: dict[Configuration, tuple[Ints, Ints]]
    ) -> tuple[Ints, npt.NDArray[np.int32]]:
        if not successors:  # after the end token
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        if len(successors) == 1:
            (((position, _), (tokens, inner)),) = successors.items()
            return tokens, self._table.add(np.array([position]).repeat(inner.size), inner)
        tokens = np.concatenate([tokens for tokens, _ in successors.values()])
        inner = np.concatenate([inner for _, inner in successors.values()])
        sizes = [tokens.size for tokens, _ in successors.values()]
        positions = np.array([position for position, _ in successors]).repeat(sizes)
        order = tokens.argsort(kind="stable")
        tokens, positions, inner = tokens[order], positions[order], inner[order]
        differs = tokens[1:] != tokens[:-1]
        if differs.all():
            return tokens, self._table.add(positions, inner)
        begins = np.flatnonzero(np.concatenate([[True], differs]))
        ends = np.append(begins[1:], tokens.size)
        single = ends - begins == 1
        states = np.empty(begins.size, dtype=np.int32)
        states[single] = self._table.add(positions[begins[single]], inner[begins[single]])
        for at in np.flatnonzero(~single).tolist():
            same = slice(begins[at], ends[at])
            configurations = zip(positions[same].tolist(), inner[same].tolist(), strict=True)
            states[at] = self._table.number(tuple(sorted(set(configurations))))
        return tokens[begins], states

    def _enter(self, grammar: Grammar, value: int) -> set[Configuration]:
        configurations, todo = set(), [grammar]
        while todo:
            if not (items := todo.pop()):
                configurations.add((_END, self._positions[_END][0].start_state(value)))
                continue
            item, *rest = items
            if isinstance(item, Alternatives):
                todo += [(*option, *rest) for option in dict.fromkeys(item.grammars)]
            elif isinstance(item, Deferred):
                todo.append((*self._checked(item(value)), *rest))
            else:
                key = item, tuple(rest)
                if key not in self._position_numbers:
                    self._position_numbers[key] = len(self._positions)
                    self._positions.append(key)
                configurations.add((self._position_numbers[key], item.start_state(value)))
        return configurations

    def _checked(self, grammar: Grammar) -> Grammar:
        if any(segment.contains_token(self.eos) for segment in segments_of(grammar)):
            raise ValueError(
                f"the grammar contains the end token {self.eos}. Leave it out, it is appended; "
                "trie.SafeTokenizer never turns text that spells the end token into this token"
            )
        return tuple(grammar)


class _StateTable:
    """Numbers of sets of configurations, and where the transitions of each state are stored."""

    def __init__(self) -> None:
        # Where the transitions of each state begin, and their number; -1 before the first visit.
        self.offsets, self.sizes = _GrowingArray(np.int64), _GrowingArray(np.int32, -1)
        # The only configuration of each state; or -1 and the index of a set in `_sets`.
        self._positions, self._inner = _GrowingArray(np.int32), _GrowingArray(np.int64)
        self._sets: list[Configurations] = []
        self._numbers: dict[Configurations, int] = {}

    @property
    def size(self) -> int:
        return self._inner.size

    def configurations(self, state: int) -> Configurations:
        position, inner = self._positions.array.item(state), self._inner.array.item(state)
        return ((position, inner),) if position >= 0 else self._sets[inner]

    def number(self, configurations: Configurations) -> int:
        if configurations not in self._numbers:
            if len(configurations) == 1:
                ((position, inner),) = configurations
            else:
                position, inner = -1, len(self._sets)
                self._sets.append(configurations)
            self._numbers[configurations] = int(
                self.add(np.array([position]), np.array([inner]))[0]
            )
        return self._numbers[configurations]

    def add(self, positions: Ints, inner: Ints) -> npt.NDArray[np.int32]:
        self._positions.append(positions, inner.size)
        self.offsets.extend(inner.size)
        self.sizes.extend(inner.size)
        first = self._inner.append(inner, inner.size)
        return np.arange(first, first + inner.size, dtype=np.int32)


class _GrowingArray:
    """A numpy array that grows at its end; its capacity doubles when it is full."""

    def __init__(self, dtype: npt.DTypeLike, fill: int = 0) -> None:
        self._fill = fill
        # `size` items, then unused capacity. Growing replaces the array by a copy; the old one
        # stays valid, so one thread may read while another one appends.
        self.array: npt.NDArray[Any] = np.full(1024, fill, dtype=dtype)
        self.size = 0

    def append(self, values: npt.ArrayLike, count: int) -> int:
        """Append `count` items, or one item `count` times; return where they begin."""
        begin = self.extend(count)
        self.array[begin : self.size] = values
        return begin

    def extend(self, count: int) -> int:
        begin, end = self.size, self.size + count
        if end > len(self.array):
            grown = np.full(max(2 * len(self.array), end), self._fill, self.array.dtype)
            grown[:begin] = self.array[:begin]
            self.array = grown
        self.size = end
        return begin


# Automata shared by the constraints over one trie, by end token. Beams visit the same few thousand
# nodes again and again. Beyond the limit, new constraints get a new automaton, and the old one is
# freed with the constraints that use it, so the memory of a long run is bounded.
_SHARED: WeakKeyDictionary[Trie, dict[int, tuple[Automaton, TrieSequence]]] = WeakKeyDictionary()
_MAX_SHARED_STATES = 1 << 20


class GrammarConstraint:
    """A `trie.Constraint` that accepts the sequences of a grammar, followed by the end token.

    Constraints that use the same automaton share the states that their grammars have in common.

    Raises ValueError if the grammar can read the end token.
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
            next_state = self.automaton.step(state, token)
            if next_state < 0:
                raise ValueError(f"token {token} is not allowed in state {state}")
            state = next_state
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

    It does not depend on the input, so one object can serve any number of inputs. States visited
    while decoding are kept, at about 30 bytes for each visited node and each of its children. A
    long-running process should create a new object from time to time: this is cheap, since
    constraints over one trie share their states, up to a limit of a million.

    Raises ValueError if the trie is empty, or a sequence contains the end token.
    """

    def __init__(self, trie: Trie, eos: int) -> None:
        self._trie, self._eos = trie, eos
        automaton, sequences = shared_automaton(trie, eos)
        super().__init__([sequences], automaton)

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


def shared_automaton(trie: Trie, eos: int) -> tuple[Automaton, TrieSequence]:
    """Return the automaton that constraints over `trie` share, and the segment of its sequences.

    The constraints keep the trie alive, the shared automaton does not.

    Raises `ValueError` if the trie is empty.
    """
    by_eos = _SHARED.setdefault(trie, {})
    if eos not in by_eos or by_eos[eos][0].size > _MAX_SHARED_STATES:
        by_eos[eos] = Automaton(eos), TrieSequence(proxy(trie))
    return by_eos[eos]
