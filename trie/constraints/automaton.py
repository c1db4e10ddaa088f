"""Declarations compiled, as far as they are visited, to one automaton over integer states.

It is the subset construction. A reading is a place in a declaration and the state of the segment
there; a state of the automaton stands for all readings that the tokens so far allow. Mostly that is
one, and then a state is no more than a number in two arrays: the thousands of children of a trie's
node are numbered at once. What follows a state lies in flat arrays, so that a batch of states that
were visited before is answered without a loop over them.
"""

from __future__ import annotations

from bisect import bisect_left
from threading import RLock

import numpy as np
import numpy.typing as npt

from trie.constraints.constraint import Transitions
from trie.constraints.declarations import Declaration, OneOf, Then, segments
from trie.constraints.growing import Growing
from trie.constraints.segments import Fixed, Segment
from trie.constraints.states import Reading, Readings, States
from trie.index.bits import Ints
from trie.index.runs import runs

_LAST = 0  # the context of the end token
# With more tokens than so many for each state, copying them in pieces is faster than one by one.
_WIDE = 256


class Automaton:
    """The states of any number of declarations, each followed by the end token.

    Declarations with equal parts share what was compiled for them. States never change, but are
    never forgotten either: `size` tells how many there are. Threads may share it.

    Parameters
    ----------
    eos
        The model's end token, which no segment may read.
    """

    def __init__(self, eos: int) -> None:
        self.eos = eos
        self._lock = RLock()
        last: Segment = Fixed((eos,))
        self._contexts: list[tuple[Segment, Declaration]] = [(last, ())]
        self._context_of: dict[tuple[Segment, Declaration], int] = {}
        self._known = States()
        self._tokens, self._states = Growing(np.int32), Growing(np.int32)
        self._expanded: dict[Readings, tuple[int, int]] = {}

    @property
    def size(self) -> int:
        """Number of states met so far."""
        return self._known.size

    def state(self, declaration: Declaration) -> int:
        """Return the state in front of a declaration.

        Raises
        ------
        ValueError
            If a segment may read the end token.
        """
        with self._lock:
            return self._known.number(tuple(sorted(self._enter(self._checked(declaration), 0))))

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`; a state may be named several times."""
        sizes = self._known.sizes.all[states]
        if sizes.size and sizes.min() < 0:
            for state in states[sizes < 0].tolist():
                self._expand(state)
            sizes = self._known.sizes.all[states]
        begins = self._known.begins.all[states]
        if sizes.sum() > _WIDE * sizes.size:
            pieces = [slice(b, b + s) for b, s in zip(begins.tolist(), sizes.tolist(), strict=True)]
            tokens = np.concatenate([self._tokens.all[piece] for piece in pieces])
            behind = np.concatenate([self._states.all[piece] for piece in pieces])
        else:
            places = runs(begins, sizes)
            tokens, behind = self._tokens.all[places], self._states.all[places]
        return Transitions(*(x.astype(np.int64) for x in (tokens, behind, sizes)))

    def step(self, state: int, token: int) -> int:
        """Return the state behind one token, -1 if it may not follow."""
        size = self._known.sizes.all.item(state)
        if size < 0:
            self._expand(state)
            size = self._known.sizes.all.item(state)
        begin, tokens = self._known.begins.all.item(state), self._tokens.all.data
        at = bisect_left(tokens, token, begin, begin + size)
        found = at < begin + size and tokens[at] == token
        return self._states.all.item(at) if found else -1

    def values(self, state: int) -> list[int]:
        """Return what the last segment handed on in each reading, behind the end token.

        Several are possible only if a declaration can read the same tokens in several ways. Where
        the end token has not been read, the list is empty.
        """
        last, _ = self._contexts[_LAST]
        readings = self._known.readings(state)
        found = [last.value(own) for context, own in readings if context == _LAST]
        return [value for value in found if value is not None]

    def _expand(self, state: int) -> None:
        """Find what may follow a state."""
        with self._lock:
            if not 0 <= state < self.size:
                raise ValueError(f"there is no state {state}")
            moves = self._moves(self._known.readings(state))
            readings = tuple(moves)
            if readings not in self._expanded:
                tokens, behind = self._merge(moves)
                self._states.add(behind, tokens.size)
                self._expanded[readings] = self._tokens.add(tokens, tokens.size), tokens.size
            # In this order, for those who read without the lock.
            self._known.begins.all[state], self._known.sizes.all[state] = self._expanded[readings]

    def _moves(self, readings: Readings) -> dict[Reading, tuple[Ints, Ints]]:
        """Return the moves of each reading that has any, ascending; also behind what may end."""
        found = {}
        todo, seen = list(readings), set(readings)
        while todo:
            context, own = reading = todo.pop()
            segment, rest = self._contexts[context]
            tokens, owns = segment.moves(own)
            if tokens.size:
                found[reading] = tokens, owns
            value = None if context == _LAST else segment.value(own)
            if value is not None:
                new = self._enter(rest, value) - seen
                seen |= new
                todo += new
        return {reading: found[reading] for reading in sorted(found)}

    def _merge(self, moves: dict[Reading, tuple[Ints, Ints]]) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Return the tokens of some moves, each once, and the state behind each."""
        if not moves:  # behind the end token
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        if len(moves) == 1:
            (((context, _), (tokens, owns)),) = moves.items()
            return tokens, self._known.add(np.array([context]).repeat(owns.size), owns)
        tokens = np.concatenate([tokens for tokens, _ in moves.values()])
        owns = np.concatenate([owns for _, owns in moves.values()])
        sizes = [tokens.size for tokens, _ in moves.values()]
        contexts = np.array([context for context, _ in moves]).repeat(sizes)
        order = tokens.argsort(kind="stable")
        tokens, contexts, owns = tokens[order], contexts[order], owns[order]
        differs = tokens[1:] != tokens[:-1]
        if differs.all():
            return tokens, self._known.add(contexts, owns)
        begins = np.flatnonzero(np.concatenate([[True], differs]))
        ends = np.append(begins[1:], tokens.size)
        alone = ends - begins == 1
        states = np.empty(begins.size, dtype=np.int32)
        states[alone] = self._known.add(contexts[begins[alone]], owns[begins[alone]])
        for at in np.flatnonzero(~alone).tolist():
            both = slice(begins[at], ends[at])
            readings = zip(contexts[both].tolist(), owns[both].tolist(), strict=True)
            states[at] = self._known.number(tuple(sorted(set(readings))))
        return tokens[begins], states

    def _enter(self, declaration: Declaration, value: int) -> set[Reading]:
        """Return the readings in front of a declaration."""
        found, todo = set(), [declaration]
        while todo:
            if not (whole := todo.pop()):
                found.add((_LAST, self._contexts[_LAST][0].begin(value)))
                continue
            item, *rest = whole
            if isinstance(item, OneOf):
                todo += [(*one, *rest) for one in dict.fromkeys(item.declarations)]
            elif isinstance(item, Then):
                todo.append((*self._checked(item(value)), *rest))
            else:
                key = item, tuple(rest)
                if key not in self._context_of:
                    self._context_of[key] = len(self._contexts)
                    self._contexts.append(key)
                found.add((self._context_of[key], item.begin(value)))
        return found

    def _checked(self, declaration: Declaration) -> Declaration:
        if any(segment.holds(self.eos) for segment in segments(declaration)):
            raise ValueError(
                f"what may be read holds the end token {self.eos}. Leave it out, it is appended; "
                "in text that spells it by chance, trie.Tokens does not take it for one"
            )
        return tuple(declaration)
