"""Names and shapes of BART's tensors in fairseq and in transformers.

The names inside the layers agree. Those of the (tied) embeddings differ, and old and new versions
of fairseq have additional tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

from admiral.errors import AdmiralError
from admiral.models.checkpoint import read_object

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Read all tensors of ``model.safetensors``, or of the shards listed in its index.

    Raises AdmiralError if a file is missing or damaged.
    """
    index = directory / _INDEX
    if (directory / WEIGHTS).is_file():
        shards = [WEIGHTS]
    elif index.is_file():
        table = read_object(index).get("weight_map")
        if not isinstance(table, dict) or not all(_is_file_name(name) for name in table.values()):
            raise AdmiralError(f"{index}: field 'weight_map' is damaged. Download it again.")
        shards = sorted(set(table.values()))
    else:
        raise AdmiralError(
            f"{directory}: holds no {WEIGHTS}. "
            "Save the model as safetensors (model.save_pretrained does)."
        )
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        try:
            tensors |= load_file(directory / shard)
        except (OSError, SafetensorError) as error:
            raise AdmiralError(
                f"{directory / shard}: cannot be read ({error}). Download it again."
            ) from error
    return tensors


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name


EMBEDDING = "encoder.embed_tokens.weight"
_TIED = ("decoder.embed_tokens.weight", "decoder.output_projection.weight")
SHARED = "model.shared.weight"
BIAS = "final_logits_bias"
_HF_TIED = (
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)

# Tensors that the model does not compute with: format versions, buffers, and untrained copies of
# the self-attention, which fairseq 0.12 has for PyTorch's fused encoder layer.
_UNUSED = re.compile(
    r"(encoder|decoder)\.version"
    r"|(encoder|decoder)\.embed_positions\._float_tensor"
    r"|encoder\.layers\.\d+\.(in_proj|out_proj)_(weight|bias)"
)
_OLD_NORM = re.compile(r"(encoder|decoder)(\.layers\.\d+)\.layer_norms\.(\d)\.(weight|bias)")
_OLD_ATTENTION = re.compile(r"(.*\.(?:self|encoder)_attn)\.in_proj_(weight|bias)")
_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def to_current_names(
    weights: Mapping[str, Tensor], where: object
) -> tuple[dict[str, Tensor], list[str]]:
    """Rename a fairseq state to the names of current fairseq versions, tied weights once.

    Returns the state without tied copies and unused tensors. Raises AdmiralError if the embeddings
    are not tied.
    """
    state: dict[str, Tensor] = {}
    heads = set()
    for name, tensor in weights.items():
        if name.startswith("classification_heads."):
            heads.add(name.split(".")[1])
        elif norm := _OLD_NORM.fullmatch(name):
            side, layer, number, part = norm.groups()
            new = dict(enumerate(_NORMS[side])).get(int(number), f"layer_norms.{number}")
            state[f"{side}{layer}.{new}.{part}"] = tensor
        elif attention := _OLD_ATTENTION.fullmatch(name):
            for projection, third in zip("qkv", tensor.chunk(3), strict=False):
                state[f"{attention[1]}.{projection}_proj.{attention[2]}"] = third
        elif not _UNUSED.fullmatch(name):
            state[name] = tensor
    embedding = state.get(EMBEDDING)
    for name in _TIED:
        copy = state.pop(name, None)
        if embedding is not None and copy is not None and not _are_equal(copy, embedding):
            raise AdmiralError(
                f"{where}: {name} differs from {EMBEDDING}; BART shares one embedding. "
                "Train with --share-all-embeddings."
            )
    notices = [f"classification head {head!r} left out" for head in sorted(heads)]
    return state, notices


def to_hf_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename a state of `to_current_names` as in transformers, tied weights once."""
    renamed = {
        SHARED if name == EMBEDDING else f"model.{name}": tensor for name, tensor in state.items()
    }
    embedding = state[EMBEDDING]
    return {**renamed, BIAS: torch.zeros(1, embedding.shape[0], dtype=embedding.dtype)}


def to_fairseq_names(
    tensors: Mapping[str, Tensor], where: object
) -> tuple[dict[str, Tensor], list[str]]:
    """Rename the tensors of a transformers BART; the inverse of `to_hf_names`.

    Returns tensors under fairseq's names, tied weights once. Raises AdmiralError if the embeddings
    are not tied, or the output bias, which fairseq does not have, is not zero.
    """
    # A directory saved from BartModel, which has no output layer, has no prefix.
    without_prefix = not any(name.startswith("model.") for name in tensors)
    named = {
        f"model.{name}"
        if without_prefix and name.startswith(("shared", "encoder", "decoder"))
        else name: t
        for name, t in tensors.items()
    }
    bias = named.pop(BIAS, None)
    if bias is not None and bool(bias.any()):
        raise AdmiralError(
            f"{where}: {BIAS} is not zero, and fairseq's BART has no output bias. "
            "This checkpoint cannot be expressed in fairseq."
        )
    copies = [named.pop(name) for name in (SHARED, *_HF_TIED) if name in named]
    if not copies:
        raise AdmiralError(f"{where}: {SHARED} is missing. Save the model again.")
    if not all(_are_equal(copy, copies[0]) for copy in copies):
        raise AdmiralError(
            f"{where}: the input and output embeddings differ; BART in fairseq shares them. "
            "Train with tied embeddings."
        )
    state = {EMBEDDING: copies[0]}
    others = []
    for name, tensor in named.items():
        if name.startswith(("model.encoder.", "model.decoder.")):
            state[name.removeprefix("model.")] = tensor
        else:
            others.append(name)
    notices = [f"not part of BART, left out: {', '.join(sorted(others))}"] if others else []
    return state, notices


def with_tied_copies(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add the format versions and tied copies that fairseq's own checkpoints have."""
    version = {f"{side}.version": torch.tensor([3.0]) for side in ("encoder", "decoder")}
    return {**version, **state, **dict.fromkeys(_TIED, state[EMBEDDING])}


def check_tensors(config: BartConfig, tensors: Mapping[str, Tensor], where: object) -> None:
    """Check that names and shapes are those of transformers' BART with a config.

    `tensors`: tensors under transformers' names, tied weights once (as `model.shared.weight`).
    Raises AdmiralError if a tensor is missing, unknown, not floating-point or of another shape.
    """
    with torch.device("meta"):
        state = BartForConditionalGeneration(config).state_dict()
    tied = re.compile(r"lm_head\.weight|model\.(encoder|decoder)\.embed_tokens\.weight")
    expected = {name: tuple(t.shape) for name, t in state.items() if not tied.fullmatch(name)}
    expected.setdefault(SHARED, (config.vocab_size, config.d_model))
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    shapes.setdefault(BIAS, expected[BIAS])
    remedy = "The file is damaged or of another architecture; give a BART checkpoint."
    for name in sorted(expected.keys() | shapes.keys(), key=lambda name: (name != SHARED, name)):
        if name not in shapes:
            raise AdmiralError(f"{where}: {name} is missing. {remedy}")
        if name not in expected:
            raise AdmiralError(f"{where}: {name} is not part of BART. {remedy}")
        if name in tensors and not tensors[name].is_floating_point():
            raise AdmiralError(f"{where}: {name} holds no floating-point numbers. {remedy}")
        if expected[name] != shapes[name]:
            raise AdmiralError(
                f"{where}: {name} has the shape {shapes[name]}, not {expected[name]}. {remedy}"
            )


def _are_equal(first: Tensor, second: Tensor) -> bool:
    return first.data_ptr() == second.data_ptr() or torch.equal(first, second)
