"""The loop of all training programs: steps, logs, evaluations, saved states and the checkpoint."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.hub import push
from training.loop.loop_settings import LoopSettings
from training.loop.loss_meter import LossMeter
from training.loop.optimisation import average_gradients, build_scheduler
from training.loop.reporting import Reporter, open_accelerator
from training.loop.run import Run
from training.loop.run_output import RunOutput
from training.loop.run_state import save_state
from training.loop.stop_conditions import StopConditions


class Trainer(ABC):
    """Run the optimizer steps of a training run; each process has one and they act in lockstep.

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
    selector
        Evaluates it and exports its checkpoint.

    Attributes
    ----------
    product
        What is trained, for messages.
    loss_kinds
        Names of the losses.
    reported_group
        Number of the optimiser's parameter group whose learning rate is logged.
    """

    product: ClassVar[str]
    loss_kinds: ClassVar[tuple[str, ...]]
    reported_group: ClassVar[int]

    def __init__(
        self,
        config: LoopSettings,
        accelerator: Accelerator,
        output: RunOutput,
        run: Run,
        selector: CheckpointSelector,
    ) -> None:
        self._settings, self._accelerator, self._output = config, accelerator, output
        self._run, self._state, self._selector = run, run.state, selector
        self._reporter = Reporter(accelerator, output, config, run.state.step)
        self._optimizer = accelerator.prepare_optimizer(run.optimizer)
        self._scheduler = build_scheduler(run.optimizer, config, run.state.step)
        self._parameters = list(run.module.parameters())
        self._meter = LossMeter(self.loss_kinds, accelerator.device)
        if accelerator.is_main_process:
            self._meter.restore(run.state.losses)
        self._norm = torch.zeros(())

    @abstractmethod
    def accumulate_gradients(self) -> None:
        """Run the passes of the batches of a step, and add their losses to the meter."""

    def run(self, stopper: StopConditions) -> bool:
        """Train to the last step, or until a stop is requested; return whether it is finished."""
        with self._reporter:
            self._reporter.log_line(self._run.describe(self._accelerator))
            self._run_steps(stopper)
            finished = self._state.step >= self._settings.steps
            self._reporter.log_line(
                f"finished; the {self.product} is {self._output.checkpoint}"
                if finished
                else f"stopped after step {self._state.step}; the same command continues"
            )
        return finished

    def _run_steps(self, stopper: StopConditions) -> None:
        config, state = self._settings, self._state
        self._run.module.train()
        stop = False
        while state.step < config.steps and not stop:
            stop = self._step(stopper)
            last = state.step == config.steps
            if last or state.step % config.log_every == 0:
                self._log()
            if self._selector.is_due(state.step):
                self._reporter.metrics(state.step, *self._selector.evaluate())
            # Saving after the first step shows early that there is enough disk space.
            first = state.step == 1
            if last or stop or first or state.step % config.save_every == 0:
                state.losses = self._losses()  # raises if not finite
                if (last or stop) and config.keep == "last":
                    self._publish()
                else:
                    self._save()
        if state.step >= config.steps and self._accelerator.is_main_process:
            self._ensure_checkpoint()

    def _step(self, stopper: StopConditions) -> bool:
        """Run one optimizer step and return whether any process wants to stop after it."""
        began = time.monotonic()
        config, state = self._settings, self._state
        self.accumulate_gradients()
        stop = average_gradients(self._parameters, stopper.wanted)
        # With an infinite limit the norm is measured and nothing is clipped.
        limit = config.max_grad_norm or math.inf
        self._norm = self._accelerator.clip_grad_norm_(self._parameters, limit)
        self._optimizer.step()
        self._scheduler.step()
        self._optimizer.zero_grad()
        state.step += 1
        state.position += config.gradient_accumulation_steps * self._accelerator.num_processes
        state.seconds += time.monotonic() - began
        self._reporter.advance()
        return stop

    def _pass(self, *inputs: Any) -> torch.Tensor:
        """Run the forward and backward pass of inputs of the module and return their loss."""
        with self._accelerator.autocast():
            loss: torch.Tensor = self._run.module(*inputs)
        self._accelerator.backward(loss / self._settings.gradient_accumulation_steps)
        return loss.detach()

    def _log(self) -> None:
        """Log the mean losses since the last log line."""
        means = {kind: total / count for kind, (total, count) in self._losses().items() if count}
        rate = float(self._scheduler.get_last_lr()[self.reported_group])
        self._reporter.losses(self._state.step, means, rate, float(self._norm))
        self._meter.reset()

    def _losses(self) -> dict[str, list[float]]:
        """Return sums and counts of the losses since the last log line, over all processes."""
        sums = self._meter.sums(self._accelerator)
        values = [total for total, _ in sums.values()]
        if self._accelerator.scaler is None:  # a scaler skips steps that overflow
            values.append(float(self._norm))
        if not all(map(math.isfinite, values)):
            raise AdmiralError(
                f"the loss or its gradient is not finite at step {self._state.step}. Lower the "
                "learning rates or lengthen the warm-up. The saved state is intact."
            )
        return sums

    def _publish(self) -> None:
        """Export the current weights as the checkpoint, and save the state in any case."""
        try:
            self._selector.publish()
        finally:
            self._save()

    def _ensure_checkpoint(self) -> None:
        """Export the checkpoint of a finished run if it is missing or outdated."""
        exists = self._output.checkpoint.exists()
        if self._settings.keep == "last":
            if not exists or self._state.published != self._state.step:
                self._publish()
        elif not exists:
            raise AdmiralError(
                f"{self._output.checkpoint}: is missing, and only the run's last state is saved. "
                "Use --set keep=last to export that state, or --overwrite to train again."
            )

    def _save(self) -> None:
        if self._accelerator.scaler is not None:
            self._state.scaler = self._accelerator.scaler.state_dict()
        if self._accelerator.is_main_process:
            save_state(self._output.state, self._run.module, self._run.optimizer, self._state)


def run_training(
    config: LoopSettings,
    open_trainer: Callable[[Accelerator, RunOutput, ExitStack], Trainer],
    upload_to: str = "",
) -> None:
    """Run a training program until it is finished or stopped.

    Parameters
    ----------
    config
        Validated settings.
    open_trainer
        Checks all input, before anything of an earlier run is replaced, and returns the trainer.
        What it enters into the stack is closed at the end.
    upload_to
        Repository on the Hugging Face hub that a finished checkpoint is uploaded to; empty: none.

    Raises
    ------
    AdmiralError
        For bad input, too little memory or disk space, or a loss that is not finite. The checkpoint
        and the state that were saved earlier are intact.
    SystemExit
        If a signal stopped the run.
    """
    with ExitStack() as stack:
        stopper = stack.enter_context(StopConditions(config.minutes))
        output = RunOutput(Path(config.out))
        accelerator = open_accelerator(config, output)
        if accelerator.is_main_process:
            stack.enter_context(output.exclusive_access())
        finished = open_trainer(accelerator, output, stack).run(stopper)
        if finished and upload_to and accelerator.is_main_process:
            push(output.checkpoint, upload_to)
    accelerator.end_training()
    if stopper.signal is not None and not finished:
        raise SystemExit(128 + stopper.signal)
