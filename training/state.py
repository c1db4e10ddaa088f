"""The state of a training run on disk, as safetensors: no pickle is written or read."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn


def save_state(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Write weights, AdamW moments and the number of steps done; a kill leaves the old file."""
    tensors = {}
    for name, value in module.named_parameters():
        tensors[f"weight/{name}"] = value.detach().contiguous()
        for key, moment in optimizer.state.get(value, {}).items():
            tensors[f"{key}/{name}"] = moment.detach().contiguous()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, metadata={"step": str(step)})
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path.with_suffix(".safetensors"))


def load_state(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Restore what `save_state` wrote and return the steps done; 0 where there is nothing."""
    file = path.with_suffix(".safetensors")
    if not file.exists():
        return 0
    with safe_open(str(file), framework="pt") as saved, torch.no_grad():
        names = set(saved.keys())
        for name, value in module.named_parameters():
            value.copy_(saved.get_tensor(f"weight/{name}"))
            moments = {
                key: saved.get_tensor(f"{key}/{name}")
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key}/{name}" in names
            }
            if moments:
                optimizer.state[value] = {
                    k: v if k == "step" else v.to(value.device) for k, v in moments.items()
                }
        return int(saved.metadata()["step"])
