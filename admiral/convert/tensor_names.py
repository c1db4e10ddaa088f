"""Names of tensors and fields of configurations in fairseq and in Hugging Face."""

from __future__ import annotations

import argparse
import logging
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

from admiral.errors import AdmiralError, first_line
from admiral.models.checkpoint import read_object

logger = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
_PICKLED = "pytorch_model.bin"
_REJECTED_CLASS = re.compile(r"(?:GLOBAL|global|class)\s+`?([A-Za-z_][\w]*(?:\.\w+)+)")


def load_pickled(path: Path) -> Any:
    """Load a file that `torch.save` wrote.

    Only tensors, plain containers and `argparse.Namespace` are accepted: creating an object of
    another class can run code.
    """
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            # Memory-mapped, so that the optimiser state (two thirds of the file) is not read.
            return torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
    except Exception as error:  # a damaged file can make the unpickler raise anything
        rejected = _REJECTED_CLASS.search(str(error))
        if rejected and "nsupported" in str(error):
            raise AdmiralError(
                f"{path}: needs the class {rejected[1]}, which is not loaded from a file, because "
                "that can run code. If you trust the file, save it again as plain containers "
                "(args as a Namespace, model as tensors)."
            ) from error
        raise AdmiralError(
            f"{path}: is damaged or not a checkpoint ({first_line(error)[:200]}). Download it "
            "again."
        ) from error


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Read the tensors of a Hugging Face model, safetensors or pickled, in one file or shards."""
    names = [name for name in (WEIGHTS, _PICKLED) for name in (name, f"{name}.index.json")]
    found = next((directory / name for name in names if (directory / name).is_file()), None)
    if found is None:
        raise AdmiralError(f"{directory}: holds no {WEIGHTS} or {_PICKLED}. Save the model again.")
    shards = [found.name]
    if found.suffix == ".json":
        table = read_object(found).get("weight_map")
        if not isinstance(table, dict) or not all(_is_file_name(name) for name in table.values()):
            raise AdmiralError(f"{found}: field 'weight_map' is damaged. Download it again.")
        shards = sorted(set(table.values()))
    tensors: dict[str, Tensor] = {}
    for path in (directory / shard for shard in shards):
        try:
            tensors |= load_file(path) if path.suffix == ".safetensors" else load_pickled(path)
        except (OSError, SafetensorError, TypeError) as error:
            raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
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


def to_current_names(weights: Mapping[str, Tensor], where: object) -> dict[str, Tensor]:
    """Rename a fairseq state to the names of current fairseq versions, tied weights once.

    Unused tensors are left out.
    """
    state: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.startswith("classification_heads."):
            logger.warning("%s: %s is not part of BART and is left out", where, name)
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
    return state


def to_hf_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename a state of `to_current_names` as in transformers, tied weights once."""
    renamed = {
        SHARED if name == EMBEDDING else f"model.{name}": tensor for name, tensor in state.items()
    }
    embedding = state[EMBEDDING]
    return {**renamed, BIAS: torch.zeros(1, embedding.shape[0], dtype=embedding.dtype)}


def to_fairseq_names(tensors: Mapping[str, Tensor], where: object) -> dict[str, Tensor]:
    """Rename the tensors of a transformers BART, tied weights once; inverse of `to_hf_names`."""
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
    for name, tensor in named.items():
        if name.startswith(("model.encoder.", "model.decoder.")):
            state[name.removeprefix("model.")] = tensor
        else:
            logger.warning("%s: %s is not part of BART and is left out", where, name)
    return state


def with_tied_copies(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add the format versions and tied copies that fairseq's own checkpoints have."""
    version = {f"{side}.version": torch.tensor([3.0]) for side in ("encoder", "decoder")}
    return {**version, **state, **dict.fromkeys(_TIED, state[EMBEDDING])}


def check_tensors(config: BartConfig, tensors: Mapping[str, Tensor], where: object) -> None:
    """Check that names and shapes are those of transformers' BART with a config.

    `tensors`: tensors under transformers' names, tied weights once (as `model.shared.weight`).
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


# fairseq's name -> transformers' name. "gelu" is the exact function in both.
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "relu": "relu",
    "tanh": "tanh",
}
_RATES = ("dropout", "attention_dropout", "activation_dropout")
_HEAD_WIDTH = 64  # of all published BART models


def to_bart_config(
    settings: Mapping[str, object], state: Mapping[str, Tensor], where: object
) -> BartConfig:
    """Return the `BartConfig` of a fairseq state.

    Sizes come from the tensors; the number of heads, the activation, the embedding scale and the
    dropout rates come from the arguments. Without arguments, heads are assumed to be 64 wide, as in
    all published BART models. `settings`: training arguments; may be empty.
    """
    _check_is_bart(settings, state, where)
    rows, width = state[EMBEDDING].shape
    config: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        layers = _count_layers(state, side)
        config[f"{side}_layers"] = layers
        fc1 = state.get(f"{side}.layers.0.fc1.weight")
        config[f"{side}_ffn_dim"] = fc1.shape[0] if fc1 is not None else 0
        heads = settings.get(f"{side}_attention_heads")
        if heads is None and width % _HEAD_WIDTH == 0:
            heads = width // _HEAD_WIDTH
            logger.warning("%s: no number of heads of the %s, %d assumed", where, side, heads)
        if not isinstance(heads, int) or heads < 1 or width % heads:
            raise AdmiralError(
                f"{where}: {side}_attention_heads {heads} does not fit the width {width}. "
                "Give a checkpoint with its arguments (field 'args' or 'cfg')."
            )
        config[f"{side}_attention_heads"] = heads
        config[f"{side}_layerdrop"] = _dropout_rate(settings, f"{side}_layerdrop", 0.0)
    lengths = {
        side: state[f"{side}.embed_positions.weight"].shape[0] - 2  # two rows for padding
        for side in ("encoder", "decoder")
    }
    if len(set(lengths.values())) != 1:
        raise AdmiralError(
            f"{where}: source and target positions differ ({lengths['encoder']} and "
            f"{lengths['decoder']}), which a Hugging Face BART cannot express. "
            "Train with the same --max-source-positions and --max-target-positions."
        )
    for rate, default in zip(_RATES, (0.1, 0.0, 0.0), strict=True):
        config[rate] = _dropout_rate(settings, rate, default)
    result = BartConfig(
        **config,
        vocab_size=rows,
        d_model=width,
        max_position_embeddings=lengths["encoder"],
        activation_function=_ACTIVATIONS[str(settings.get("activation_fn") or "gelu")],
        scale_embedding=_scales_embedding(settings),
    )
    result.architectures = ["BartForConditionalGeneration"]
    result.dtype = state[EMBEDDING].dtype
    return result


def to_fairseq_args(config: BartConfig, *, task: str) -> argparse.Namespace:
    """Return the arguments that fairseq's ``BARTModel`` needs for a `BartConfig`.

    `task`: fairseq's task: ``denoising`` or ``translation``.
    """
    activations = {hf: name for name, hf in _ACTIVATIONS.items() if name != "gelu_fast"}
    if config.activation_function not in activations:
        raise AdmiralError(
            f"config.json: activation_function {config.activation_function!r} has no equal in "
            f"fairseq. It can be one of {', '.join(sorted(activations))}."
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
        "activation_fn": activations[config.activation_function],
        "no_scale_embedding": not config.scale_embedding,
        "layernorm_embedding": True,
        "share_all_embeddings": True,
        "share_decoder_input_output_embed": True,
        "adaptive_softmax_cutoff": None,
        "pooler_activation_fn": "tanh",
        "decoder_input_dim": config.d_model,
        "decoder_output_dim": config.d_model,
        # The denoising task reads these at setup; the values are those of BART's own training.
        "mask": 0.3,
        "mask_random": 0.1,
        "mask_length": "span-poisson",
        "poisson_lambda": 3.5,
        "permute_sentences": 1.0,
        "replace_length": 1,
        "shuffle_instance": False,
        "bpe": "gpt2",
        **dict.fromkeys(("relu_dropout", "pooler_dropout", "adaptive_softmax_dropout"), 0.0),
        **dict.fromkeys(("insert", "permute", "rotate"), 0.0),
    }
    if task == "translation":
        args |= {"source_lang": "source", "target_lang": "target", "left_pad_source": False}
        args |= {"left_pad_target": False, "truncate_source": False}
    args |= {rate: getattr(config, rate) for rate in _RATES}
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


def _check_is_bart(
    settings: Mapping[str, object], state: Mapping[str, Tensor], where: object
) -> None:
    positions = [f"{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    norms = [f"{side}.layernorm_embedding.weight" for side in ("encoder", "decoder")]
    lacks = [name for name in (EMBEDDING, *positions, *norms) if name not in state]
    norm_first = [f"{side}_normalize_before" for side in ("encoder", "decoder")]
    problem = f"has no {lacks[0]}" if lacks else ""
    if any(settings.get(name) for name in norm_first) or "encoder.layer_norm.weight" in state:
        problem = "normalises before each layer (as mBART does)"
    if problem:
        arch = settings.get("arch") or settings.get("_name") or "unknown"
        raise AdmiralError(
            f"{where}: {problem}, so it is not a BART (arch {arch}). "
            "Give a bart.base, bart.large or GENRE checkpoint."
        )
    activation = str(settings.get("activation_fn") or "gelu")
    if activation not in _ACTIVATIONS:
        raise AdmiralError(
            f"{where}: activation_fn {activation!r} has no equal in transformers. "
            f"It can be one of {', '.join(_ACTIVATIONS)}."
        )


def _count_layers(state: Mapping[str, Tensor], side: str) -> int:
    numbers = {
        int(match[1]) for name in state if (match := re.match(rf"{side}\.layers\.(\d+)\.", name))
    }
    return max(numbers, default=-1) + 1


def _dropout_rate(settings: Mapping[str, object], name: str, default: float) -> float:
    value = settings.get(name, default)
    if name == "activation_dropout" and not value:
        value = settings.get("relu_dropout", value)  # its older name
    return float(value) if isinstance(value, int | float) else default


def _scales_embedding(settings: Mapping[str, object]) -> bool:
    # BART does not scale its embeddings, which is assumed without arguments.
    return not settings.get("no_scale_embedding", not str(settings.get("arch")).startswith("mbart"))
