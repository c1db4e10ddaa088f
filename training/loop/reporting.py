"""Report losses and metrics: a progress bar on a terminal, plain lines elsewhere, and trackers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

import click
import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from tqdm import tqdm

from admiral.errors import AdmiralError, first_line
from admiral.io.progress import stderr_is_terminal
from training.loop.loop_settings import LoopSettings
from training.loop.run_files import RunOutput


class LossMeter:
    """Running sums of losses. They stay on the device, so that the host does not wait for it."""

    def __init__(self, kinds: Sequence[str], device: torch.device) -> None:
        self._rows = {kind: row for row, kind in enumerate(kinds)}
        self._sums = torch.zeros(len(kinds), 2, device=device)

    def add(self, kind: str, loss: torch.Tensor, count: int = 1) -> None:
        """Add the mean loss of `count` batches or examples."""
        row = self._sums[self._rows[kind]]
        row[0] += loss.detach() * count
        row[1] += count

    def restore(self, sums: dict[str, list[float]]) -> None:
        """Continue from the sums of an earlier part of the run."""
        for kind, row in self._rows.items():
            if kind in sums:
                self._sums[row] = torch.tensor(sums[kind])

    def reset(self) -> None:
        """Set all sums to zero."""
        self._sums.zero_()

    def sums(self, accelerator: Accelerator | None = None) -> dict[str, list[float]]:
        """Return sum and count by kind, over all processes if an accelerator is given."""
        sums = self._sums if accelerator is None else accelerator.reduce(self._sums, "sum")
        return dict(zip(self._rows, sums.tolist(), strict=True))


def tracker_names(config: LoopSettings) -> list[str]:
    """Return the names of the accelerate trackers that the settings ask for."""
    if config.tracker == "none":
        return []
    if config.tracker == "auto":
        return ["tensorboard"] if find_spec("tensorboard") else []
    return config.tracker.split(",")


class Reporter:
    """Show and log losses and metrics on the main process; a context manager.

    Parameters
    ----------
    accelerator
        Created with the trackers of `tracker_names`.
    """

    def __init__(
        self, accelerator: Accelerator, output: RunOutput, config: LoopSettings, step: int
    ) -> None:
        self._accelerator, self._output, self._config = accelerator, output, config
        self._last_step, self._last_time = step, time.monotonic()
        # Step after which the log is truncated at the first write; None once that is done.
        self._truncate_after: int | None = step
        self._bar: tqdm | None = None

    def __enter__(self) -> Reporter:
        if self._accelerator.is_main_process and stderr_is_terminal():
            self._bar = tqdm(
                initial=self._last_step, total=self._config.steps, unit=" steps", file=sys.stderr
            )
        if self._accelerator.log_with:
            # Later steps of an interrupted run will be tracked again.
            options = {"tensorboard": {"purge_step": self._last_step + 1}}
            self._accelerator.init_trackers("admiral", dict(vars(self._config)), options)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self) -> None:
        """Advance the progress bar by one step."""
        if self._bar is not None:
            self._bar.update()

    def losses(
        self, step: int, losses: dict[str, float], learning_rate: float, grad_norm: float
    ) -> None:
        """Report mean losses, the decoder's learning rate and the norm of the last gradient."""
        now = time.monotonic()
        seconds = (now - self._last_time) / max(step - self._last_step, 1)
        self._last_time, self._last_step = now, step
        shown = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        if self._bar is not None:
            self._bar.set_postfix_str(shown)
        else:
            self.log_line(f"step {step} of {self._config.steps}: {shown}, {seconds:.2f} s a step")
        self._log(step, {**losses, "learning_rate": learning_rate, "grad_norm": grad_norm})

    def metrics(self, step: int, metrics: dict[str, float], kept: bool) -> None:
        """Report the metrics of an evaluation and whether its checkpoint is kept."""
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self.log_line(f"step {step}, evaluated: {shown}{', kept' if kept else ''}")
        self._log(step, {f"dev/{name}": value for name, value in metrics.items()})
        # Evaluation does not count towards the seconds of a step.
        self._last_time, self._last_step = time.monotonic(), step

    def log_line(self, text: str) -> None:
        """Print a line on standard error, above the progress bar if there is one."""
        if not self._accelerator.is_main_process:
            return
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            click.echo(text, err=True)

    def _log(self, step: int, values: dict[str, float]) -> None:
        if self._accelerator.is_main_process:
            # Truncated only now, so that an earlier run's log survives a failed start.
            if self._truncate_after is not None:
                self._output.truncate_log(self._truncate_after)
                self._truncate_after = None
            self._output.append_log({"step": step, **values})
        if self._accelerator.log_with:
            self._accelerator.log(values, step=step)


def open_accelerator(config: LoopSettings, folder: Path) -> Accelerator:
    """Return the `Accelerator` of a run, whose trackers write to `folder`.

    Raises
    ------
    AdmiralError
        If the precision or the trackers are not available.
    """
    precision = "no" if config.precision == "fp32" else config.precision
    names = tracker_names(config)
    unknown = set(names) - {str(tracker) for tracker in get_available_trackers()}
    if unknown:
        raise AdmiralError(
            f"key 'tracker': {', '.join(sorted(unknown))} is not installed, or not a tracker of "
            "accelerate; choose auto or none"
        )
    try:
        accelerator = Accelerator(
            # Otherwise accelerate lets processes that were launched for CPUs train separately.
            cpu=config.device == "cpu" or not torch.accelerator.is_available(),
            mixed_precision=precision,
            log_with=names or None,
            project_dir=folder,
        )
    except (ValueError, ImportError) as error:
        raise AdmiralError(f"{first_line(error)}. Change the precision.") from error
    if accelerator.num_processes == 1 and several_launched(os.environ):
        click.echo(
            "warning: accelerate was to launch several processes and launched one, as it does on "
            "CPUs. For N processes, use torchrun --nproc_per_node N in place of accelerate launch",
            err=True,
        )
    if config.precision == "fp16" and accelerator.device.type == "cpu":
        raise AdmiralError("key 'precision': 'fp16' needs a GPU; choose bf16 or fp32")
    if config.precision != "fp32" and accelerator.device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # for products that autocast leaves in fp32
    return accelerator


def several_launched(environment: Mapping[str, str]) -> bool:
    """Return whether ``accelerate launch`` was to launch several processes without torchrun.

    Its launcher for CPUs then names an address for them, but starts only one, without a rank.
    """
    return {
        "ACCELERATE_USE_CPU",
        "MASTER_PORT",
    } <= environment.keys() and "WORLD_SIZE" not in environment


def describe_devices(accelerator: Accelerator) -> str:
    """Return number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"
