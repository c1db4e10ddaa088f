"""Reading the weights and the config of a Hugging Face directory, safetensors only."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import BartConfig

from admiral.errors import AdmiralError

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"


def read_config(directory: Path) -> BartConfig:
    """Read ``config.json``, which must be a BART's."""
    path = directory / "config.json"
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file. Name a Hugging Face model directory.")
    fields = _json_object(path)
    kind = fields.get("model_type")
    if kind != "bart":
        raise AdmiralError(
            f"{path}: field 'model_type': {kind!r} is not 'bart'. Give a BART checkpoint."
        )
    try:
        return BartConfig.from_dict(fields)
    except Exception as error:  # the strict config classes raise their own kinds
        raise AdmiralError(f"{path}: is not a BART config ({error}). Correct the field.") from error


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Read all tensors of ``model.safetensors``, or of the shards that its index lists."""
    index = directory / _INDEX
    if (directory / WEIGHTS).is_file():
        shards = [WEIGHTS]
    elif index.is_file():
        table = _json_object(index).get("weight_map")
        if not isinstance(table, dict) or not all(_is_plain(name) for name in table.values()):
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


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name


def _json_object(path: Path) -> dict[str, object]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not isinstance(fields, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Download it again.")
    return fields
