"""Weights of a Hugging Face directory, in safetensors files only."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from admiral.errors import AdmiralError
from admiral.models.hf_config import read_object

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Read all tensors of ``model.safetensors``, or of the shards listed in its index.

    Raises
    ------
    AdmiralError
        If a file is missing or damaged.
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
