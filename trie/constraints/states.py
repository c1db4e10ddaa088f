"""The states of an automaton: numbers for what the tokens so far can be read as."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trie.constraints.growing import Growing
from trie.index.bits import Ints

# The context (a segment and what stands behind it) and the segment's own state.
Reading = tuple[int, int]
Readings = tuple[Reading, ...]


class States:
    """Numbers for readings, from 0 on, and where the transitions of each state lie.

    Attributes
    ----------
    begins, sizes
        Of each state where its transitions begin and how many there are; -1 before a visit.
    """

    def __init__(self) -> None:
        self.begins, self.sizes = Growing(np.int64), Growing(np.int32, -1)
        # Of each state its one reading; or -1 and the place of several in `_sets`.
        self._context, self._own = Growing(np.int32), Growing(np.int64)
        self._sets: list[Readings] = []
        self._numbers: dict[Readings, int] = {}

    @property
    def size(self) -> int:
        """Number of states."""
        return self._own.size

    def readings(self, state: int) -> Readings:
        """Return the readings of a state."""
        context, own = self._context.all.item(state), self._own.all.item(state)
        return ((context, own),) if context >= 0 else self._sets[own]

    def number(self, readings: Readings) -> int:
        """Return the state of some readings; the same for the same ones."""
        if readings not in self._numbers:
            if len(readings) == 1:
                ((context, own),) = readings
            else:
                context, own = -1, len(self._sets)
                self._sets.append(readings)
            self._numbers[readings] = int(self.add(np.array([context]), np.array([own]))[0])
        return self._numbers[readings]

    def add(self, contexts: Ints, owns: Ints) -> npt.NDArray[np.int32]:
        """Return new states, each of one reading."""
        self._context.add(contexts, owns.size)
        self.begins.extend(owns.size)
        self.sizes.extend(owns.size)
        first = self._own.add(owns, owns.size)
        return np.arange(first, first + owns.size, dtype=np.int32)
