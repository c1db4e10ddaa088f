"""Safe reading of fairseq checkpoints, without running code from the file."""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from admiral.errors import AdmiralError

NAMES = ("model.pt", "checkpoint_best.pt")

_REJECTED_CLASS = re.compile(r"(?:GLOBAL|global|class)\s+`?([A-Za-z_][\w]*(?:\.\w+)+)")


@dataclass(frozen=True, slots=True)
class FairseqCheckpoint:
    """The parts of a checkpoint that define the model.

    Attributes
    ----------
    settings
        Training arguments: ``args`` in older files, ``cfg["model"]`` in newer ones; may be empty.
    weights
        Tensors under their names in the file.
    """

    settings: Mapping[str, object]
    weights: dict[str, torch.Tensor]


def find_checkpoint(directory: Path, name: str | None = None) -> Path:
    """Return the checkpoint file in `directory`: `name`, or the first of `NAMES` that exists.

    Raises
    ------
    AdmiralError
        If there is no such file.
    """
    if not directory.is_dir():
        raise AdmiralError(f"{directory}: no such directory. Name the folder that holds model.pt.")
    for candidate in (name,) if name else NAMES:
        if (directory / candidate).is_file():
            return directory / candidate
    raise AdmiralError(
        f"{directory}: holds no {name or ' or '.join(NAMES)}. "
        "Name the file with --checkpoint-file, or give the folder of the unpacked checkpoint."
    )


def read_checkpoint(path: Path) -> FairseqCheckpoint:
    """Read a fairseq checkpoint.

    Only tensors, plain containers and `argparse.Namespace` are accepted. A file with any other
    class is rejected, because creating such an object can run code.

    Raises
    ------
    AdmiralError
        If the file is damaged, needs other classes, or is not a fairseq checkpoint.
    """
    state = _load(path)
    fields = _as_mapping(state)
    weights = fields.get("model")
    if not isinstance(weights, Mapping) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in weights.items()
    ):
        raise AdmiralError(
            f"{path}: field 'model' is missing or is not a table of tensors. "
            "Give a checkpoint that fairseq-train wrote."
        )
    return FairseqCheckpoint(_settings(fields), dict(weights))


def _load(path: Path) -> object:
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            # Memory-mapped, so that the optimiser state (two thirds of the file) is not read.
            return torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
    except (MemoryError, PermissionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}).") from error
    except Exception as error:  # a damaged file can make the unpickler raise anything
        rejected = _REJECTED_CLASS.search(str(error))
        if rejected and "nsupported" in str(error):
            raise AdmiralError(
                f"{path}: needs the class {rejected[1]}, which is not loaded from a file, because "
                "that can run code. If you trust the file, save it again with fairseq as "
                "plain containers (args as a Namespace, model as tensors)."
            ) from error
        raise AdmiralError(
            f"{path}: is damaged or not a checkpoint ({_first_line(error)}). Download it again."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _settings(state: Mapping[str, object]) -> Mapping[str, object]:
    args = _as_mapping(state.get("args"))
    if args:
        return args
    config = _as_mapping(state.get("cfg"))
    return _as_mapping(config.get("model"))


def _as_mapping(value: object) -> Mapping[str, object]:
    if isinstance(value, argparse.Namespace):
        return vars(value)
    return value if isinstance(value, Mapping) else {}
