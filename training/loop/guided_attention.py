"""Guided attention: show a few cross-attention heads where a copied token stands in the source.

A target copies most of its tokens: titles from the claim or the evidence, proof spans from both.
A model learns from the cross-entropy alone where to look, but slowly; a loss on the attention of
some heads tells it. The loss exists in training only, the trained model is an ordinary BART.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import torch
from torch import nn
from transformers import BartForConditionalGeneration

_HEADS = 4  # of the last layer; the others stay free


def alignment(
    source: Sequence[int], target: Sequence[int], alone: frozenset[int]
) -> list[tuple[int, int]]:
    """Return the pairs (target position, source position) of tokens that the target copies.

    A target token is aligned with the source tokens that lie on the longest common runs through
    it. A run of one token counts only where the token is in `alone`, or where it is no part of a
    longer stretch of text, as a title of one token is not.

    Parameters
    ----------
    source, target
        Token ids.
    alone
        Tokens that mean the same wherever they stand, such as sentence identifiers, and those that
        end a stretch of text, such as brackets.
    """
    places: dict[int, list[int]] = {}
    for j, token in enumerate(source):
        places.setdefault(token, []).append(j)
    runs: dict[tuple[int, int], int] = {}
    for i, token in enumerate(target):
        for j in places.get(token, ()):
            breaks = token in alone or (i > 0 and target[i - 1] in alone)
            runs[i, j] = 1 if breaks else runs.get((i - 1, j - 1), 0) + 1
    for i in range(len(target) - 2, -1, -1):
        if target[i] in alone or target[i + 1] in alone:
            continue
        for j in places.get(target[i], ()):
            runs[i, j] = max(runs[i, j], runs.get((i + 1, j + 1), 0))
    best: dict[int, int] = {}
    for (i, _), length in runs.items():
        best[i] = max(best.get(i, 0), length)

    def single(i: int) -> bool:
        before = i == 0 or target[i - 1] in alone
        after = i + 1 == len(target) or target[i + 1] in alone
        return target[i] in alone or (before and after)

    return [(i, j) for (i, j), n in runs.items() if n == best[i] and (n > 1 or single(i))]


class AttentionGuide:
    """Reads the queries and keys of the last cross-attention while the model runs.

    Use it as a context around the forward pass, then ask for the `loss`.
    """

    def __init__(self, model: BartForConditionalGeneration) -> None:
        attention = model.model.decoder.layers[-1].encoder_attn
        self._projections = (attention.q_proj, attention.k_proj)
        self._width = attention.head_dim
        self._count = min(_HEADS, attention.num_heads)
        self._seen: dict[nn.Module, torch.Tensor] = {}

    def __enter__(self) -> AttentionGuide:
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
        """Return the negative log of the attention on the aligned source positions, averaged.

        Parameters
        ----------
        mask
            Shape (batch, source), 1 where there is a token.
        copies
            Shape (batch, target, source), bool: the alignment of each target token.
        count
            Target tokens with an alignment to average over; those of `copies`, or of the whole
            batch that this is a part of. Not zero.
        """
        query, key = (self._heads(self._seen[p]) for p in self._projections)
        scores = query @ key.transpose(-1, -2) * self._width**-0.5
        logs = scores.masked_fill(mask[:, None, None] == 0, -torch.inf).log_softmax(-1)
        copied = copies.any(-1)
        # Where nothing is copied all attention counts, so that there is no log of zero; left out
        # below.
        aligned = (copies | ~copied[..., None])[:, None]
        each = logs.masked_fill(~aligned, -torch.inf).logsumexp(-1)
        return -each.masked_fill(~copied[:, None], 0.0).sum() / (count * self._count)

    def _heads(self, states: torch.Tensor) -> torch.Tensor:
        """(batch, length, width) to (batch, heads, length, head width), the guided heads only."""
        some = states[..., : self._count * self._width].float()
        return some.unflatten(-1, (self._count, self._width)).transpose(1, 2)
