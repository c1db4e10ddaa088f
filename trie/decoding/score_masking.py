"""Masking scores over the whole vocabulary: minus infinity for every token that is not allowed.

Most of the time goes into touching the result's memory once. Rows with few allowed tokens are
filled with minus infinity, and the allowed scores are copied. When rows share very many allowed
tokens, as at the root of a large trie, they are combined with a mask that is cached across calls.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from trie.decoding.next_tokens import NextTokens
from trie.index.csr import Ints

# Rows in one state, times its tokens, above which a cached mask pays off; and masks to cache.
_WIDE, _CACHED_MASKS = 1 << 12, 4


class ScoreMasker:
    """Masks the scores of tokens that are not allowed; caches the masks of very wide states."""

    def __init__(self) -> None:
        self._masks: list[tuple[Ints, Tensor]] = []

    def mask(self, scores: Tensor, next_tokens: NextTokens, fallback: float) -> tuple[Tensor, Ints]:
        """Return new scores: minus infinity for tokens that are not allowed, even if NaN before.

        Parameters
        ----------
        scores
            Scores of the next token; (rows, vocabulary).
        next_tokens
            The tokens that may follow each row.
        fallback
            The score given to the allowed tokens of rows in which all of them are minus infinity.

        Returns
        -------
        Tensor
            The new scores; (rows, vocabulary).
        Ints
            The rows that got `fallback`.
        """
        groups, sizes = next_tokens.rows, next_tokens.sizes
        wide = np.bincount(groups, minlength=len(sizes)) * sizes > _WIDE
        masked = _empty_like(scores)
        maxima = scores.new_full((len(scores),), -math.inf)
        narrow = np.flatnonzero(~wide[groups])
        if narrow.size:
            masked.fill_(-math.inf)
            rows, tokens = _coordinates(scores, next_tokens, narrow)
            masked[rows, tokens] = values = scores[rows, tokens]
            maxima.scatter_reduce_(0, rows, values, "amax")
        for group in np.flatnonzero(wide).tolist():
            members = np.flatnonzero(groups == group)
            offset = next_tokens.offsets[group]
            mask = self._mask(scores, next_tokens.tokens[offset : offset + sizes[group]])
            if members.size == groups.size:
                torch.minimum(scores, mask, out=masked)
                maxima = masked.amax(dim=1)
            else:
                rows = torch.from_numpy(members).to(scores.device)
                masked[rows] = part = torch.minimum(scores[rows], mask)
                maxima[rows] = part.amax(dim=1)
        doubtful = np.flatnonzero(~(maxima > -math.inf).cpu().numpy())
        if not len(doubtful):
            return masked, doubtful
        return masked, _repair(masked, scores, next_tokens, doubtful, fallback)

    def _mask(self, scores: Tensor, tokens: Ints) -> Tensor:
        """Return a row of the vocabulary: infinity for `tokens`, minus infinity elsewhere."""
        for cached, mask in self._masks:
            fits = (mask.size(0), mask.dtype, mask.device) == (
                scores.size(1),
                scores.dtype,
                scores.device,
            )
            if fits and np.array_equal(cached, tokens):
                return mask
        mask = scores.new_full((scores.size(1),), -math.inf)
        mask[torch.from_numpy(tokens).to(mask.device)] = math.inf
        self._masks = [(tokens, mask), *self._masks[: _CACHED_MASKS - 1]]
        return mask


def _repair(
    masked: Tensor, scores: Tensor, next_tokens: NextTokens, doubtful: Ints, fallback: float
) -> Ints:
    """Mask rows again that have no finite score or a NaN; return those that got `fallback`."""
    rows, tokens = _coordinates(scores, next_tokens, doubtful)
    values = scores[rows, tokens]
    masked[torch.from_numpy(doubtful).to(masked.device)] = -math.inf
    masked[rows, tokens] = values
    lost = masked.amax(dim=1).isneginf()
    masked[rows, tokens] = values.masked_fill(lost[rows], fallback)
    return lost.nonzero()[:, 0].cpu().numpy()


def _coordinates(scores: Tensor, next_tokens: NextTokens, beams: Ints) -> tuple[Tensor, Tensor]:
    """Return row and token of every continuation of `beams`, on the device of the scores."""
    rows, places = next_tokens.positions(beams)
    both = torch.from_numpy(np.stack([rows, next_tokens.tokens[places]])).to(scores.device)
    return both[0], both[1]


def _empty_like(scores: Tensor) -> Tensor:
    """Return an uninitialised tensor like `scores`.

    In host memory it is allocated by numpy, which asks for huge pages. torch does not, and getting
    memory page by page takes several times as long as filling it.
    """
    if scores.device.type != "cpu":
        return torch.empty_like(scores, memory_format=torch.contiguous_format)
    buffer = np.empty(scores.numel() * scores.element_size(), dtype=np.uint8)
    return torch.from_numpy(buffer).view(scores.dtype).view(scores.shape)
