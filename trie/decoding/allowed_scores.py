"""Scores of which only those of allowed tokens are left, for whole rows of the vocabulary.

Most of the work is to touch all of the memory once: the result has a number for every token of the
vocabulary. Rows with few allowed tokens are filled with minus infinity, and the allowed scores are
copied there. Rows that share very many allowed tokens, as at the root of a large trie, are compared
with a line that is kept from call to call.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from trie.decoding.next_tokens import Following
from trie.index.bits import Ints

# Rows in one state, times its tokens, beyond which a line pays off; and how many lines are kept.
_WIDE, _LINES = 1 << 12, 4


class Allowed:
    """Leaves the scores of allowed tokens; keeps the lines of the last very wide states."""

    def __init__(self) -> None:
        self._lines: list[tuple[Ints, Tensor]] = []

    def of(self, scores: Tensor, following: Following, least: float) -> tuple[Tensor, Ints]:
        """Return new scores, minus infinity but for what may follow, even where they are NaN.

        Parameters
        ----------
        scores
            Of the next token; (rows, vocabulary).
        following
            What may follow each row.
        least
            Stands for the scores of allowed tokens in rows in which all of them are minus infinity.

        Returns
        -------
        Tensor
            The new scores.
        Ints
            The rows that got `least`.
        """
        groups, sizes = following.groups, following.sizes
        wide = np.bincount(groups, minlength=len(sizes)) * sizes > _WIDE
        kept = _room(scores)
        tops = scores.new_full((len(scores),), -math.inf)
        narrow = np.flatnonzero(~wide[groups])
        if narrow.size:
            kept.fill_(-math.inf)
            rows, tokens = _places(scores, following, narrow)
            kept[rows, tokens] = values = scores[rows, tokens]
            tops.scatter_reduce_(0, rows, values, "amax")
        for group in np.flatnonzero(wide).tolist():
            mine = np.flatnonzero(groups == group)
            first = following.firsts[group]
            line = self._line(scores, following.tokens[first : first + sizes[group]])
            if mine.size == groups.size:
                torch.minimum(scores, line, out=kept)
                tops = kept.amax(dim=1)
            else:
                rows = torch.from_numpy(mine).to(scores.device)
                kept[rows] = part = torch.minimum(scores[rows], line)
                tops[rows] = part.amax(dim=1)
        doubtful = np.flatnonzero(~(tops > -math.inf).cpu().numpy())
        return kept, _mend(kept, scores, following, doubtful, least) if len(doubtful) else doubtful

    def _line(self, scores: Tensor, tokens: Ints) -> Tensor:
        """Return infinity for these tokens, minus infinity for the others."""
        for known, line in self._lines:
            fits = (line.size(0), line.dtype, line.device) == (
                scores.size(1),
                scores.dtype,
                scores.device,
            )
            if fits and np.array_equal(known, tokens):
                return line
        line = scores.new_full((scores.size(1),), -math.inf)
        line[torch.from_numpy(tokens).to(line.device)] = math.inf
        self._lines = [(tokens, line), *self._lines[: _LINES - 1]]
        return line


def _mend(kept: Tensor, scores: Tensor, following: Following, doubtful: Ints, least: float) -> Ints:
    """Mend rows in which nothing is left, or NaN; return those that got `least`."""
    rows, tokens = _places(scores, following, doubtful)
    values = scores[rows, tokens]
    kept[torch.from_numpy(doubtful).to(kept.device)] = -math.inf
    kept[rows, tokens] = values
    lost = kept.amax(dim=1).isneginf()
    kept[rows, tokens] = values.masked_fill(lost[rows], least)
    return lost.nonzero()[:, 0].cpu().numpy()


def _places(scores: Tensor, following: Following, beams: Ints) -> tuple[Tensor, Tensor]:
    """Return row and token of all that may follow `beams`, on the device of the scores."""
    rows, places = following.places(beams)
    both = torch.from_numpy(np.stack([rows, following.tokens[places]])).to(scores.device)
    return both[0], both[1]


def _room(scores: Tensor) -> Tensor:
    """Return a tensor like `scores`, not filled.

    In host memory it is numpy's: numpy asks for large pages, torch does not, and to get memory page
    by page takes several times as long as to fill it.
    """
    if scores.device.type != "cpu":
        return torch.empty_like(scores, memory_format=torch.contiguous_format)
    room = np.empty(scores.numel() * scores.element_size(), dtype=np.uint8)
    return torch.from_numpy(room).view(scores.dtype).view(scores.shape)
