"""Guided attention: a loss on cross-attention that teaches a few heads where to copy from.

Targets copy most of their tokens: titles from the claim or the evidence, proof spans from both.
Cross-entropy alone teaches a model where to look only slowly. The loss on the attention weights of
some heads is used in training only; the trained model is an ordinary BART. Source: guided alignment
training (Chen et al. 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import torch
from torch import nn
from transformers import BartForConditionalGeneration

_HEADS = 4  # guided heads of the last layer; the others are free


def alignment(
    source: Sequence[int], target: Sequence[int], alone: frozenset[int]
) -> list[tuple[int, int]]:
    """Return pairs (target position, source position) of tokens that the target copies.

    A target token is aligned with the source tokens on the longest common runs through it. A run of
    a single token counts only if the token is in `alone`, or if it is the whole text between two
    such tokens, as a title of one token is.

    Parameters
    ----------
    source, target
        Token ids.
    alone
        Tokens with the same meaning at every position, such as sentence identifiers, and tokens
        that delimit text, such as brackets.
    """
    positions: dict[int, list[int]] = {}
    for j, token in enumerate(source):
        positions.setdefault(token, []).append(j)
    runs: dict[tuple[int, int], int] = {}
    for i, token in enumerate(target):
        for j in positions.get(token, ()):
            breaks = token in alone or (i > 0 and target[i - 1] in alone)
            runs[i, j] = 1 if breaks else runs.get((i - 1, j - 1), 0) + 1
    for i in range(len(target) - 2, -1, -1):
        if target[i] in alone or target[i + 1] in alone:
            continue
        for j in positions.get(target[i], ()):
            runs[i, j] = max(runs[i, j], runs.get((i + 1, j + 1), 0))
    best: dict[int, int] = {}
    for (i, _), length in runs.items():
        best[i] = max(best.get(i, 0), length)

    def single(i: int) -> bool:
        before = i == 0 or target[i - 1] in alone
        after = i + 1 == len(target) or target[i + 1] in alone
        return target[i] in alone or (before and after)

    return [(i, j) for (i, j), n in runs.items() if n == best[i] and (n > 1 or single(i))]


class GuidedAttention:
    """Record queries and keys of the last cross-attention, and compute the loss on its weights.

    Use it as a context manager around the forward pass, then call `loss`.
    """

    def __init__(self, model: BartForConditionalGeneration) -> None:
        attention = model.model.decoder.layers[-1].encoder_attn
        self._projections = (attention.q_proj, attention.k_proj)
        self._width = attention.head_dim
        self._count = min(_HEADS, attention.num_heads)
        self._seen: dict[nn.Module, torch.Tensor] = {}

    def __enter__(self) -> GuidedAttention:
        self._seen.clear()
        self._handles = [p.register_forward_hook(self._keep) for p in self._projections]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            handle.remove()

    def _keep(self, module: nn.Module, _: object, output: torch.Tensor) -> None:
        self._seen[module] = output

    def loss(self, mask: torch.Tensor, copies: torch.Tensor, count: int) -> torch.Tensor:
        """Return the mean negative log of the attention mass on the aligned source positions.

        Parameters
        ----------
        mask
            Shape (batch, source), 1 where there is a token.
        copies
            Shape (batch, target, source), bool: source positions aligned with each target token.
        count
            Number of aligned target tokens to average over, in `copies` or in the whole batch that
            this is a part of. Not zero.
        """
        query, key = (self._heads(self._seen[p]) for p in self._projections)
        scores = query @ key.transpose(-1, -2) * self._width**-0.5
        logs = scores.masked_fill(mask[:, None, None] == 0, -torch.inf).log_softmax(-1)
        copied = copies.any(-1)
        # Without an alignment all attention counts, which avoids a log of zero; masked below.
        aligned = (copies | ~copied[..., None])[:, None]
        each = logs.masked_fill(~aligned, -torch.inf).logsumexp(-1)
        return -each.masked_fill(~copied[:, None], 0.0).sum() / (count * self._count)

    def _heads(self, states: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to (batch, guided heads, length, head width)."""
        guided = states[..., : self._count * self._width].float()
        return guided.unflatten(-1, (self._count, self._width)).transpose(1, 2)
