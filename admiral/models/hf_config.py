"""Reading ``config.json`` of a directory in the Hugging Face layout."""

from __future__ import annotations

import json
from pathlib import Path

from transformers import BartConfig

from admiral.errors import AdmiralError


def read_config(directory: Path) -> BartConfig:
    """Read ``config.json``, which must be a BART's.

    Raises
    ------
    AdmiralError
        If it is absent, damaged, or of another architecture.
    """
    path = directory / "config.json"
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file. Name a Hugging Face model directory.")
    fields = read_object(path)
    kind = fields.get("model_type")
    if kind != "bart":
        raise AdmiralError(
            f"{path}: field 'model_type': {kind!r} is not 'bart'. Give a BART checkpoint."
        )
    try:
        return BartConfig.from_dict(fields)
    except Exception as error:  # the strict config classes raise their own kinds
        raise AdmiralError(f"{path}: is not a BART config ({error}). Correct the field.") from error


def read_object(path: Path) -> dict[str, object]:
    """Read a file that holds one JSON object; AdmiralError if it does not."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not isinstance(fields, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Download it again.")
    return fields
