"""A training run: its model, optimiser and progress, new or resumed from the saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from admiral.errors import AdmiralError
from training.loop.loop_settings import LoopSettings
from training.loop.model_card import SourceFile
from training.loop.run_output import RunOutput
from training.loop.run_state import TrainingState, load_tensors, read_state


@dataclass(frozen=True, slots=True)
class Run(ABC):
    """Everything that a training loop changes.

    Attributes
    ----------
    base
        File of the initial weights.
    module
        The model with its loss.
    optimizer
        Optimiser of its parameters.
    state
        Progress of the run, updated in place.
    """

    base: SourceFile
    module: nn.Module
    optimizer: torch.optim.Optimizer
    state: TrainingState

    @abstractmethod
    def describe_data(self) -> str:
        """Return a summary of the training data, without a full stop."""

    def describe(self, accelerator: Accelerator) -> str:
        """Return a one-line summary of the run."""
        resumed = f"; continuing after step {self.state.step}" if self.state.step else ""
        return f"{self.describe_data()}; {describe_devices(accelerator)}{resumed}"


def describe_devices(accelerator: Accelerator) -> str:
    """Return number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"


def check_start(output: RunOutput, start: Path) -> None:
    """Raise `AdmiralError` if a run would replace the directory `start` that it starts from."""
    if output.checkpoint.resolve() == start.resolve():
        raise AdmiralError(
            f"{output.checkpoint}: is also `start`, which the run needs to resume. Choose "
            "another `out`."
        )


def values_of(config: LoopSettings, names: Iterable[str]) -> dict[str, Any]:
    """Return some of the settings by name."""
    return {name: getattr(config, name) for name in names}


def open_state(
    output: RunOutput, overwrite: bool, fixed: dict[str, Any], selection: dict[str, Any]
) -> TrainingState:
    """Return the state of the saved run, or of a new one.

    Parameters
    ----------
    output
        The output of the run.
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
    state = (None if overwrite else read_state(output.state)) or TrainingState(run=fixed)
    changed = [key for key in fixed if state.run.get(key) != fixed[key]]
    if changed:
        raise AdmiralError(
            f"{output.folder}: holds the state of a run with another {' and '.join(changed)}. "
            "Resume it with the original values, choose another `out`, or use --overwrite."
        )
    if state.selection != selection or not output.checkpoint.exists():
        state.best, state.selection = None, selection
    return state


def restore(
    output: RunOutput,
    accelerator: Accelerator,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: TrainingState,
) -> None:
    """Restore the tensors and the gradient scaler of a saved run; a new one is not changed.

    Raises
    ------
    AdmiralError
        If they are damaged or belong to another model.
    """
    if state.step:
        load_tensors(output.state, module, optimizer)
        if accelerator.scaler is not None and state.scaler:
            accelerator.scaler.load_state_dict(state.scaler)
