"""A run before its first step: what it starts from, what it trains on, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from training.data.training_set import SampleSet, drawn, read_set
from training.loop.initial_checkpoint import Start, open_start
from training.loop.model_card import SourceFile
from training.loop.multitask_model import Trainee
from training.loop.optimisation import build_optimizer
from training.loop.run_output import Output
from training.loop.run_state import Progress, load_tensors, read_progress
from training.run_config import TrainConfig

# Settings that decide which batch comes when: the parts of a run must agree on them.
_SAME = (
    *("hops", "target", "seed", "batch_tokens", "rerank_tokens", "max_source", "max_target"),
    "markers",
)
# Settings that decide which state is the best.
_JUDGING = ("metric", "keep", "kb", "eval_samples", "eval_beams", "proof_beams")


@dataclass(frozen=True, slots=True)
class Run:
    """What a run consists of.

    Attributes
    ----------
    train, dev
        Samples to train on, and those to evaluate on, if there are any.
    base
        The weights that training started from.
    progress
        How far the run is; changes as it goes on.
    """

    tasks: tuple[str, ...]
    start: Start
    base: SourceFile
    train: SampleSet
    dev: SampleSet | None
    trainee: Trainee
    optimizer: torch.optim.Optimizer
    progress: Progress

    def describe(self, accelerator: Accelerator) -> str:
        """Return a line about the run for the person who started it."""
        counts = ", ".join(f"{n} {task}" for task, n in self.train.source.samples.items())
        left = ""
        if self.train.left_out:
            left = f" ({self.train.left_out} left out: too long, or nothing in them to rank)"
        done = f"; going on behind step {self.progress.step}" if self.progress.step else ""
        return f"{counts} samples{left}; {machine(accelerator)}{done}"


def open_run(
    config: TrainConfig,
    tasks: tuple[str, ...],
    accelerator: Accelerator,
    output: Output,
    overwrite: bool,
) -> Run:
    """Open a run, or an earlier part of it.

    Raises
    ------
    AdmiralError
        For bad input, or where the earlier part was begun with something else.
    """
    output.check(overwrite)
    start = open_start(config, tasks)
    if output.checkpoint.resolve() == start.path.resolve():
        raise AdmiralError(
            f"{output.checkpoint}: is `start` as well, which the run needs to go on. Choose "
            "another `out`."
        )
    train = read_set("train", config.samples, config, tasks, start.tokens)
    dev = None
    if config.dev:
        dev = read_set("evaluate", config.dev, config, tasks, start.tokens)
        dev = drawn(dev, config.eval_samples, config.seed)
    base = SourceFile.of("start from", start.path / "model.safetensors")
    same = {key: getattr(config, key) for key in _SAME} | {
        "tasks": ", ".join(tasks),
        "start": base.sha256,
        "samples": train.source.sha256,
    }
    progress = (None if overwrite else read_progress(output.state)) or Progress(run=same)
    _check_same(output, progress.run, same)
    judged = {key: getattr(config, key) for key in _JUDGING} | {
        "dev": dev.source.sha256 if dev else None
    }
    if progress.judged != judged or not output.checkpoint.exists():
        progress.best, progress.judged = None, judged
    if accelerator.device.type == "cuda" and config.precision != "fp32":
        torch.set_float32_matmul_precision("high")  # of what autocast leaves in fp32
    trainee = Trainee(start.model, start.head, config.guide, config.label_smoothing)
    trainee.to(accelerator.device)
    optimizer = build_optimizer(trainee, config)
    if progress.step:
        load_tensors(output.state, trainee, optimizer)
        if accelerator.scaler is not None and progress.scaler:
            accelerator.scaler.load_state_dict(progress.scaler)
    return Run(tasks, start, base, train, dev, trainee, optimizer, progress)


def machine(accelerator: Accelerator) -> str:
    """Return the number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"


def _check_same(output: Output, before: dict[str, Any], now: dict[str, Any]) -> None:
    changed = [key for key in now if before.get(key) != now[key]]
    if changed:
        raise AdmiralError(
            f"{output.folder}: holds the state of a run with another {' and '.join(changed)}. Go "
            "on with what it was begun with, choose another `out`, or give --overwrite."
        )
