"""One of a list of token sequences, then the end token: the simplest constraint."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from trie.constraint import Transitions, Trie, one_by_one

Ints = npt.NDArray[np.int64]

# Beams visit the same nodes again and again; the limit keeps a long run's memory bounded.
_CACHED = 1 << 16


class TrieConstraint:
    """A `trie.Constraint` that accepts the sequences of a trie, each with the end token behind it.

    It depends on no input and keeps no trace of one, so a single object serves any number of them.
    With ``n`` nodes in the trie, the states are ``node`` inside a sequence and ``n + node`` behind
    the end token of the one that ends at ``node``.

    Parameters
    ----------
    trie
        The sequences, as the model spells them.
    eos
        The model's end token. The sequences themselves do not hold it.

    Raises
    ------
    ValueError
        If the trie is empty, or a sequence holds the end token.
    """

    def __init__(self, trie: Trie, eos: int) -> None:
        if not len(trie):
            raise ValueError("there are no sequences to choose from")
        if trie.holds(eos):
            raise ValueError(
                f"a sequence holds the end token {eos}. Leave it out, it is appended; in text that "
                "spells it by chance, trie.Tokens does not take it for one"
            )
        self._trie, self._nodes, self._eos = trie, trie.nodes, eos
        self.start = trie.root
        self._cache: dict[int, Ints] = {}

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence with its end token.

        A decoder that stops earlier (`max_new_tokens`) cuts sequences short.
        """
        return self._trie.longest + 1

    def allowed(self, state: int) -> Ints:
        """Return the token ids that may follow, ascending; none behind the end token."""
        found = self._cache.get(state)
        if found is None:
            found = self._tokens(state)
            found.setflags(write=False)
            if len(self._cache) < _CACHED:
                self._cache[state] = found
        return found

    def advance(self, state: int, token: int) -> int:
        """Return the state behind `token`.

        Raises
        ------
        ValueError
            If `token` is not allowed in `state`.
        """
        token, following = int(token), -1
        if state < self._nodes:
            if token != self._eos:
                following = self._trie.child(state, token)
            elif self._trie.ends(state):
                following = self._nodes + state
        if following < 0:
            raise ValueError(f"token {token} is not allowed in state {state}")
        return following

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`."""
        return one_by_one(states, self.allowed, self.advance)

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the sequences that end in `state`; several if they are equal.

        Raises
        ------
        ValueError
            If `state` is not one behind the end token.
        """
        if state < self._nodes:
            raise ValueError("the sequence has not ended")
        return tuple(self._trie.rows(state - self._nodes).tolist())

    def parse(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Return the rows of the sequence that `ids` spell up to the first end token.

        Parameters
        ----------
        ids
            What a model decoded, without its start token or prompt. What comes behind the end
            token, such as padding, is ignored.

        Raises
        ------
        ValueError
            If that is no sequence of the trie, or the end token is missing.
        """
        state = self.start
        for token in ids:
            state = self.advance(state, token)
            if state >= self._nodes:
                break
        return self.rows(state)

    def _tokens(self, state: int) -> Ints:
        if state >= self._nodes:
            return np.empty(0, dtype=np.int64)
        found, _ = self._trie.children(state)
        if self._trie.ends(state):
            found = np.insert(found, found.searchsorted(self._eos), self._eos)
        return found
