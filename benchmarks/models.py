"""The models that decoding is measured with."""

from __future__ import annotations

import time
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from admiral.models.checkpoint import locate_checkpoint
from trie import Seq2Seq
from trie.model.shared_attention import KVCache

MINI = locate_checkpoint("mini")

# The sizes of BART's checkpoints; the rest is as in `mini`.
SIZES: dict[str, dict[str, Any]] = {
    "base": {
        "vocab_size": 50265,
        "d_model": 768,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_ffn_dim": 3072,
        "decoder_ffn_dim": 3072,
        "max_position_embeddings": 1024,
    },
    "large": {
        "vocab_size": 50265,
        "d_model": 1024,
        "encoder_layers": 12,
        "decoder_layers": 12,
        "encoder_attention_heads": 16,
        "decoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096,
        "max_position_embeddings": 1024,
    },
}


def load(name: str) -> BartForConditionalGeneration:
    """Return `mini`, or a model of the size of BART's `base` or `large` with scores far apart."""
    if name == "mini":
        return BartForConditionalGeneration.from_pretrained(MINI, dtype=torch.float32).eval()
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig.from_pretrained(MINI, **SIZES[name])).eval()
    model.final_logits_bias.normal_()
    return model


class Timed(Seq2Seq):
    """A model that notes how long its decoder ran in each decode, and for how many tokens."""

    def __init__(self, model: BartForConditionalGeneration) -> None:
        super().__init__(model)
        self.decodes: list[float] = []
        self.tokens = 0

    def new_cache(self) -> KVCache:
        """Begin a decode."""
        self.decodes.append(0.0)
        return super().new_cache()

    def step(self, *arguments: Any) -> torch.Tensor:
        """Decode the next tokens."""
        began = time.process_time()
        logits = super().step(*arguments)
        self.decodes[-1] += time.process_time() - began
        self.tokens += logits.shape[2]
        return logits
