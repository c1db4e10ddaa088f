"""Constraints defined by grammars, and the constraint that accepts the sequences of a trie."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary, proxy

from trie.automaton import Automaton
from trie.constraint import Transitions, Trie
from trie.grammar import Grammar, TrieSequence
from trie.token_trie import Ints

# Automata shared by the constraints over one trie, by end token. Beams visit the same few thousand
# nodes again and again. Beyond the limit, new constraints get a new automaton, and the old one is
# freed with the constraints that use it, so the memory of a long run is bounded.
_SHARED: WeakKeyDictionary[Trie, dict[int, tuple[Automaton, TrieSequence]]] = WeakKeyDictionary()
_MAX_SHARED_STATES = 1 << 20


class GrammarConstraint:
    """A `trie.Constraint` that accepts the sequences of a grammar, followed by the end token.

    Constraints that use the same automaton share the states that their grammars have in common.

    Raises
    ------
    ValueError
        If the grammar can read the end token.
    """

    def __init__(self, grammar: Grammar, automaton: Automaton) -> None:
        self.automaton = automaton
        self.start = automaton.state(grammar)

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`, which may repeat."""
        return self.automaton.transitions(states)

    def walk(self, ids: Iterable[int]) -> int:
        """Return the state after some tokens.

        Raises
        ------
        ValueError
            If a token is not allowed at its position.
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

        Raises
        ------
        ValueError
            If `state` is not a state after the end token.
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

    Raises
    ------
    ValueError
        If the trie is empty, or a sequence contains the end token.
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

        Raises
        ------
        ValueError
            If `state` is not a state after the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Return the rows of the sequence that `ids` spell up to the first end token.

        The tokens are given without start token and prompt; those after the end are ignored.

        Raises
        ------
        ValueError
            If the tokens are not a sequence of the trie, or the end token is missing.
        """
        ids = list(ids)
        return self.rows(self.walk(ids[: ids.index(self._eos) + 1] if self._eos in ids else ids))


def shared_automaton(trie: Trie, eos: int) -> tuple[Automaton, TrieSequence]:
    """Return the automaton that constraints over `trie` share, and the segment of its sequences.

    The constraints keep the trie alive, the shared automaton does not.

    Raises
    ------
    ValueError
        If the trie is empty.
    """
    by_eos = _SHARED.setdefault(trie, {})
    if eos not in by_eos or by_eos[eos][0].size > _MAX_SHARED_STATES:
        by_eos[eos] = Automaton(eos), TrieSequence(proxy(trie))
    return by_eos[eos]
