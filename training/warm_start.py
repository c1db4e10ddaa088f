"""Create the untrained `mini` checkpoint: a BART whose encoder is MiniLM.

Run as ``python -m training warm_start OUT``.

BERT's and BART's encoder layers compute the same function (post-norm, GELU), so weights are copied.
BART has no token types; the embedding of token type 0 is added to the position embeddings. Only the
layer-norm epsilon differs (1e-12 in BERT, 1e-5 in BART). The decoder copies MiniLM's layers; its
cross-attention starts from the self-attention of the same layer.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from admiral.models.checkpoint import is_checkpoint, write_sums
from admiral.requirements import minilm_directory
from admiral.storage.atomic_files import as_os_errors, staging
from training.command_options import out_argument, program
from trie.safe_tokenizer import MARKERS

_BART_OFFSET = 2  # rows of BART's position embeddings before position 0
_DECODER_LAYERS = 3


def warm_start(minilm: Path) -> BartForConditionalGeneration:
    """Return a BART model initialised with the weights of MiniLM.

    Decoder layer ``i`` of three copies MiniLM's layer ``2 * i + 1``, so that it spans the whole
    depth.
    """
    bert = {k.removeprefix("bert."): v for k, v in load_file(minilm / "model.safetensors").items()}
    shape = json.loads((minilm / "config.json").read_text())
    config = BartConfig(
        vocab_size=shape["vocab_size"],
        max_position_embeddings=shape["max_position_embeddings"],
        d_model=shape["hidden_size"],
        encoder_layers=shape["num_hidden_layers"],
        decoder_layers=_DECODER_LAYERS,
        encoder_attention_heads=shape["num_attention_heads"],
        decoder_attention_heads=shape["num_attention_heads"],
        encoder_ffn_dim=shape["intermediate_size"],
        decoder_ffn_dim=shape["intermediate_size"],
        dropout=0.1,
        pad_token_id=0,
        bos_token_id=101,
        eos_token_id=102,
        decoder_start_token_id=102,
        forced_eos_token_id=None,
    )
    model = BartForConditionalGeneration(config)
    state = model.state_dict()
    words = bert["embeddings.word_embeddings.weight"]
    positions = bert["embeddings.position_embeddings.weight"]
    positions = positions + bert["embeddings.token_type_embeddings.weight"][0]
    state |= dict.fromkeys(("model.shared.weight", "lm_head.weight"), words)
    depth = int(shape["num_hidden_layers"])
    spread = [round((n + 1) * depth / _DECODER_LAYERS) - 1 for n in range(_DECODER_LAYERS)]
    for side, origins in (("encoder", range(depth)), ("decoder", spread)):
        state[f"model.{side}.embed_tokens.weight"] = words
        state[f"model.{side}.embed_positions.weight"][_BART_OFFSET:] = positions
        for part in ("weight", "bias"):
            norm = bert[f"embeddings.LayerNorm.{part}"]
            state[f"model.{side}.layernorm_embedding.{part}"] = norm
            for layer, origin in enumerate(origins):
                for theirs, ours in _NAMES.items():
                    name = f"model.{side}.layers.{layer}.{ours}.{part}"
                    values = bert[f"encoder.layer.{origin}.{theirs}.{part}"]
                    state[name] = values
                    if side == "decoder" and "self_attn" in name:
                        state[name.replace("self_attn", "encoder_attn")] = values
    model.load_state_dict(state)
    model.tie_weights()
    return model


_NAMES = {  # of BERT's modules in BART
    "attention.self.query": "self_attn.q_proj",
    "attention.self.key": "self_attn.k_proj",
    "attention.self.value": "self_attn.v_proj",
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "self_attn_layer_norm",
    "intermediate.dense": "fc1",
    "output.dense": "fc2",
    "output.LayerNorm": "final_layer_norm",
}


def mini_tokenizer(minilm: Path) -> PreTrainedTokenizerFast:
    """Return MiniLM's WordPiece tokenizer; its unused tokens become tasks, hops and identifiers."""
    data = json.loads((minilm / "tokenizer.json").read_text())
    vocabulary = data["model"]["vocab"]
    for number, token in enumerate(MARKERS):
        vocabulary[token] = vocabulary.pop(f"[unused{number}]")
        plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        added = {"id": vocabulary[token], "content": token, **plain, "special": True}
        data["added_tokens"].append(added)
    data["added_tokens"].sort(key=lambda added: added["id"])
    data["truncation"] = data["padding"] = None
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(data)),
        bos_token="[CLS]",
        eos_token="[SEP]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        model_max_length=512,
    )


@program
@out_argument
@click.option("--seed", default=0, show_default=True, help="Seed of the parameters that are new.")
def main(out: Path, seed: int) -> None:
    """Write the warm-started checkpoint to the directory OUT, replacing an earlier one."""
    minilm = minilm_directory()
    with staging(out, overwrite=True, owned=is_checkpoint) as folder, as_os_errors():
        torch.manual_seed(seed)
        warm_start(minilm).save_pretrained(folder)
        mini_tokenizer(minilm).save_pretrained(folder)
        write_sums(folder)
