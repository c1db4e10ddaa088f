"""Which models can be run step by step, and what their configurations say."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BartForConditionalGeneration

from trie.model.packed_encoder import EncoderLayer, Linears, Products

# Variants that BART's configuration once had, or that its relatives have: where one of them is
# set, the order of operations in `trie.Seq2Seq` is not the model's.
_VARIANTS = (
    "normalize_before",
    "add_final_layer_norm",
    "add_final_layernorm",
    "static_position_embeddings",
)


def check_model(model: BartForConditionalGeneration) -> None:
    """Raise ValueError unless the decoder steps of `trie.Seq2Seq` are those of the model."""
    if not isinstance(model, BartForConditionalGeneration):
        raise ValueError(f"{type(model).__name__} is not a BartForConditionalGeneration")
    for name in _VARIANTS:
        if getattr(model.config, name, False):
            raise ValueError(f"BART with {name} is not supported; only the post-norm BART is")
    for name, layer in model.named_modules():
        if not isinstance(layer, nn.Linear):
            continue
        if layer.weight.dtype is not torch.float32:
            raise ValueError(f"{name} has weights in {layer.weight.dtype}; load them in float32")
        if not layer.weight.numel():
            raise ValueError(f"{name} gave up its weights; load the model again")


def token_of(model: BartForConditionalGeneration, name: str) -> int:
    """Return a token id of the model's configuration, which may lack it or hold several."""
    token = getattr(model.config, name, None)
    if not isinstance(token, int):
        raise ValueError(f"{name} in the model's configuration is {token!r}, not a token id")
    return token


def embedded(model: BartForConditionalGeneration, tokens: Tensor, positions: Tensor) -> Tensor:
    """Return what the first layer of the encoder reads; all of them (tokens,), then with width."""
    encoder = model.get_encoder()
    places = encoder.embed_positions(tokens, position_ids=positions)[0]
    normed: Tensor = encoder.layernorm_embedding(encoder.embed_tokens(tokens) + places)
    return normed


def encoder_layers(
    model: BartForConditionalGeneration, products: type[Products] = Linears
) -> list[EncoderLayer]:
    """Return the layers of the encoder, with products of a kind."""
    return [
        EncoderLayer(
            project=products(
                layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj
            ),
            output=products(layer.self_attn.out_proj),
            attention_norm=layer.self_attn_layer_norm,
            inner=products(layer.fc1),
            activation=layer.activation_fn,
            outer=products(layer.fc2),
            norm=layer.final_layer_norm,
            heads=layer.self_attn.num_heads,
        )
        for layer in model.get_encoder().layers
    ]
