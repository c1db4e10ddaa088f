"""What the forward passes of models share: padding, bfloat16, and attention over heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn


def pad_batch(rows: Iterable[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return the rows padded on the right with `pad`, and their attention mask.

    The mask is derived from lengths: a row may contain `pad` itself. Both are int64, (rows, length
    of the longest row).
    """
    lists = [list(row) for row in rows]
    width = max(len(row) for row in lists)
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in lists], dtype=torch.int64)
    lengths = torch.tensor([len(row) for row in lists])
    return ids, (torch.arange(width) < lengths[:, None]).long()


def bfloat16_is_fast(device: torch.device) -> bool:
    """Return whether a device has bfloat16 matrix instructions; without them, it is slow."""
    if device.type == "cuda":
        return bool(torch.version.hip) or torch.cuda.get_device_capability(device)[0] >= 8
    return device.type == "cpu" and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


def convert_linears_to_bfloat16(model: nn.Module) -> None:
    """Convert the weights of a model's linear layers to bfloat16, as autocast would at each step.

    Autocast's weight cache does not work in inference mode, so autocast would convert all weights
    at each step. For 25 beams this took as long as the product with the vocabulary.

    A layer that shares its weights, as a language-model head does with the token embedding, gets a
    copy; the embedding is not changed.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = _converted(layer.weight)
            if layer.bias is not None:
                layer.bias = _converted(layer.bias)


def _converted(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().to(torch.bfloat16), requires_grad=False)


def split_heads(projected: Tensor, heads: int) -> Tensor:
    """Reshape (rows, length, features) to (rows, heads, length, head size)."""
    split: Tensor = projected.unflatten(-1, (heads, -1)).transpose(1, 2)
    return split


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the outputs of all heads side by side, (rows, queries, features).

    The arguments are (rows, heads, length, head size); `mask` is True where attention is allowed.
    """
    # torch's fused kernel takes up to three times as long for many beams on a CPU.
    scores = queries * queries.shape[-1] ** -0.5 @ keys.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    attended: Tensor = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
    return attended
