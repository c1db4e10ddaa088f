"""The best continuations of each input's beams among those that its constraint allows.

Only the logits of allowed tokens are gathered, on the model's device. Continuations that cannot be
among the best are dropped there; the few that remain are copied to host memory and sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trie.next_tokens import NextTokens
from trie.token_trie import Ints

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

        Raises
        ------
        ValueError
            If the score of a selected continuation is NaN.
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
