"""Matrix products in bfloat16, and in 8 bits on CPUs with instructions for them (VNNI, AMX).

8-bit weights are quantised symmetrically per output channel, activations dynamically per token. The
result for a token therefore depends neither on the rest of the batch nor on calibration data, and
an outlier costs precision only in its own token.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from trie.model.packed_encoder import FloatLinears, LinearGroup

# The CPU multiplies unsigned by signed bytes, so activations are shifted by this zero point.
_ZERO_POINT = 128
_MAX = 127
_MIN_SCALE = 1e-30  # a smaller scale would have no finite reciprocal
# Number of rows for which oneDNN lays out weights; other numbers are as fast.
_LAYOUT_ROWS = 2048


class Int8Linears:
    """Linear layers with the same input, as one 8-bit matrix product; results are float32.

    The layers give up their weights, which are kept as bytes, and cannot be used elsewhere
    afterwards. Thread-safe.
    """

    def __init__(self, *layers: nn.Linear) -> None:
        weight = torch.cat([layer.weight.detach().float() for layer in layers])
        self._bias = torch.cat([_bias(layer) for layer in layers])
        self._sizes = [layer.out_features for layer in layers]
        self._scales = weight.abs().amax(1).div_(_MAX).clamp_(min=_MIN_SCALE)
        quantised = weight.div_(self._scales[:, None]).round_().to(torch.int8)
        self._packed: Tensor = torch.ops.onednn.qlinear_prepack(
            quantised, [_LAYOUT_ROWS, quantised.shape[1]]
        )
        self._zeros = torch.zeros(len(quantised), dtype=torch.int32)
        for layer in layers:
            layer.weight = nn.Parameter(torch.empty(0), requires_grad=False)

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the outputs, each (tokens, out_features), for `hidden`, float32, (tokens, in)."""
        lowest, highest = hidden.amin(-1, keepdim=True), hidden.amax(-1, keepdim=True)
        scales = torch.maximum(highest, lowest.neg_()).div_(_MAX).clamp_(min=_MIN_SCALE)
        # By way of signed bytes, to which torch converts three times as fast.
        signed = (hidden * scales.reciprocal()).round_().to(torch.int8)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            signed.view(torch.uint8).add_(_ZERO_POINT),
            1.0,
            _ZERO_POINT,
            self._packed,
            self._scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        outputs: Sequence[Tensor] = product.mul_(scales).add_(self._bias).split(self._sizes, -1)
        return outputs


def _bias(layer: nn.Linear) -> Tensor:
    bias: Tensor | None = layer.bias  # none in T5
    return torch.zeros(layer.out_features) if bias is None else bias.detach().float()


def linear_group_type(dtype: torch.dtype, device: torch.device) -> type[LinearGroup]:
    """Return the implementation of an encoder's linear layers for a dtype; see `check_int8`."""
    if dtype is not torch.int8:
        return FloatLinears
    check_int8(device)
    return Int8Linears


def check_int8(device: torch.device) -> None:
    """Raise ValueError, naming alternatives, if int8 is not supported on a device."""
    if device.type != "cpu":
        raise ValueError(f"int8 runs on CPUs only, not on {device}; use bf16 there, or device cpu")
    if not int8_is_supported():
        raise ValueError("int8 needs a torch with oneDNN and a CPU with VNNI; use fp32 or bf16")


@cache
def int8_is_supported() -> bool:
    """Return whether torch multiplies bytes on this CPU without overflow.

    Without VNNI, sums of two products are kept in 16 bits, which is not enough.
    """
    largest = nn.utils.skip_init(nn.Linear, 64, 64)  # does not advance torch's random generator
    nn.init.ones_(largest.weight)
    nn.init.zeros_(largest.bias)
    try:
        (sums,) = Int8Linears(largest)(torch.ones(64, 64))
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return bool((sums - 64).abs().max() < 1e-3)


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
