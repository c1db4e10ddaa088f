"""Whether a set of tensors is a whole BART."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

from admiral.convert.weights import BIAS, SHARED
from admiral.errors import AdmiralError


def check_tensors(config: BartConfig, tensors: Mapping[str, Tensor], where: object) -> None:
    """Compare names and shapes with those that transformers' BART of this config has.

    Parameters
    ----------
    tensors
        Under transformers' names, tied weights once (as `model.shared.weight`).

    Raises
    ------
    AdmiralError
        Naming the first tensor that is missing, unknown or of another shape.
    """
    with torch.device("meta"):
        state = BartForConditionalGeneration(config).state_dict()
    tied = re.compile(r"lm_head\.weight|model\.(encoder|decoder)\.embed_tokens\.weight")
    expected = {name: tuple(t.shape) for name, t in state.items() if not tied.fullmatch(name)}
    expected.setdefault(SHARED, (config.vocab_size, config.d_model))
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    found.setdefault(BIAS, expected[BIAS])
    remedy = "The file is damaged or of another architecture; give a BART checkpoint."
    for name in sorted(expected.keys() | found.keys(), key=lambda name: (name != SHARED, name)):
        if name not in found:
            raise AdmiralError(f"{where}: {name} is missing. {remedy}")
        if name not in expected:
            raise AdmiralError(f"{where}: {name} is not part of BART. {remedy}")
        if name in tensors and not tensors[name].is_floating_point():
            raise AdmiralError(f"{where}: {name} holds no floating-point numbers. {remedy}")
        if expected[name] != found[name]:
            raise AdmiralError(
                f"{where}: {name} has the shape {found[name]}, not {expected[name]}. {remedy}"
            )
