"""The retriever's output, ``e_i e_j ... [ title ] </s>``, as a decoding constraint.

The identifiers are exactly `count`, ascending, of distinct documents; the title is one of a trie.
A prefix from which that many documents can no longer be named is never entered.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from trie.constraint import Transitions, Trie, one_by_one
from trie.tokens import Tokens

Ints = npt.NDArray[np.int64]

# Allowed tokens by title state, shared by the constraints of all claims over one trie. Beams visit
# the same few thousand nodes again and again; the limit keeps a long run's memory bounded.
_SHARED: WeakKeyDictionary[Trie, dict[tuple[int, int], dict[int, Ints]]] = WeakKeyDictionary()
_SHARED_STATES = 1 << 16


class HopConstraint:
    """A `trie.Constraint` that accepts the identifiers of `count` documents and a title.

    With ``n`` nodes in the trie, the states are: ``node`` inside the title; ``n + node`` behind the
    mark ``]`` at a node that ends a title; ``2n + node`` behind the end token; ``3n + i`` in front
    of the mark ``[``, with the identifiers ``prefixes[i]``. A title may itself hold ``]``: state
    ``n + node`` then stands for both readings, the title being over and being one token longer.

    Parameters
    ----------
    trie, tokens
        The titles, and the tokenizer that spelt them.
    identifiers
        Number and document of each piece of evidence. The numbers are distinct.
    count
        How many identifiers a sequence has.

    Raises
    ------
    ValueError
        If there are fewer than `count` documents, no titles, or titles that hold the end token.
    """

    def __init__(
        self,
        trie: Trie,
        tokens: Tokens,
        identifiers: Sequence[tuple[int, Hashable]],
        count: int,
    ) -> None:
        self._identifiers = sorted(((n, d) for n, d in identifiers), key=lambda pair: pair[0])
        documents = {document for _, document in self._identifiers}
        if not 0 <= count <= len(documents):
            raise ValueError(f"cannot name {count} of {len(documents)} documents")
        self._ids = [tokens.identifier(number) for number, _ in self._identifiers]
        if len(set(self._ids)) != len(self._ids):
            raise ValueError("two pieces of evidence have the same identifier")
        if not len(trie):
            raise ValueError("there are no titles to choose from")
        self._trie, self._nodes, self._count = trie, trie.nodes, count
        self._open, self._close, self._eos = tokens.symbol("["), tokens.symbol("]"), tokens.eos
        self._title_allowed = _shared(trie, self._close, self._eos)
        self._prefixes: list[tuple[int, ...]] = []
        self._moves: list[dict[int, int] | None] = []
        self._prefix_allowed: dict[int, Ints] = {}
        self.start = self._prefix(())

    def allowed(self, state: int) -> Ints:
        """Return the token ids that may follow, ascending; none behind the end token."""
        own = state >= 3 * self._nodes
        cache = self._prefix_allowed if own else self._title_allowed
        found = cache.get(state)
        if found is None:
            if own:
                found = np.array(sorted(self._following(state)), dtype=np.int64)
            else:
                found = self._title_tokens(state)
            found.setflags(write=False)
            if own or len(cache) < _SHARED_STATES or state == self._trie.root:
                cache[state] = found
        return found

    def advance(self, state: int, token: int) -> int:
        """Return the state behind `token`.

        Raises
        ------
        ValueError
            If `token` is not allowed in `state`.
        """
        token, nodes = int(token), self._nodes
        following = -1
        if state < nodes:
            following = self._behind(state, token)
        elif state < 2 * nodes:
            if token == self._eos:
                following = state + nodes
            else:
                longer = self._trie.child(state - nodes, self._close)
                following = -1 if longer < 0 else self._behind(longer, token)
        elif state >= 3 * nodes:
            following = self._following(state).get(token, -1)
        if following < 0:
            raise ValueError(f"token {token} is not allowed in state {state}")
        return following

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow each of `states`."""
        return one_by_one(states, self.allowed, self.advance)

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the titles that a sequence which ended in `state` spells.

        Raises
        ------
        ValueError
            If `state` is not one behind the end token.
        """
        if not 2 * self._nodes <= state < 3 * self._nodes:
            raise ValueError("the sequence has not ended")
        return tuple(self._trie.rows(state - 2 * self._nodes).tolist())

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the identifier numbers and the title's rows of a sequence with its end token.

        Raises
        ------
        ValueError
            If the constraint does not let `ids` through to the end.
        """
        state, prefix = self.start, self.start
        for token in ids:
            state = self.advance(state, token)
            prefix = max(prefix, state)  # identifiers come first, and longer prefixes are later
        rows = self.rows(state)
        chosen = self._prefixes[prefix - 3 * self._nodes]
        return tuple(self._identifiers[position][0] for position in chosen), rows

    def _behind(self, node: int, token: int) -> int:
        """Return the state behind `token` at a node inside the title, -1 if there is none."""
        if token == self._close and self._trie.ends(node):
            return self._nodes + node
        return self._trie.child(node, token)

    def _title_tokens(self, state: int) -> Ints:
        if state >= 2 * self._nodes:
            return np.empty(0, dtype=np.int64)
        closed = state >= self._nodes
        node = self._trie.child(state - self._nodes, self._close) if closed else state
        marks = [self._eos] if closed else []
        if node < 0:
            return np.array(marks, dtype=np.int64)
        if self._trie.ends(node):
            marks.append(self._close)
        found, _ = self._trie.children(node)
        return np.union1d(found, np.array(marks, dtype=np.int64)) if marks else found

    def _prefix(self, positions: tuple[int, ...]) -> int:
        """Add the state with the identifiers at these positions; each is reached in one way."""
        self._prefixes.append(positions)
        self._moves.append(None)
        return 3 * self._nodes + len(self._prefixes) - 1

    def _following(self, state: int) -> dict[int, int]:
        """Return the states behind the tokens that may follow in front of the mark ``[``."""
        index = state - 3 * self._nodes
        moves = self._moves[index]
        if moves is None:
            prefix = self._prefixes[index]
            if len(prefix) == self._count:
                moves = {self._open: self._trie.root}
            else:
                moves = {self._ids[p]: self._prefix((*prefix, p)) for p in self._choices(prefix)}
            self._moves[index] = moves
        return moves

    def _choices(self, prefix: tuple[int, ...]) -> list[int]:
        """Return the positions behind `prefix` from which enough new documents can be named."""
        used = {self._identifiers[p][1] for p in prefix}
        missing = self._count - len(prefix)
        choices, ahead = [], set()
        for position in reversed(range(prefix[-1] + 1 if prefix else 0, len(self._identifiers))):
            document = self._identifiers[position][1]
            if document not in used:
                ahead.add(document)
                # `ahead` holds the documents from here on, this one included.
                if len(ahead) >= missing:
                    choices.append(position)
        return choices


def _shared(trie: Trie, close: int, eos: int) -> dict[int, Ints]:
    """Return the cache that belongs to a trie and its marks."""
    by_marks = _SHARED.setdefault(trie, {})
    if (close, eos) not in by_marks:
        if trie.holds(eos):
            raise ValueError("a title holds the end token")
        by_marks[close, eos] = {}
    return by_marks[close, eos]
