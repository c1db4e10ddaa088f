"""bfloat16 inference: where it is fast, and models whose weights are kept in it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
    copy; the embedding is not changed. Layers that gave up their weights stay empty.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = _converted(layer.weight)
            if layer.bias is not None:
                layer.bias = _converted(layer.bias)


def _converted(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().to(torch.bfloat16), requires_grad=False)
