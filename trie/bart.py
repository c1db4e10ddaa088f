"""Which models can be run step by step, and what their configurations say."""

from __future__ import annotations

from transformers import BartForConditionalGeneration

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


def token_of(model: BartForConditionalGeneration, name: str) -> int:
    """Return a token id of the model's configuration, which may lack it or hold several."""
    token = getattr(model.config, name, None)
    if not isinstance(token, int):
        raise ValueError(f"{name} in the model's configuration is {token!r}, not a token id")
    return token
