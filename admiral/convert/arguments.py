"""The arguments that fairseq keeps in a checkpoint, written for a Hugging Face BART."""

from __future__ import annotations

import argparse

from transformers import BartConfig

from admiral.errors import AdmiralError

# fairseq's name: transformers' name. "gelu" is the exact one in both.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "relu": "relu",
    "tanh": "tanh",
}
RATES = ("dropout", "attention_dropout", "activation_dropout")


def namespace_of(config: BartConfig, *, task: str) -> argparse.Namespace:
    """Describe a `BartConfig` as the arguments that fairseq's ``BARTModel`` needs."""
    backwards = {hf: name for name, hf in ACTIVATIONS.items() if name != "gelu_fast"}
    if config.activation_function not in backwards:
        raise AdmiralError(
            f"config.json: activation_function {config.activation_function!r} has no equal in "
            f"fairseq. It can be one of {', '.join(sorted(backwards))}."
        )
    args: dict[str, object] = {
        "arch": "bart_base"
        if (config.d_model, config.encoder_layers) == (768, 6)
        else "bart_large",
        "task": task,
        "criterion": "cross_entropy",
        "data": ".",
        "seed": 1,
        "tokens_per_sample": config.max_position_embeddings,
        "sample_break_mode": "eos",
        "max_source_positions": config.max_position_embeddings,
        "max_target_positions": config.max_position_embeddings,
        "activation_fn": backwards[config.activation_function],
        "no_scale_embedding": not config.scale_embedding,
        "layernorm_embedding": True,
        "share_all_embeddings": True,
        "share_decoder_input_output_embed": True,
        "adaptive_softmax_cutoff": None,
        "adaptive_softmax_dropout": 0,
        "relu_dropout": 0.0,
        "pooler_activation_fn": "tanh",
        "pooler_dropout": 0.0,
        "decoder_input_dim": config.d_model,
        "decoder_output_dim": config.d_model,
        # The denoising task reads these when it is set up; the values are BART's own training's.
        "mask": 0.3,
        "mask_random": 0.1,
        "mask_length": "span-poisson",
        "poisson_lambda": 3.5,
        "insert": 0.0,
        "permute": 0.0,
        "rotate": 0.0,
        "permute_sentences": 1.0,
        "replace_length": 1,
        "shuffle_instance": False,
        "bpe": "gpt2",
    }
    if task == "translation":
        args |= {"source_lang": "source", "target_lang": "target", "left_pad_source": False}
        args |= {"left_pad_target": False, "truncate_source": False}
    args |= {rate: getattr(config, rate) for rate in RATES}
    for side in ("encoder", "decoder"):
        args |= {
            f"{side}_embed_path": None,
            f"{side}_embed_dim": config.d_model,
            f"{side}_ffn_embed_dim": getattr(config, f"{side}_ffn_dim"),
            f"{side}_layers": getattr(config, f"{side}_layers"),
            f"{side}_attention_heads": getattr(config, f"{side}_attention_heads"),
            f"{side}_layerdrop": getattr(config, f"{side}_layerdrop"),
            f"{side}_normalize_before": False,
            f"{side}_learned_pos": True,
        }
    return argparse.Namespace(**args)
