"""What a run shows while it trains: a bar on a terminal, plain lines elsewhere, and trackers."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from importlib.util import find_spec
from types import TracebackType

import click
import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from tqdm import tqdm

from admiral.errors import AdmiralError, first_line
from admiral.io.terminal import is_watched
from training.loop.run_output import Output
from training.run_config import TrainConfig


def tracker_names(config: TrainConfig) -> list[str]:
    """Return the trackers of accelerate that the settings ask for."""
    if config.tracker == "none":
        return []
    if config.tracker == "auto":
        return ["tensorboard"] if find_spec("tensorboard") else []
    return config.tracker.split(",")


class Reporter:
    """Shows and logs losses and metrics, on the main process only; a context manager.

    Parameters
    ----------
    accelerator
        Made with the trackers of `tracker_names`.
    step
        Where the run begins, or goes on.
    """

    def __init__(
        self, accelerator: Accelerator, output: Output, config: TrainConfig, step: int
    ) -> None:
        self._accelerator, self._output, self._config = accelerator, output, config
        self._step, self._since = step, time.monotonic()
        # Where the log is to begin; None when it has begun.
        self._begin: int | None = step
        self._bar: tqdm | None = None

    def __enter__(self) -> Reporter:
        if self._accelerator.is_main_process and is_watched():
            self._bar = tqdm(
                initial=self._step, total=self._config.steps, unit=" steps", file=sys.stderr
            )
        if self._accelerator.log_with:
            # What was tracked behind this step will be tracked again.
            options = {"tensorboard": {"purge_step": self._step + 1}}
            self._accelerator.init_trackers("admiral", asdict(self._config), options)
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
        """Count a step."""
        if self._bar is not None:
            self._bar.update()

    def losses(self, step: int, losses: dict[str, float], rate: float, norm: float) -> None:
        """Report the mean losses since the last report, the learning rate and a gradient's norm."""
        now = time.monotonic()
        each = (now - self._since) / max(step - self._step, 1)
        self._since, self._step = now, step
        shown = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        if self._bar is not None:
            self._bar.set_postfix_str(shown)
        else:
            self.say(f"step {step} of {self._config.steps}: {shown}, {each:.2f} s a step")
        self._log(step, {**losses, "rate": rate, "norm": norm})

    def metrics(self, step: int, metrics: dict[str, float], kept: bool) -> None:
        """Report an evaluation, and whether its checkpoint is kept."""
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self.say(f"step {step}, evaluated: {shown}{', kept' if kept else ''}")
        self._log(step, {f"dev/{name}": value for name, value in metrics.items()})
        # An evaluation is no part of the time of a step.
        self._since, self._step = time.monotonic(), step

    def say(self, text: str) -> None:
        """Show a line, above the bar if there is one."""
        if not self._accelerator.is_main_process:
            return
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            click.echo(text, err=True)

    def _log(self, step: int, values: dict[str, float]) -> None:
        if self._accelerator.is_main_process:
            # Not before: an earlier run's log is kept until this one gets somewhere.
            if self._begin is not None:
                self._output.begin_log(self._begin)
                self._begin = None
            self._output.append_log({"step": step, **values})
        if self._accelerator.log_with:
            self._accelerator.log(values, step=step)


def open_accelerator(config: TrainConfig, output: Output) -> Accelerator:
    """Return what knows devices, processes and precision.

    Raises
    ------
    AdmiralError
        If the precision or the trackers are not to be had here.
    """
    precision = "no" if config.precision == "fp32" else config.precision
    names = tracker_names(config)
    unknown = set(names) - {str(one) for one in get_available_trackers()}
    if unknown:
        raise AdmiralError(
            f"key 'tracker': {', '.join(sorted(unknown))} is not installed, or no tracker of "
            "accelerate; choose auto or none"
        )
    try:
        accelerator = Accelerator(
            # Without it accelerate lets processes that were launched for CPUs train by themselves.
            cpu=config.device == "cpu" or not torch.accelerator.is_available(),
            mixed_precision=precision,
            log_with=names or None,
            project_dir=output.folder,
        )
    except (ValueError, ImportError) as error:
        raise AdmiralError(f"{first_line(error)}. Change the precision.") from error
    if config.precision == "fp16" and accelerator.device.type == "cpu":
        raise AdmiralError("key 'precision': 'fp16' needs a GPU; choose bf16 or fp32")
    return accelerator
