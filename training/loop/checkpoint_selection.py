"""Evaluate a run and select the state that becomes its checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator

from training.loop.loop_settings import LoopSettings
from training.loop.run import Run, describe_devices
from training.loop.run_output import RunOutput


class CheckpointSelector(ABC):
    """Evaluate a run and export its checkpoint.

    Parameters
    ----------
    config
        The settings of the run.
    accelerator
        Its accelerator.
    output
        Its output.
    run
        The run itself.
    """

    def __init__(
        self, config: LoopSettings, accelerator: Accelerator, output: RunOutput, run: Run
    ) -> None:
        self._settings, self._accelerator, self._output = config, accelerator, output
        self._state = run.state

    @abstractmethod
    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights, among them `loss` and `best_metric`."""

    @abstractmethod
    def card(self, devices: str) -> str:
        """Return the model card; `devices` describes the devices of the run."""

    @abstractmethod
    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the current weights in a number format, and what belongs to them."""

    def is_due(self, step: int) -> bool:
        """Return whether to evaluate after a step."""
        if not self._settings.dev:
            return False
        interval = self._settings.eval_every
        return step == self._settings.steps or bool(interval and step % interval == 0)

    def evaluate(self) -> tuple[dict[str, float], bool]:
        """Evaluate the current weights, and export them if they are the best and to be kept.

        Returns
        -------
        tuple
            The metrics, and whether the weights were exported.
        """
        config, state = self._settings, self._state
        values = self.measure()
        value = -values["loss"] if config.best_metric == "loss" else values[config.best_metric]
        improved = state.best is None or value > state.best
        if improved:
            state.best = value
        if improved or config.keep == "last":
            state.metrics, state.measured = values, state.step
        kept = improved and config.keep == "best"
        if kept:
            self.publish()
        return values, kept

    def publish(self) -> None:
        """Export the current weights as the checkpoint."""
        if not self._accelerator.is_main_process:
            return
        dtype = torch.float16 if self._settings.export == "fp16" else torch.float32
        card = self.card(describe_devices(self._accelerator))
        self._output.publish(partial(self.write, dtype=dtype), card)
        self._state.published = self._state.step
