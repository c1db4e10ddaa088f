"""Names of BART's tensors in fairseq and in transformers.

Inside the layers the two agree; they differ in the embeddings, which both tie, and in what old and
new fairseq versions add.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from admiral.errors import AdmiralError

EMBEDDING = "encoder.embed_tokens.weight"
_TIED = ("decoder.embed_tokens.weight", "decoder.output_projection.weight")
SHARED = "model.shared.weight"
BIAS = "final_logits_bias"
_HF_TIED = (
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)

# Not part of the function: format numbers, buffers, and the copies of the self-attention that
# fairseq 0.12 keeps for PyTorch's fused encoder layer (they are not trained).
_SILENT = re.compile(
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


def modern(weights: Mapping[str, Tensor], where: object) -> tuple[dict[str, Tensor], list[str]]:
    """Bring a fairseq state to the names that fairseq uses today, each weight once.

    Parameters
    ----------
    weights
        Name to tensor, as in the checkpoint.
    where
        The file, for messages.

    Returns
    -------
    state, notices
        The state without tied copies and without what is not part of the function; what was left
        out that somebody might miss.

    Raises
    ------
    AdmiralError
        Where the embeddings are not tied.
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
        elif not _SILENT.fullmatch(name):
            state[name] = tensor
    embedding = state.get(EMBEDDING)
    for name in _TIED:
        copy = state.pop(name, None)
        if embedding is not None and copy is not None and not _same(copy, embedding):
            raise AdmiralError(
                f"{where}: {name} differs from {EMBEDDING}; BART shares one embedding. "
                "Train with --share-all-embeddings."
            )
    notices = [f"classification head {head!r} left out" for head in sorted(heads)]
    return state, notices


def to_hf(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename a `modern` fairseq state for `BartForConditionalGeneration`, tied weights once."""
    renamed = {
        SHARED if name == EMBEDDING else f"model.{name}": tensor for name, tensor in state.items()
    }
    embedding = state[EMBEDDING]
    return {**renamed, BIAS: torch.zeros(1, embedding.shape[0], dtype=embedding.dtype)}


def to_fairseq(tensors: Mapping[str, Tensor], where: object) -> tuple[dict[str, Tensor], list[str]]:
    """Rename the tensors of a transformers BART; the inverse of `to_hf`.

    Returns
    -------
    state, notices
        The state under fairseq's names, tied weights once; the names that were left out.

    Raises
    ------
    AdmiralError
        Where the embeddings are not tied, or the output bias, which fairseq lacks, is not zero.
    """
    # A directory saved from BartModel, without the output layer, has no prefix.
    bare = not any(name.startswith("model.") for name in tensors)
    named = {
        f"model.{name}" if bare and name.startswith(("shared", "encoder", "decoder")) else name: t
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
    if not all(_same(copy, copies[0]) for copy in copies):
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


def complete(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add what fairseq's own checkpoints hold besides: format numbers and the tied copies."""
    version = {f"{side}.version": torch.tensor([3.0]) for side in ("encoder", "decoder")}
    return {**version, **state, **dict.fromkeys(_TIED, state[EMBEDDING])}


def _same(one: Tensor, other: Tensor) -> bool:
    return one.data_ptr() == other.data_ptr() or torch.equal(one, other)
