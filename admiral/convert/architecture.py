"""The shape of a BART from fairseq's arguments and tensors, as a Hugging Face config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import BartConfig

from admiral.convert.arguments import ACTIVATIONS, RATES
from admiral.convert.weights import EMBEDDING
from admiral.errors import AdmiralError

_HEADS_OF = {"bart_base": 12, "bart_large": 16}
_HEAD_WIDTH = 64  # of every published BART


def config_of(
    settings: Mapping[str, object], state: Mapping[str, Tensor], where: object
) -> tuple[BartConfig, list[str]]:
    """Describe a fairseq state as a `BartConfig`.

    Sizes come from the tensors; heads, activation, scaling and rates from the arguments. Where the
    arguments are missing, heads are taken to be 64 wide, as in every published BART.

    Parameters
    ----------
    settings
        Training arguments; may be empty.
    state
        Tensors under `weights.modern`'s names.
    where
        The file, for messages.

    Returns
    -------
    config, notices

    Raises
    ------
    AdmiralError
        Where this is not a BART.
    """
    _refuse_others(settings, state, where)
    notices = []
    rows, width = state[EMBEDDING].shape
    config: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        layers = _layers(state, side)
        config[f"{side}_layers"] = layers
        first_layer = state.get(f"{side}.layers.0.fc1.weight")
        config[f"{side}_ffn_dim"] = first_layer.shape[0] if first_layer is not None else 0
        heads = settings.get(f"{side}_attention_heads", _HEADS_OF.get(str(settings.get("arch"))))
        if heads is None and width % _HEAD_WIDTH == 0:
            heads = width // _HEAD_WIDTH
            notices.append(f"{side}: no number of heads in the checkpoint, {heads} assumed")
        if not isinstance(heads, int) or heads < 1 or width % heads:
            raise AdmiralError(
                f"{where}: {side}_attention_heads {heads} does not fit the width {width}. "
                "Give a checkpoint with its arguments (field 'args' or 'cfg')."
            )
        config[f"{side}_attention_heads"] = heads
        config[f"{side}_layerdrop"] = _rate(settings, f"{side}_layerdrop", 0.0)
        said = settings.get(f"{side}_layers", layers)
        if said != layers and not settings.get(f"{side}_layers_to_keep"):
            raise AdmiralError(
                f"{where}: {side}_layers is {said}, but {layers} layers are stored. "
                "The file is not complete; download it again."
            )
    lengths = {
        side: state[f"{side}.embed_positions.weight"].shape[0] - 2  # padding takes two rows
        for side in ("encoder", "decoder")
    }
    if len(set(lengths.values())) != 1:
        raise AdmiralError(
            f"{where}: source and target positions differ ({lengths['encoder']} and "
            f"{lengths['decoder']}), which a Hugging Face BART cannot express. "
            "Train with the same --max-source-positions and --max-target-positions."
        )
    for rate, default in zip(RATES, (0.1, 0.0, 0.0), strict=True):
        config[rate] = _rate(settings, rate, default)
    result = BartConfig(
        **config,
        vocab_size=rows,
        d_model=width,
        max_position_embeddings=lengths["encoder"],
        activation_function=ACTIVATIONS[str(settings.get("activation_fn") or "gelu")],
        scale_embedding=_scaled(settings),
    )
    result.architectures = ["BartForConditionalGeneration"]
    result.dtype = state[EMBEDDING].dtype
    return result, notices


def _refuse_others(
    settings: Mapping[str, object], state: Mapping[str, Tensor], where: object
) -> None:
    kind = settings.get("arch") or settings.get("_name") or "unknown"
    for name, meaning in {
        EMBEDDING: "an encoder's embedding",
        "encoder.embed_positions.weight": "learned positions of the encoder",
        "decoder.embed_positions.weight": "learned positions of the decoder",
        "encoder.layernorm_embedding.weight": "a layer norm over the embeddings",
        "decoder.layernorm_embedding.weight": "a layer norm over the embeddings",
    }.items():
        if name not in state or state[name].ndim != (1 if "norm" in name else 2):
            raise AdmiralError(
                f"{where}: has no {name} ({meaning}), so it is not a BART (arch {kind}). "
                "Give a bart.base, bart.large or GENRE checkpoint."
            )
    norm_first = [f"{side}_normalize_before" for side in ("encoder", "decoder")]
    if any(settings.get(name) for name in norm_first) or "encoder.layer_norm.weight" in state:
        raise AdmiralError(
            f"{where}: normalizes before each layer (as mBART does), so it is not a BART "
            f"(arch {kind}). Give a bart.base, bart.large or GENRE checkpoint."
        )
    activation = str(settings.get("activation_fn") or "gelu")
    if activation not in ACTIVATIONS:
        raise AdmiralError(
            f"{where}: activation_fn {activation!r} has no equal in transformers. "
            f"It can be one of {', '.join(ACTIVATIONS)}."
        )


def _layers(state: Mapping[str, Tensor], side: str) -> int:
    numbers = {
        int(found[1]) for name in state if (found := re.match(rf"{side}\.layers\.(\d+)\.", name))
    }
    return max(numbers, default=-1) + 1


def _rate(settings: Mapping[str, object], name: str, default: float) -> float:
    value = settings.get(name, default)
    if name == "activation_dropout" and not value:
        value = settings.get("relu_dropout", value)  # its older name
    return float(value) if isinstance(value, int | float) else default


def _scaled(settings: Mapping[str, object]) -> bool:
    # BART's architectures do not scale; without arguments that is what is assumed.
    return not settings.get("no_scale_embedding", not str(settings.get("arch")).startswith("mbart"))
