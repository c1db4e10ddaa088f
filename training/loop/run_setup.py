"""Open a training run: its initial checkpoint, its samples and its saved state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from training.loop.initial_checkpoint import InitialCheckpoint, open_initial_checkpoint
from training.loop.model_card import SourceFile
from training.loop.multitask_model import MultiTaskModel
from training.loop.optimisation import build_optimizer
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.run_state import TrainingState, load_tensors, read_state
from training.loop.training_set import TrainingSet, read_training_set, subsample

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = (
    *("hops", "target", "seed", "batch_tokens", "rerank_tokens", "max_source", "max_target"),
    "markers",
)
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "kb", "eval_samples", "eval_beams", "proof_beams")


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a training run consists of.

    Attributes
    ----------
    train, dev
        Training samples, and development samples or None.
    base
        File of the initial weights.
    state
        Progress of the run, updated in place.
    """

    tasks: tuple[str, ...]
    start: InitialCheckpoint
    base: SourceFile
    train: TrainingSet
    dev: TrainingSet | None
    multitask: MultiTaskModel
    optimizer: torch.optim.Optimizer
    state: TrainingState

    def describe(self, accelerator: Accelerator) -> str:
        """Return a one-line summary of the run."""
        counts = ", ".join(f"{n} {task}" for task, n in self.train.source.samples.items())
        skipped = ""
        if self.train.left_out:
            skipped = f" ({self.train.left_out} left out: too long, or nothing to rank)"
        resumed = f"; continuing after step {self.state.step}" if self.state.step else ""
        return f"{counts} samples{skipped}; {describe_devices(accelerator)}{resumed}"


def open_run(
    config: TrainConfig,
    tasks: tuple[str, ...],
    accelerator: Accelerator,
    output: RunOutput,
    overwrite: bool,
) -> Run:
    """Open a new run, or resume the saved one.

    Raises
    ------
    AdmiralError
        For bad input, or if the saved run was started with other settings or files.
    """
    output.check(overwrite)
    start = open_initial_checkpoint(config, tasks)
    if output.checkpoint.resolve() == start.path.resolve():
        raise AdmiralError(
            f"{output.checkpoint}: is also `start`, which the run needs to resume. Choose "
            "another `out`."
        )
    train = read_training_set("train", config.samples, config, tasks, start.tokens)
    dev = None
    if config.dev:
        dev = read_training_set("evaluate", config.dev, config, tasks, start.tokens)
        dev = subsample(dev, config.eval_samples, config.seed)
    base = SourceFile.of("start from", start.path / "model.safetensors")
    fixed = {key: getattr(config, key) for key in _FIXED_SETTINGS} | {
        "tasks": ", ".join(tasks),
        "start": base.sha256,
        "samples": train.source.sha256,
    }
    state = (None if overwrite else read_state(output.state)) or TrainingState(run=fixed)
    check_unchanged(output, state.run, fixed)
    selection = {key: getattr(config, key) for key in _SELECTION_SETTINGS} | {
        "dev": dev.source.sha256 if dev else None
    }
    if state.selection != selection or not output.checkpoint.exists():
        state.best, state.selection = None, selection
    if accelerator.device.type == "cuda" and config.precision != "fp32":
        torch.set_float32_matmul_precision("high")  # for products that autocast leaves in fp32
    multitask = MultiTaskModel(
        start.model, start.head, config.attention_loss_weight, config.label_smoothing
    )
    multitask.to(accelerator.device)
    optimizer = build_optimizer(multitask, config)
    if state.step:
        load_tensors(output.state, multitask, optimizer)
        if accelerator.scaler is not None and state.scaler:
            accelerator.scaler.load_state_dict(state.scaler)
    return Run(tasks, start, base, train, dev, multitask, optimizer, state)


def describe_devices(accelerator: Accelerator) -> str:
    """Return number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"


def check_unchanged(output: RunOutput, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise an error if a run is resumed with other settings or files.

    Parameters
    ----------
    output
        The output of the run.
    before, now
        Settings and checksums of the saved run, and of this one.

    Raises
    ------
    AdmiralError
        If they differ; with the names of those that do.
    """
    changed = [key for key in now if before.get(key) != now[key]]
    if changed:
        raise AdmiralError(
            f"{output.folder}: holds the state of a run with another {' and '.join(changed)}. "
            "Resume it with the original values, choose another `out`, or use --overwrite."
        )
