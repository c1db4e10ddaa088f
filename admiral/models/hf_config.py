"""Read the configuration of a model directory in the Hugging Face format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoConfig, BartConfig, PreTrainedConfig

from admiral.errors import AdmiralError

#: Names of the architectures of checkpoints, by the field `model_type`.
ARCHITECTURES = {"bart": "BART", "t5": "T5", "mt5": "mT5", "umt5": "UMT5", "longt5": "LongT5"}


def read_config(directory: Path) -> BartConfig:
    """Read the ``config.json`` of a BART model.

    Raises AdmiralError if the file is missing or damaged, or describes another architecture.
    """
    config: Any = _read(directory, {"bart": "BART"})
    bart: BartConfig = config
    return bart


def read_seq2seq_config(directory: Path) -> PreTrainedConfig:
    """Read the ``config.json`` of a model of one of `ARCHITECTURES`.

    Raises AdmiralError if the file is missing or damaged, or describes another architecture.
    """
    return _read(directory, ARCHITECTURES)


def _read(directory: Path, architectures: dict[str, str]) -> PreTrainedConfig:
    path = directory / "config.json"
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file. Name a Hugging Face model directory.")
    fields: dict[str, Any] = read_object(path)
    model_type = fields.pop("model_type", None)
    if model_type not in architectures:
        raise AdmiralError(
            f"{path}: field 'model_type': {model_type!r} is not "
            f"{' or '.join(map(repr, architectures))}. "
            f"Give a {' or '.join(architectures.values())} checkpoint."
        )
    try:
        return AutoConfig.for_model(model_type, **fields)
    except Exception as error:  # transformers raises many kinds of errors
        raise AdmiralError(
            f"{path}: is not a {architectures[model_type]} config ({error}). Correct the field."
        ) from error


def read_object(path: Path) -> dict[str, object]:
    """Read a file that contains one JSON object; raise `AdmiralError` if it does not."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not isinstance(fields, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Download it again.")
    return fields
