"""The next tokens of the beams of a batch, and the best continuations among them.

Next tokens are looked up once per constraint and state. Only their logits are gathered, on the
model's device. Continuations that cannot be among the best are dropped there; the few that remain
are copied to host memory and sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trie.grammar import Constraint, Transitions
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

        Raises `ValueError` if a constraint allows a token that is not below `vocab_size`.
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


Floats = npt.NDArray[np.float64]

# States whose tokens, times the beams in them, exceed this number are handled one by one, as a
# dense matrix: the root of a large trie, seldom another. Below it, the extra calls cost more than
# they save.
_WIDE = 1 << 14


@dataclass(frozen=True, slots=True)
class Continuations:
    """Beams extended by one token, grouped by input, the best first within an input.

    A continuation extends a beam of an input by a token, after which its constraint has a state.
    Its score is the sum of the log-probabilities, including that of the token.
    """

    inputs: Ints
    beams: Ints
    tokens: Ints
    states: Ints
    scores: Floats


def rank_in_group(groups: Ints) -> Ints:
    """Return how many members of the same group come before each; `groups` ascend."""
    return np.arange(len(groups)) - groups.searchsorted(groups)


class ContinuationSelector:
    """Selects the best continuations of running beams.

    Each beam has an input, ascending, a score so far, and a row in `logits`, (rows, vocabulary),
    those of the next token in float32. `log_normalisers` are the log-sum-exp of each row, float64,
    (rows,), which turn logits into a log-softmax over the full vocabulary. None normalises over the
    allowed tokens only.
    """

    def __init__(
        self,
        logits: Tensor,
        log_normalisers: Tensor | None,
        inputs: Ints,
        scores: Floats,
        rows: Ints,
        next_tokens: NextTokens,
    ) -> None:
        self._logits, self._inputs, self._host_rows = logits, inputs, rows
        self._next_tokens = next_tokens
        self._rows, self._scores = self._to_device(rows), self._to_device(scores)
        self._log_normalisers = None if log_normalisers is None else log_normalisers[self._rows]

    def top_k(self, k: int) -> Continuations:
        """Return the `k` best continuations of each input; ties are ordered by beam and token.

        Raises `ValueError` if the score of a selected continuation is NaN.
        """
        groups, sizes = self._next_tokens.rows, self._next_tokens.sizes
        wide = np.bincount(groups, minlength=len(sizes)) * sizes > _WIDE
        parts = [
            self._wide(int(group), np.flatnonzero(groups == group), k)
            for group in np.flatnonzero(wide)
        ]
        narrow = np.flatnonzero(~wide[groups])
        if narrow.size:
            parts.append(self._narrow(narrow, k))
        # One copy to the host. Beams and places are integers far below 2^53, exact in float64.
        beams, places, scores = torch.cat(parts, dim=1).cpu().numpy()
        if np.isnan(scores).any():
            raise ValueError("the model computes NaN; its weights or its dtype are broken")
        owners = beams.astype(np.int64)
        inputs = self._inputs[owners]
        order = np.lexsort((places, owners, -scores, inputs))
        order = order[rank_in_group(inputs[order]) < k]
        kept = places[order].astype(np.int64)
        return Continuations(
            inputs[order],
            owners[order],
            self._next_tokens.tokens[kept],
            self._next_tokens.next_states[kept],
            scores[order],
        )

    # Both of these return a superset of the best continuations as a tensor (3, continuations): the
    # beam, the place in `NextTokens.tokens`, and the score.

    def _wide(self, group: int, beams: Ints, k: int) -> Tensor:
        """Select among beams that are all in the same state: one dense row per beam."""
        first, size = int(self._next_tokens.offsets[group]), self._next_tokens.sizes[group]
        tokens = self._next_tokens.tokens[first : first + size]
        owners, logits = self._to_device(beams), self._logits
        if not np.array_equal(self._host_rows[beams], np.arange(len(logits))):
            logits = logits.index_select(0, self._rows[owners])
        values = logits.index_select(1, self._to_device(tokens))
        if self._log_normalisers is None:
            log_normalisers = values.double().logsumexp(1)
        else:
            log_normalisers = self._log_normalisers[owners]
        row, place = (~(values < _kth_highest(values, k)[:, None])).nonzero(as_tuple=True)
        owners = owners[row]
        scores = self._scores[owners] + (values[row, place].double() - log_normalisers[row])
        return torch.stack([owners.double(), (place + first).double(), scores])

    def _narrow(self, beams: Ints, k: int) -> Tensor:
        """Select among beams in any states, all continuations of an input in one row."""
        owners, places = self._next_tokens.positions(beams)
        tokens = self._next_tokens.tokens[places]
        index = self._host_rows[owners] * self._logits.shape[1] + tokens
        owner, place = self._to_device(owners), self._to_device(places)
        values = self._logits.view(-1)[self._to_device(index)].double()
        log_normalisers = self._log_normalisers
        if log_normalisers is None:
            log_normalisers = _log_sum_exp(values, owner, len(self._rows))
        scores = self._scores[owner] + (values - log_normalisers[owner])
        inputs, columns = self._inputs[owners], rank_in_group(self._inputs[owners])
        width = int(columns.max()) + 1
        if width > k:
            rows = np.cumsum(np.diff(inputs, prepend=inputs[0]) > 0)
            matrix = scores.new_full((int(rows[-1]) + 1, width), -torch.inf)
            row = self._to_device(rows)
            matrix[row, self._to_device(columns)] = scores
            kept = ~(scores < _kth_highest(matrix, k)[row])
            owner, place, scores = owner[kept], place[kept], scores[kept]
        return torch.stack([owner.double(), place.double(), scores])

    def _to_device(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self._logits.device)


def _kth_highest(values: Tensor, k: int) -> Tensor:
    """Return the `k`-th highest value of each row, or the lowest if there are fewer.

    NaN counts as the highest value. Nothing compares as below NaN, so NaN is never dropped.
    """
    return values.topk(min(k, values.shape[1]), dim=1).values[:, -1]


def _log_sum_exp(values: Tensor, owner: Tensor, beams: int) -> Tensor:
    maxima = values.new_full((beams,), -torch.inf).scatter_reduce(0, owner, values, "amax")
    sums = values.new_zeros(beams).index_add(0, owner, (values - maxima[owner]).exp())
    return maxima + sums.log()
