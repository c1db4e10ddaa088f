"""The state of a training run on disk, as safetensors: no pickle is written or read."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from admiral.errors import AdmiralError

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """How far a run is; with the tensors, all that its next step depends on.

    What is random follows from the seed and the position, so no generator's state is kept.

    Attributes
    ----------
    step
        Optimizer steps done.
    position
        Batches of the stream that were trained on, by all processes together.
    seconds
        Time that they took.
    best
        The best value so far of the metric that decides what is kept.
    metrics, measured
        The metrics of the checkpoint that is kept (of the last evaluation, where the last is), and
        the step at which they were measured.
    losses
        Sums and counts of the losses since the last report.
    scaler
        State of the scaler of fp16 gradients.
    published
        The step whose weights became the checkpoint last.
    judged
        What `best` was measured by; by something else, states are compared anew.
    run
        What must not change between the parts of a run: settings and checksums.
    """

    step: int = 0
    position: int = 0
    seconds: float = 0.0
    best: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    measured: int = 0
    losses: dict[str, list[float]] = field(default_factory=dict)
    scaler: dict[str, float] = field(default_factory=dict)
    published: int = 0
    judged: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)


def save_state(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> None:
    """Write weights, AdamW's moments and the progress to the file `path`.

    Raises
    ------
    AdmiralError
        If that fails, for want of space as a rule. Then, as after a kill, the old file is intact.
    """
    tensors = {}
    for name, value in module.named_parameters():
        tensors[f"weight/{name}"] = value.detach().cpu().contiguous()
        for key, moment in optimizer.state.get(value, {}).items():
            tensors[f"{key}/{name}"] = moment.detach().cpu().contiguous()
    told = json.dumps(asdict(progress))
    metadata = {
        "progress": told,
        "progress_checksum": _crc(told),
        "checksum": _checksum((name, tensors[name]) for name in sorted(tensors)),
    }
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(".tmp??????"):
            left.unlink()  # what safetensors leaves where it is killed; this folder is the run's
        save_file(tensors, partial, metadata=metadata)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise AdmiralError(
            f"{path}: the state cannot be saved ({error}). The one before is kept; make room and "
            "start the same command again."
        ) from error


def _checksum(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Return a CRC of names and numbers, in this order."""
    found = 0
    for name, tensor in tensors:
        content = tensor.flatten().view(torch.uint8).numpy().data
        found = zlib.crc32(content, zlib.crc32(name.encode(), found))
    return f"{found:08x}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def read_progress(path: Path) -> Progress | None:
    """Read the progress of a run; None where there is no state.

    Raises
    ------
    AdmiralError
        If the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(str(path), framework="pt") as saved:
            metadata = saved.metadata() or {}
        told = metadata["progress"]
        if metadata["progress_checksum"] != _crc(told):
            raise ValueError("its checksum is another one")
        return Progress(**json.loads(told))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise AdmiralError(
            f"{path}: is not the state of a run ({error}). Give --overwrite to start anew."
        ) from error


def load_tensors(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Restore the weights and moments that `save_state` wrote.

    Raises
    ------
    AdmiralError
        If they are those of another model, or damaged.
    """
    try:
        with safe_open(str(path), framework="pt") as saved, torch.no_grad():
            names = set(saved.keys())
            found = _checksum((name, saved.get_tensor(name)) for name in sorted(names))
            if (saved.metadata() or {}).get("checksum") != found:
                raise AdmiralError(
                    f"{path}: is damaged. Restore it, or give --overwrite to start anew."
                )
            for name, value in module.named_parameters():
                value.copy_(saved.get_tensor(f"weight/{name}"))
                moments = {
                    key: saved.get_tensor(f"{key}/{name}")
                    for key in _MOMENTS
                    if f"{key}/{name}" in names
                }
                if moments:
                    # Fused AdamW keeps its count of steps beside the weights, too.
                    optimizer.state[value] = {k: v.to(value.device) for k, v in moments.items()}
    except (OSError, SafetensorError, RuntimeError) as error:
        raise AdmiralError(
            f"{path}: is of another model ({error}). Choose another `out`, or give --overwrite."
        ) from error
