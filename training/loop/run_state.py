"""The state of a training run on disk, as safetensors: no pickle is written or read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import replacing_path
from training.loop.run_output import RunOutput

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class TrainingState:
    """Progress of a run. With the tensors, it determines everything that follows.

    Randomness is derived from the seed and the position, so no generator state is saved.

    Attributes
    ----------
    step
        Number of optimizer steps done.
    position
        Number of batches of the stream consumed by all processes together.
    seconds
        Time spent in training steps.
    best
        Best value so far of the metric that selects the checkpoint.
    metrics, measured
        Metrics of the exported checkpoint, or of the last evaluation where the last state is
        kept, and the step at which they were measured.
    losses
        Sums and counts of the losses since the last report.
    scaler
        State of the gradient scaler (fp16 only).
    published
        Step of the last exported checkpoint.
    selection
        Settings and data that `best` depends on. If they change, `best` is reset.
    run
        Settings and checksums that must not change when the run is resumed.
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
    selection: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)


def save_state(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write weights, AdamW's moments and the progress of a run to the file `path`.

    Raises
    ------
    AdmiralError
        If writing fails, usually because the disk is full. As after a kill, the old file is intact.
    """
    tensors = {}
    for name, value in module.named_parameters():
        tensors[f"weight/{name}"] = value.detach().cpu().contiguous()
        for key, moment in optimizer.state.get(value, {}).items():
            tensors[f"{key}/{name}"] = moment.detach().cpu().contiguous()
    progress = json.dumps(asdict(state))
    metadata = {
        "progress": progress,
        "progress_checksum": _crc(progress),
        "checksum": _checksum((name, tensors[name]) for name in sorted(tensors)),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for temporary in path.parent.glob(".tmp??????"):
            temporary.unlink()  # left by a killed safetensors; the folder belongs to this run
        with replacing_path(path) as partial:
            save_file(tensors, partial, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise AdmiralError(
            f"{path}: the state cannot be saved ({error}). The previous state is intact. Free some "
            "disk space and start the same command again."
        ) from error


def _checksum(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Return the CRC-32 of names and values, in the given order."""
    crc = 0
    for name, tensor in tensors:
        content = tensor.flatten().view(torch.uint8).numpy().data
        crc = zlib.crc32(content, zlib.crc32(name.encode(), crc))
    return f"{crc:08x}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def read_state(path: Path) -> TrainingState | None:
    """Read the progress of a saved run; None if there is no saved state.

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
        progress = metadata["progress"]
        if metadata["progress_checksum"] != _crc(progress):
            raise ValueError("its checksum does not match")
        return TrainingState(**json.loads(progress))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise AdmiralError(
            f"{path}: is not the state of a run ({error}). Use --overwrite to start again."
        ) from error


def load_tensors(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Restore the weights and moments that `save_state` wrote.

    Raises
    ------
    AdmiralError
        If they are damaged or belong to another model.
    """
    try:
        with safe_open(str(path), framework="pt") as saved, torch.no_grad():
            names = set(saved.keys())
            checksum = _checksum((name, saved.get_tensor(name)) for name in sorted(names))
            if (saved.metadata() or {}).get("checksum") != checksum:
                raise AdmiralError(
                    f"{path}: is damaged. Restore it, or use --overwrite to start again."
                )
            for name, value in module.named_parameters():
                value.copy_(saved.get_tensor(f"weight/{name}"))
                moments = {
                    key: saved.get_tensor(f"{key}/{name}")
                    for key in _MOMENTS
                    if f"{key}/{name}" in names
                }
                if moments:
                    # Fused AdamW keeps its step counter on the device of the weights.
                    optimizer.state[value] = {k: v.to(value.device) for k, v in moments.items()}
    except (OSError, SafetensorError, RuntimeError) as error:
        raise AdmiralError(
            f"{path}: belongs to another model ({error}). Choose another `out`, or use --overwrite."
        ) from error


def open_state(
    output: RunOutput, overwrite: bool, fixed: Mapping[str, Any], selection: Mapping[str, Any]
) -> TrainingState:
    """Return the state of the saved run, or of a new one.

    Parameters
    ----------
    overwrite
        Whether to start a new run in any case.
    fixed
        Settings and checksums that all parts of a run must agree on.
    selection
        Settings and checksums that decide which state is best. If they differ from those of the
        saved run, or the checkpoint is missing, the best value is reset.

    Raises
    ------
    AdmiralError
        If the saved state is damaged, or was started with other values of `fixed`; with the names
        of those that differ.
    """
    state = (None if overwrite else read_state(output.state)) or TrainingState(run=dict(fixed))
    changed = [key for key in fixed if state.run.get(key) != fixed[key]]
    if changed:
        raise AdmiralError(
            f"{output.folder}: holds the state of a run with another {' and '.join(changed)}. "
            "Resume it with the original values, choose another `out`, or use --overwrite."
        )
    if state.selection != selection or not output.checkpoint.exists():
        state.best, state.selection = None, dict(selection)
    return state
