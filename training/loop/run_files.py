"""The files of a run (the model, its log, the state that resumes it), and what it reports.

The state is stored as safetensors: no pickle is written or read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn
from tqdm import tqdm

from admiral.errors import AdmiralError, first_line
from admiral.io.progress import stderr_is_terminal
from admiral.models.checkpoint import is_checkpoint, write_sums
from admiral.storage.atomic_files import as_os_errors, check_replaceable, replacing_path, staging
from training.loop import LoopSettings


@dataclass
class TrainingState:
    """The progress of a run. With the weights and moments, it determines all that follows."""

    step: int = 0  # optimiser steps done
    position: int = 0  # batches of the stream consumed by all processes together
    seconds: float = 0.0  # spent in steps
    best: float | None = None  # best value so far of the metric that selects the model
    # metrics of the exported model, or of the last evaluation where the last state is kept, and the
    # step at which they were measured
    metrics: dict[str, float] = field(default_factory=dict)
    measured: int = 0
    selection: dict[str, Any] = field(default_factory=dict)  # what `best` depends on
    run: dict[str, Any] = field(default_factory=dict)  # what all parts of the run agree on


class RunFiles:
    """The files of a run: the model in `out`; its state, log and trackers in `out`.run.

    `out`: directory of the model. It is replaced as a whole or not at all.
    """

    def __init__(self, out: Path) -> None:
        self.model = out
        self.folder = out.with_name(f"{out.name}.run")
        self.state = self.folder / "state.safetensors"
        self.log = self.folder / "log.jsonl"

    def check(self, overwrite: bool) -> None:
        """Raise `AdmiralError` if the run would replace anything but a model of its own."""
        check_replaceable(self.model, True, is_checkpoint)
        if self.model.exists() and not self.state.exists() and not overwrite:
            raise AdmiralError(
                f"{self.model}: exists and does not belong to a run that can be resumed. Choose "
                "another `out`, or use --overwrite to replace it."
            )

    def publish(self, write: Callable[[Path], None], card: str) -> None:
        """Replace the model by what `write` writes to an empty folder, and its model card."""
        with staging(self.model, overwrite=True, owned=is_checkpoint) as folder:
            with as_os_errors():
                write(folder)
            write_sums(folder)
            readme = folder / "README.md"
            readme.write_text(card, "utf-8")
            for path in folder.iterdir():
                # safetensors makes its files readable by the owner only.
                path.chmod(readme.stat().st_mode)


def open_state(
    run: RunFiles, overwrite: bool, fixed: Mapping[str, Any], selection: Mapping[str, Any]
) -> TrainingState:
    """Return the progress of the saved run, or of a new one; see `Program` for the mappings."""
    state = TrainingState(run=dict(fixed))
    if run.state.exists() and not overwrite:
        try:
            with safe_open(str(run.state), framework="pt") as saved:
                state = TrainingState(**json.loads(saved.metadata()["progress"]))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise AdmiralError(
                f"{run.state}: is not the state of a run ({error}). Use --overwrite to start again."
            ) from error
    changed = [key for key in fixed if state.run.get(key) != fixed[key]]
    if changed:
        raise AdmiralError(
            f"{run.folder}: holds the state of a run with another {' and '.join(changed)}. Resume "
            "it with the original values, choose another `out`, or use --overwrite."
        )
    if state.selection != selection or not run.model.exists():
        state.best, state.selection = None, dict(selection)
    return state


_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def save_state(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write trained weights, AdamW's moments and the progress of a run; no pickle is written."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in _trained(module):
        named = {"weight": value, **optimizer.state.get(value, {})}
        tensors |= {f"{k}/{name}": v.detach().cpu().contiguous() for k, v in named.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_path(path) as partial:
            save_file(tensors, partial, metadata={"progress": json.dumps(asdict(state))})
    except (OSError, SafetensorError) as error:
        raise AdmiralError(
            f"{path}: the state cannot be saved ({error}). The previous state is intact. Free some "
            "disk space and start the same command again."
        ) from error


def load_state(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Restore the weights and moments that `save_state` wrote."""
    try:
        with safe_open(str(path), framework="pt") as saved, torch.no_grad():
            names = set(saved.keys())
            for name, value in _trained(module):
                value.copy_(saved.get_tensor(f"weight/{name}"))
                keys = [key for key in _MOMENTS if f"{key}/{name}" in names]
                # Fused AdamW keeps its step counter on the device of the weights.
                moments = {k: saved.get_tensor(f"{k}/{name}").to(value.device) for k in keys}
                if moments:
                    optimizer.state[value] = moments
    except (OSError, SafetensorError, RuntimeError) as error:
        raise AdmiralError(
            f"{path}: belongs to another model ({error}). Choose another `out`, or use --overwrite."
        ) from error


def _trained(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters that are trained; frozen ones are those of the initial model."""
    return ((name, value) for name, value in module.named_parameters() if value.requires_grad)


class Reporter:
    """Shows losses and metrics on the main process, and writes them to the log and to trackers."""

    def __init__(
        self, accelerator: Accelerator, run: RunFiles, config: LoopSettings, step: int
    ) -> None:
        self._accelerator, self._log_file, self._steps = accelerator, run.log, config.steps
        self._last = (step, time.monotonic())
        self._is_main = accelerator.is_main_process
        hidden = not (self._is_main and stderr_is_terminal())
        self._bar = tqdm(
            initial=step, total=config.steps, unit=" steps", file=sys.stderr, disable=hidden
        )
        self._resumed: int | None = step
        if accelerator.log_with:
            options = {"tensorboard": {"purge_step": step + 1}}
            accelerator.init_trackers("admiral", dict(vars(config)), options)

    def close(self) -> None:
        """Close the progress bar."""
        self._bar.close()

    def advance(self) -> None:
        """Advance the progress bar by a step."""
        self._bar.update()

    def losses(self, step: int, means: dict[str, float], rate: float, norm: float) -> None:
        """Report mean losses, a learning rate and the norm of the last gradient."""
        before, since = self._last
        self._last = step, time.monotonic()
        seconds = (self._last[1] - since) / max(step - before, 1)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in means.items())
        self.line(f"step {step} of {self._steps}: {shown}, {seconds:.2f} s a step")
        self._log(step, {**means, "learning_rate": rate, "grad_norm": norm})

    def metrics(self, step: int, values: dict[str, float], kept: bool) -> None:
        """Report the metrics of an evaluation and whether its model is kept."""
        shown = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
        self.line(f"step {step}, evaluated: {shown}{', kept' if kept else ''}")
        self._log(step, {f"dev/{name}": value for name, value in values.items()})
        self._last = step, time.monotonic()  # the seconds of a step are without evaluation

    def line(self, text: str) -> None:
        """Print a line on standard error, above the progress bar if there is one."""
        if self._is_main:
            tqdm.write(text, file=sys.stderr)

    def _log(self, step: int, values: dict[str, float]) -> None:
        if self._is_main:
            if self._resumed is not None:
                self._drop_after(self._resumed)
                self._resumed = None
            with self._log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, **values}) + "\n")
        if self._accelerator.log_with:
            self._accelerator.log(values, step=step)

    def _drop_after(self, step: int) -> None:
        """Drop records of steps that are done again, and one that was cut off."""
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        log = self._log_file.read_text("utf-8") if self._log_file.exists() else ""
        whole = [line for line in log.splitlines(True) if line.endswith("\n")]
        kept = [line for line in whole if json.loads(line)["step"] <= step]
        self._log_file.write_text("".join(kept), "utf-8")


def push(model: Path, name: str, api: HfApi | None = None) -> None:
    """Upload the directory of a model to a repository of the hub, private if it is new."""
    api = api or HfApi()
    try:
        api.create_repo(name, private=True, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=model, commit_message="Trained by AdMIRaL")
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise AdmiralError(
            f"key 'push_to_hub': {name!r} cannot be written ({first_line(error)}). The model is in "
            f"{model}; start the same command again to upload it."
        ) from error
