"""Read the configuration of a model directory in the Hugging Face format."""

from __future__ import annotations

import json
from pathlib import Path

from transformers import BartConfig

from admiral.errors import AdmiralError


def read_config(directory: Path) -> BartConfig:
    """Read the ``config.json`` of a BART model.

    Raises
    ------
    AdmiralError
        If the file is missing or damaged, or describes another architecture.
    """
    path = directory / "config.json"
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file. Name a Hugging Face model directory.")
    fields = read_object(path)
    model_type = fields.get("model_type")
    if model_type != "bart":
        raise AdmiralError(
            f"{path}: field 'model_type': {model_type!r} is not 'bart'. Give a BART checkpoint."
        )
    try:
        return BartConfig.from_dict(fields)
    except Exception as error:  # transformers raises many kinds of errors
        raise AdmiralError(f"{path}: is not a BART config ({error}). Correct the field.") from error


def read_object(path: Path) -> dict[str, object]:
    """Read a file that contains one JSON object; raise `AdmiralError` if it does not."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not isinstance(fields, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Download it again.")
    return fields
