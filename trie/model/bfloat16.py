"""bfloat16: where it is fast, and weights kept in it, for models that only compute."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def bfloat16_is_fast(device: torch.device) -> bool:
    """Whether a device has instructions for products in bfloat16, which is slow without them."""
    if device.type == "cuda":
        return bool(torch.version.hip) or torch.cuda.get_device_capability(device)[0] >= 8
    return device.type == "cpu" and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


def keep_bfloat16(model: nn.Module) -> None:
    """Keep the weights of a model's linear layers in bfloat16, as autocast multiplies them.

    It would convert them again at each step: what it remembers of weights it does not remember in
    inference mode. That took as long as the product with the vocabulary itself, for 25 beams.

    A layer that shares its weights, as a head over the vocabulary does with the embedding of
    tokens, gets its own; the embedding stays as it is. Those that gave theirs up stay empty.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = _kept(layer.weight)
            if layer.bias is not None:
                layer.bias = _kept(layer.bias)


def _kept(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().to(torch.bfloat16), requires_grad=False)
