"""The models that decoding is measured with."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from admiral.checkpoint import locate_checkpoint

MINI = locate_checkpoint("mini")

# The size of BART-base; the rest is as in `mini`.
BASE: dict[str, Any] = {
    "vocab_size": 50265,
    "d_model": 768,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_ffn_dim": 3072,
    "decoder_ffn_dim": 3072,
    "max_position_embeddings": 1024,
}


def load(name: str) -> BartForConditionalGeneration:
    """Return `mini`, or a model of the size of BART-base whose scores are far apart."""
    if name == "mini":
        return BartForConditionalGeneration.from_pretrained(MINI, dtype=torch.float32).eval()
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig.from_pretrained(MINI, **BASE)).eval()
    model.final_logits_bias.normal_()
    return model
