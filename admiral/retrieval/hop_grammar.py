"""The grammar of the hop retriever's output: ``e_i ... [ title ] </s>``, or titles alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from trie.automaton import GrammarConstraint, shared_automaton
from trie.grammar import FixedTokens, Segment, Trie
from trie.model.safe_tokenizer import SafeTokenizer
from trie.token_trie import Ints


class _State(NamedTuple):
    """The state after some identifiers; prefixes that allow the same continuations share one."""

    missing: int  # number of identifiers that must follow
    first: int  # position of the first that may follow
    taken: frozenset[int]  # documents, from there on, that already have one


class Identifiers:
    """A `trie.Segment` that accepts the identifiers of `count` distinct documents, in order.

    An identifier is allowed only if enough documents remain to complete the sequence. The value of
    the complete segment is 0.

    Raises
    ------
    ValueError
        If there are fewer than `count` documents, or two identifiers are equal.
    """

    def __init__(self, tokens: Sequence[int], documents: Sequence[Hashable], count: int) -> None:
        numbers: dict[Hashable, int] = {}
        self._tokens = tuple(tokens)
        self._documents = tuple(numbers.setdefault(d, len(numbers)) for d in documents)
        self._count = count
        if not 0 <= count <= len(numbers):
            raise ValueError(f"cannot name {count} of {len(numbers)} documents")
        if len(set(self._tokens)) < len(self._documents):
            raise ValueError("two pieces of evidence have the same identifier")
        self._states: list[_State] = []
        self._numbers: dict[_State, int] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identifiers) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        return self._tokens, self._documents, self._count

    def start_state(self, value: int) -> int:
        """Return the state before the first identifier."""
        return self._number(self._count, 0, frozenset())

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the allowed identifiers, in ascending order, and the states that they lead to."""
        missing, first, taken = self._states[state]
        next_states: dict[int, int] = {}
        remaining: set[int] = set()
        for position in reversed(range(first, len(self._tokens) if missing else first)):
            document = self._documents[position]
            if document not in taken:
                if len(remaining | {document}) >= missing:
                    still_taken = (taken | {document}) & set(self._documents[position + 1 :])
                    next_state = self._number(missing - 1, position + 1, still_taken)
                    next_states[self._tokens[position]] = next_state
                remaining.add(document)
        tokens = sorted(next_states)
        states = [next_states[token] for token in tokens]
        return np.array(tokens, dtype=np.int64), np.array(states, dtype=np.int64)

    def value(self, state: int) -> int | None:
        """Return 0 if no identifier is missing, else None."""
        return None if self._states[state].missing else 0

    def contains_token(self, token: int) -> bool:
        """Return whether a token is one of the identifiers."""
        return token in self._tokens

    def _number(self, missing: int, first: int, taken: frozenset[int]) -> int:
        state = _State(missing, first, taken) if missing else _State(0, 0, frozenset())
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number


class HopConstraint(GrammarConstraint):
    """A `trie.Constraint` that accepts `count` sentence identifiers and a title.

    A title may itself contain ``[`` and ``]``. The state, not the text, says whether it is
    complete.

    Parameters
    ----------
    identifiers
        The (number, document) pair of each evidence sentence. The numbers are distinct.

    Raises
    ------
    ValueError
        If there are fewer than `count` documents, no titles, or titles that contain the end token.
    """

    def __init__(
        self,
        trie: Trie,
        tokens: SafeTokenizer,
        identifiers: Sequence[tuple[int, Hashable]],
        count: int,
    ) -> None:
        ordered = sorted(identifiers, key=lambda pair: pair[0])
        identifier_tokens = [tokens.identifier(number) for number, _ in ordered]
        if not len(trie):
            raise ValueError("there are no titles to choose from")
        self._trie, self._count = trie, count
        self._numbers = {
            token: number for token, (number, _) in zip(identifier_tokens, ordered, strict=True)
        }
        automaton, titles = shared_automaton(trie, tokens.eos)
        prefix = Identifiers(identifier_tokens, [document for _, document in ordered], count)
        super().__init__((prefix, *_in_brackets(tokens, titles)), automaton)

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the titles that a complete sequence, which ends in `state`, spells.

        Raises
        ------
        ValueError
            If `state` does not follow the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the identifier numbers and the rows of the title of a complete sequence.

        Raises
        ------
        ValueError
            If the constraint does not accept `ids`, which include the end token.
        """
        rows = self.rows(self.walk(ids))
        return tuple(self._numbers[token] for token in ids[: self._count]), rows


class TitlesConstraint(GrammarConstraint):
    """A `trie.Constraint` that accepts a sequence of `count` titles, each in brackets.

    This is the output of the paper's variant `joint-docs`. A title may occur twice.

    Raises
    ------
    ValueError
        If `count` is less than 1, or there are no titles, or titles that contain the end token.
    """

    def __init__(self, trie: Trie, tokens: SafeTokenizer, count: int) -> None:
        if count < 1:
            raise ValueError(f"a sequence has at least one title, not {count}")
        self._trie, self._count = trie, count
        self._open, self._close = tokens.single_token("["), tokens.single_token("]")
        automaton, titles = shared_automaton(trie, tokens.eos)
        super().__init__(_in_brackets(tokens, titles) * count, automaton)

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the rows of each title of a complete sequence.

        If there is more than one reading, the one with the shortest first titles is returned.

        Raises
        ------
        ValueError
            If the constraint does not accept `ids`, which include the end token.
        """
        self.value(self.walk(ids))
        return tuple(
            tuple(self._trie.rows(node).tolist()) for node in self._nodes(ids[:-1], self._count)
        )

    def _nodes(self, ids: Sequence[int], count: int) -> list[int]:
        """Return the trie nodes of `count` titles that together spell `ids`; empty if none do."""
        if not ids or ids[0] != self._open:
            return []
        node = self._trie.root
        for position in range(1, len(ids)):
            if ids[position] == self._close and self._trie.ends(node):
                rest = ids[position + 1 :]
                nodes = self._nodes(rest, count - 1) if count > 1 else []
                if len(nodes) == count - 1 and (count > 1 or not rest):
                    return [node, *nodes]
            node = self._trie.child(node, ids[position])
            if node < 0:
                break
        return []


def _in_brackets(tokens: SafeTokenizer, titles: Segment) -> tuple[Segment, ...]:
    return (
        FixedTokens((tokens.single_token("["),)),
        titles,
        FixedTokens((tokens.single_token("]"),)),
    )
