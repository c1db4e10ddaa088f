"""Guided attention: a loss on cross-attention that teaches a few heads where to copy from.

Targets copy most of their tokens: titles from the claim or the evidence, proof spans from both.
Cross-entropy alone teaches a model where to look only slowly. `training.data.copy_alignment` finds
the copied tokens. The loss is used in training only; the architecture stays the same. Source:
guided alignment training (Chen et al. 2016).
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

_HEADS = 4  # guided heads of the last layer; the others are free


class GuidedAttention:
    """Record queries and keys of the last cross-attention, and compute the loss on its weights.

    Use it as a context manager around the forward pass, then call `loss`.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        decoder: Any = model.get_decoder()
        if model.config.model_type == "bart":
            attention = decoder.layers[-1].encoder_attn
            self._projections = (attention.q_proj, attention.k_proj)
            self._width, heads = attention.head_dim, attention.num_heads
            self._scale = self._width**-0.5
        else:
            attention = decoder.block[-1].layer[1].EncDecAttention
            self._projections = (attention.q, attention.k)
            self._width, heads = attention.key_value_proj_dim, attention.n_heads
            self._scale = 1.0
        self._count = min(_HEADS, heads)
        self._outputs: dict[nn.Module, torch.Tensor] = {}

    def __enter__(self) -> GuidedAttention:
        self._outputs.clear()
        self._handles = [p.register_forward_hook(self._record) for p in self._projections]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            handle.remove()

    def _record(self, module: nn.Module, _: object, output: torch.Tensor) -> None:
        self._outputs[module] = output

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
        query, key = (self._heads(self._outputs[p]) for p in self._projections)
        scores = query @ key.transpose(-1, -2) * self._scale
        logs = scores.masked_fill(mask[:, None, None] == 0, -torch.inf).log_softmax(-1)
        copied = copies.any(-1)
        # Without an alignment all attention counts, which avoids a log of zero; masked below.
        aligned = (copies | ~copied[..., None])[:, None]
        mass = logs.masked_fill(~aligned, -torch.inf).logsumexp(-1)
        loss: torch.Tensor = -mass.masked_fill(~copied[:, None], 0.0).sum() / (count * self._count)
        return loss

    def _heads(self, states: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to (batch, guided heads, length, head width)."""
        guided = states[..., : self._count * self._width].float()
        heads = guided.view(*guided.shape[:-1], self._count, self._width)
        return heads.transpose(1, 2)
