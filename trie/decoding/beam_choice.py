"""The best continuations of each claim's beams, among those that its constraint allows.

Only the logits of allowed tokens are ever gathered, on the model's device. What cannot be among
the best is dropped there; the few that are left come to host memory, where they are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trie.decoding.next_tokens import Following
from trie.index.bits import Ints

Floats = npt.NDArray[np.float64]

# States whose tokens, times the beams in them, are more than this are handled one by one, as a
# dense matrix each: the root of a large trie, seldom another. For less a call of its own costs
# more than it saves.
_WIDE = 1 << 14
# How many values of such a line are looked at together.
_PIECE = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """Continuations: those of a claim behind each other, the best first.

    Attributes
    ----------
    claims, beams
        The claim of each, and the beam that it continues.
    tokens, states
        Its token, and the state behind it.
    scores
        Sum of the log probabilities, that of the token included.
    """

    claims: Ints
    beams: Ints
    tokens: Ints
    states: Ints
    scores: Floats


def rank(claims: Ints) -> Ints:
    """Return how many of the same claim are in front of each; `claims` ascend."""
    return np.arange(len(claims)) - claims.searchsorted(claims)


class Chooser:
    """Chooses among the continuations of running beams.

    Parameters
    ----------
    logits
        Of the next tokens; float32, (rows, vocabulary).
    totals
        The logarithm of the sum of the exponentials of each row; float64, (rows,). None stands
        for sums over the allowed tokens only.
    claims, scores, rows
        Of each beam its claim, ascending; its score so far; and its row in `logits`.
    following
        What may follow each beam.
    """

    def __init__(
        self,
        logits: Tensor,
        totals: Tensor | None,
        claims: Ints,
        scores: Floats,
        rows: Ints,
        following: Following,
    ) -> None:
        self._logits, self._claims, self._rows_here = logits, claims, rows
        self._following = following
        self._rows, self._scores = self._send(rows), self._send(scores)
        self._totals = None if totals is None else totals[self._rows]

    def best(self, count: int) -> Choice:
        """Return the `count` best continuations of each claim, equal ones in the order of beams.

        Raises
        ------
        ValueError
            If a logit that counts is NaN.
        """
        groups, sizes = self._following.groups, self._following.sizes
        wide = np.bincount(groups, minlength=len(sizes)) * sizes > _WIDE
        parts = [
            self._wide(int(group), np.flatnonzero(groups == group), count)
            for group in np.flatnonzero(wide)
        ]
        narrow = np.flatnonzero(~wide[groups])
        if narrow.size:
            parts.append(self._narrow(narrow, count))
        # One copy to the host. The whole numbers among them are far below 2^53.
        beams, places, scores = torch.cat(parts, dim=1).cpu().numpy()
        if np.isnan(scores).any():
            raise ValueError("the model computes NaN; its weights or its dtype are broken")
        owners = beams.astype(np.int64)
        claims = self._claims[owners]
        order = np.lexsort((places, owners, -scores, claims))
        order = order[rank(claims[order]) < count]
        kept = places[order].astype(np.int64)
        return Choice(
            claims[order],
            owners[order],
            self._following.tokens[kept],
            self._following.states[kept],
            scores[order],
        )

    # Both of these return the beam, the place in `Following.tokens` and the score of continuations
    # among which are the best ones; (3, continuations).

    def _wide(self, group: int, beams: Ints, count: int) -> Tensor:
        """Look at beams that are all in the same state: a line for each of them."""
        first, size = self._following.firsts[group], int(self._following.sizes[group])
        # The last token comes again and again, until the last piece of a line is full.
        places = np.minimum(np.arange(first, first - size // -_PIECE * _PIECE), first + size - 1)
        owners, logits = self._send(beams), self._logits
        if not np.array_equal(self._rows_here[beams], np.arange(len(logits))):
            logits = logits.index_select(0, self._rows[owners])
        values = logits.index_select(1, self._send(self._following.tokens[places]))
        known = self._totals
        totals = values[:, :size].double().logsumexp(1) if known is None else known[owners]
        line, place = _highest(values, size, count)
        line, place = line[place < size], place[place < size]
        owners = owners[line]
        scores = self._scores[owners] + (values[line, place].double() - totals[line])
        return torch.stack([owners.double(), (place + int(first)).double(), scores])

    def _narrow(self, beams: Ints, count: int) -> Tensor:
        """Look at beams in any states, their continuations behind each other: a line a claim."""
        owners, places = self._following.places(beams)
        index = self._rows_here[owners] * self._logits.shape[1] + self._following.tokens[places]
        owner, place = self._send(owners), self._send(places)
        values = self._logits.view(-1)[self._send(index)].double()
        totals = self._totals
        if totals is None:
            totals = _log_sum_exp(values, owner, len(self._rows))
        scores = self._scores[owner] + (values - totals[owner])
        claims, columns = self._claims[owners], rank(self._claims[owners])
        width = int(columns.max()) + 1
        if width > count:
            lines = np.cumsum(np.diff(claims, prepend=claims[0]) > 0)
            matrix = scores.new_full((int(lines[-1]) + 1, width), -torch.inf)
            line = self._send(lines)
            matrix[line, self._send(columns)] = scores
            kept = ~(scores < _least(matrix, count)[line])
            owner, place, scores = owner[kept], place[kept], scores[kept]
        return torch.stack([owner.double(), place.double(), scores])

    def _send(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self._logits.device)


def _highest(values: Tensor, size: int, count: int) -> tuple[Tensor, Tensor]:
    """Return line and column of places among which are the `count` highest of each line.

    Only the first `size` columns count; the others repeat the last of these. Values are looked at
    in pieces. As many as `count` are at least as high as the highest one of the `count`-th best
    piece, and only pieces that reach that need a closer look.
    """
    pieces = values.unflatten(1, (-1, _PIECE))
    tops = pieces.amax(dim=2)
    least = _least(tops if tops.shape[1] >= count else values[:, :size], count)
    line, piece = (~(tops < least[:, None])).nonzero(as_tuple=True)
    near, column = (~(pieces[line, piece] < least[line, None])).nonzero(as_tuple=True)
    return line[near], piece[near] * _PIECE + column


def _least(values: Tensor, count: int) -> Tensor:
    """Return the `count`-th highest value of each line, the lowest where there are fewer.

    NaN counts as the highest; nothing is below it, so that it stays among what is kept.
    """
    return values.topk(min(count, values.shape[1]), dim=1).values[:, -1]


def _log_sum_exp(values: Tensor, owner: Tensor, beams: int) -> Tensor:
    """Return, for each beam, the logarithm of the sum of the exponentials of its values."""
    tops = values.new_full((beams,), -torch.inf).scatter_reduce(0, owner, values, "amax")
    sums = values.new_zeros(beams).index_add(0, owner, (values - tops[owner]).exp())
    return tops + sums.log()
