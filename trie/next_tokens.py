"""The next tokens of the beams of a batch, looked up once per constraint and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trie.constraint import Constraint, Transitions
from trie.token_trie import Ints, row_positions


@dataclass(frozen=True, slots=True)
class NextTokens:
    """The tokens that may follow some beams, as CSR arrays. Beams in the same state share a row."""

    rows: Ints  # the row of each beam; (beams,)
    tokens: Ints  # the allowed tokens, ascending within each row,
    next_states: Ints  # and the state after each of them
    offsets: Ints  # where each row begins in `tokens`; (rows,)
    sizes: Ints  # its length

    def positions(self, beams: Ints) -> tuple[Ints, Ints]:
        """Return the beam and the position in `tokens` of every continuation of `beams`."""
        rows = self.rows[beams]
        sizes = self.sizes[rows]
        return np.repeat(beams, sizes), row_positions(self.offsets[rows], sizes)

    def states_after(self, rows: Ints, tokens: Ints) -> Ints:
        """Return the state after one token of each of `rows`, or -1 if the token is not allowed.

        Nothing is allowed in row -1.
        """
        width = 1 + max(int(self.tokens.max(initial=0)), int(tokens.max(initial=0)))
        keys = np.repeat(np.arange(len(self.sizes)) * width, self.sizes) + self.tokens
        wanted = rows * width + tokens
        at = keys.searchsorted(wanted)
        allowed = np.append(keys, -1)[at] == wanted
        return np.where(allowed, np.append(self.next_states, -1)[at], -1)

    def with_single_tokens(self, tokens: Ints, rows: Ints) -> NextTokens:
        """Append a row for each of `tokens` that allows only this token; `rows` are the beams'."""
        ones = np.ones(len(tokens), dtype=np.int64)
        return NextTokens(
            rows,
            np.concatenate([self.tokens, tokens]),
            np.concatenate([self.next_states, -ones]),
            np.concatenate([self.offsets, len(self.tokens) + ones.cumsum() - 1]),
            np.concatenate([self.sizes, ones]),
        )

    @property
    def forced(self) -> bool:
        """Whether no beam has more than one next token. Some beams may have ended."""
        return bool((self.sizes <= 1).all())


class ConstraintBatch:
    """The constraints of a batch of inputs, which may share constraints.

    `starts` holds the start state of each input's constraint; (inputs,).
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        numbers: dict[int, int] = {}
        self._numbers = np.array([numbers.setdefault(id(c), len(numbers)) for c in constraints])
        self._distinct = list({id(c): c for c in constraints}.values())
        self.starts: Ints = np.array([c.start for c in constraints], dtype=np.int64)

    def next_tokens(self, inputs: Ints, states: Ints, vocab_size: int) -> NextTokens:
        """Return the tokens that may follow beams of these inputs in these states.

        Raises
        ------
        ValueError
            If a constraint allows a token that is not below `vocab_size`.
        """
        numbers = self._numbers[inputs]
        rows, count = np.empty(len(states), dtype=np.int64), 0
        empty = np.empty(0, dtype=np.int64)
        parts = [Transitions(empty, empty, empty)]
        for number in range(len(self._distinct)):
            beams = np.flatnonzero(numbers == number)
            if not beams.size:
                continue
            distinct, rows_of_beams = np.unique(states[beams], return_inverse=True)
            rows[beams] = count + rows_of_beams
            count += len(distinct)
            parts.append(self._distinct[number].transitions(distinct))
        tokens = np.concatenate([part.tokens for part in parts])
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocab_size:
            raise ValueError(
                f"a constraint allows a token outside the model's vocabulary of {vocab_size}; "
                "do model and tokenizer belong to the same checkpoint?"
            )
        next_states = np.concatenate([part.next_states for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        return NextTokens(rows, tokens, next_states, np.cumsum(sizes) - sizes, sizes)
