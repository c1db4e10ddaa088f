"""A small untrained BART model."""

import torch
from transformers import BartConfig, BartForConditionalGeneration


def bart(tokens, seed=0, positions=512):
    """Return a small untrained model of a tokenizer's vocabulary whose scores are far apart."""
    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=tokens.size,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=positions,
        pad_token_id=tokens.pad,
        bos_token_id=tokens.bos,
        eos_token_id=tokens.eos,
        decoder_start_token_id=tokens.start,
        forced_eos_token_id=None,
        dropout=0.0,
        init_std=0.5,
    )
    return BartForConditionalGeneration(config).eval()
