"""Constraints from declarations, and what those over one trie share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary, proxy

from trie.constraints.automaton import Automaton
from trie.constraints.constraint import Transitions, Trie
from trie.constraints.declarations import Declaration
from trie.constraints.segments import InTrie
from trie.index.bits import Ints

# What was compiled for the constraints of all claims over one trie. Beams visit the same few
# thousand nodes again and again; beyond the limit new constraints begin anew, and what the old ones
# held is freed with them, so a long run's memory is bounded.
_SHARED: WeakKeyDictionary[Trie, dict[int, Shared]] = WeakKeyDictionary()
_SHARED_STATES = 1 << 20


class Composed:
    """A `trie.Constraint` that accepts what a declaration says, then the end token.

    Parameters
    ----------
    declaration
        Segments, and what puts them together; see `trie.constraints.declarations`.
    automaton
        Compiles it. Constraints that have one automaton share what their declarations have in
        common.

    Raises
    ------
    ValueError
        If the declaration may read the end token.
    """

    def __init__(self, declaration: Declaration, automaton: Automaton) -> None:
        self.automaton = automaton
        self.start = automaton.state(declaration)

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`; a state may be named several times."""
        return self.automaton.transitions(states)

    def walk(self, ids: Iterable[int]) -> int:
        """Return the state behind some tokens.

        Raises
        ------
        ValueError
            If one of them is not allowed where it stands.
        """
        state = self.start
        for token in ids:
            following = self.automaton.step(state, token)
            if following < 0:
                raise ValueError(f"token {token} is not allowed in state {state}")
            state = following
        return state

    def value(self, state: int) -> int:
        """Return what the last segment of the declaration handed on, behind the end token.

        If the tokens can be read in several ways, the least.

        Raises
        ------
        ValueError
            If `state` is not one behind the end token.
        """
        values = self.automaton.values(state)
        if not values:
            raise ValueError("the sequence has not ended")
        return min(values)


@dataclass(frozen=True, slots=True)
class Shared:
    """The automaton of the constraints over one trie, and the segment that they have in common."""

    automaton: Automaton
    sequences: InTrie


def shared(trie: Trie, eos: int) -> Shared:
    """Return what constraints over `trie` share; they keep the trie alive, this does not.

    Raises
    ------
    ValueError
        If the trie is empty.
    """
    by_eos = _SHARED.setdefault(trie, {})
    if eos not in by_eos or by_eos[eos].automaton.size > _SHARED_STATES:
        by_eos[eos] = Shared(Automaton(eos), InTrie(proxy(trie)))
    return by_eos[eos]
