"""Products of the encoder in eight bits, for processors with instructions for them (VNNI, AMX).

Weights have a scale for each output, and what is multiplied with them has one for each token, its
largest number. So a token's products depend on nothing beside it, neither on the batch nor on
texts that ranges were once measured with, and an outlier costs its own token precision only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from trie.model.packed_encoder import Linears, Products

# The processor multiplies bytes without sign by bytes with sign: inputs are shifted by the middle.
_MIDDLE = 128
_MOST = 127
# A scale below would have no reciprocal.
_LEAST = 1e-30
# Rows for which oneDNN lays out weights; other numbers are served as fast.
_ROWS = 2048


class Int8Linears:
    """Linear layers that read the same, as one product in eight bits; results are float32.

    The layers give up their weights, which are kept as bytes: they are of no more use elsewhere.
    Several threads may share one.
    """

    def __init__(self, *parts: nn.Linear) -> None:
        weight = torch.cat([part.weight.detach().float() for part in parts])
        self._bias = torch.cat([part.bias.detach().float() for part in parts])
        self._sizes = [part.out_features for part in parts]
        self._scales = weight.abs().amax(1).div_(_MOST).clamp_(min=_LEAST)
        whole = weight.div_(self._scales[:, None]).round_().to(torch.int8)
        self._packed: Tensor = torch.ops.onednn.qlinear_prepack(whole, [_ROWS, whole.shape[1]])
        self._zeros = torch.zeros(len(whole), dtype=torch.int32)
        for part in parts:
            part.weight = nn.Parameter(torch.empty(0), requires_grad=False)

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the outputs, each (tokens, its width), of `hidden`, float32, (tokens, width)."""
        least, most = hidden.amin(-1, keepdim=True), hidden.amax(-1, keepdim=True)
        scales = torch.maximum(most, least.neg_()).div_(_MOST).clamp_(min=_LEAST)
        # By way of bytes with sign, to which torch converts three times as fast.
        signed = (hidden * scales.reciprocal()).round_().to(torch.int8)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            signed.view(torch.uint8).add_(_MIDDLE),
            1.0,
            _MIDDLE,
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
        return product.mul_(scales).add_(self._bias).split(self._sizes, -1)


def products_of(dtype: torch.dtype, device: torch.device) -> type[Products]:
    """Return the kind of an encoder's products in a precision; ValueError as of `check_int8`."""
    if dtype is not torch.int8:
        return Linears
    check_int8(device)
    return Int8Linears


def check_int8(device: torch.device) -> None:
    """Raise ValueError, saying what would do instead, unless int8 is to be had on a device."""
    if device.type != "cpu":
        raise ValueError(
            f"int8 runs on processors only, not on {device}; use bf16 there, or device cpu"
        )
    if not int8_works():
        raise ValueError(
            "int8 needs a torch with oneDNN and a processor with VNNI; use fp32 or bf16"
        )


@cache
def int8_works() -> bool:
    """Whether torch multiplies bytes here, and without letting the sums overflow.

    Without VNNI, sums of two products are kept in 16 bits, which is too few.
    """
    largest = nn.utils.skip_init(nn.Linear, 64, 64)  # leaves torch's random numbers alone
    nn.init.ones_(largest.weight)
    nn.init.zeros_(largest.bias)
    try:
        (found,) = Int8Linears(largest)(torch.ones(64, 64))
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return bool((found - 64).abs().max() < 1e-3)
