"""The loop that trains each of the programs."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from pathlib import Path

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from training.data.batch_loading import Loader, batches_of
from training.data.batches import Batch, Counts, moved
from training.loop.checkpoint_selection import Keeper
from training.loop.hub import push
from training.loop.losses import Meter, as_sums
from training.loop.optimisation import average_gradients, rate
from training.loop.reporting import Reporter, open_accelerator
from training.loop.run_output import Output
from training.loop.run_setup import Run, open_run
from training.loop.run_state import save_state
from training.loop.shrinking_batches import MemoryGuard
from training.loop.stop_conditions import Stopper
from training.run_config import TrainConfig


def train(config: TrainConfig, tasks: tuple[str, ...], *, overwrite: bool = False) -> None:
    """Train as `config` says, from where an earlier part of the same run was saved.

    Parameters
    ----------
    config
        The settings, checked (`training.run_config.load_config`).
    tasks
        What the checkpoint shall do: some of `training.run_config.TASKS`.
    overwrite
        Start anew, and replace what is in `out`.

    Raises
    ------
    AdmiralError
        For bad input, too little memory or disk, or a loss that is no number. The checkpoint and
        the state that were saved before are intact.
    """
    with ExitStack() as stack:
        stopper = stack.enter_context(Stopper(config.minutes))
        output = Output(Path(config.out))
        accelerator = open_accelerator(config, output)
        if accelerator.is_main_process:
            stack.enter_context(output.alone())
        run = open_run(config, tasks, accelerator, output, overwrite)
        reporter = Reporter(accelerator, output, config, run.progress.step)
        # All that can be wrong is known before anything of an earlier run is replaced.
        keeper = stack.enter_context(Keeper(config, accelerator, output, reporter, run))
        trainer = Trainer(config, accelerator, output, reporter, run)
        with reporter:
            reporter.say(run.describe(accelerator))
            trainer.run(keeper, stopper)
            step = run.progress.step
            done = step >= config.steps
            reporter.say(
                f"trained; the checkpoint is {output.checkpoint}"
                if done
                else f"stopped behind step {step}; the same command goes on"
            )
        if done and config.push_to_hub and accelerator.is_main_process:
            push(output.checkpoint, config.push_to_hub)
    accelerator.end_training()
    if stopper.signal is not None and not done:
        raise SystemExit(128 + stopper.signal)


class Trainer:
    """Makes the steps of a run; each process has one, and they do the same things at a time."""

    def __init__(
        self,
        config: TrainConfig,
        accelerator: Accelerator,
        output: Output,
        reporter: Reporter,
        run: Run,
    ) -> None:
        self._config, self._accelerator, self._output = config, accelerator, output
        self._reporter, self._run = reporter, run
        self._progress, self._trainee = run.progress, run.trainee
        self._optimizer = accelerator.prepare_optimizer(run.optimizer)
        self._parameters = list(run.trainee.parameters())
        self._pad, self._start = run.start.tokens.pad, run.start.tokens.start
        self._guard = MemoryGuard(self._pad, self._start, config.seed)
        self._meter = Meter(accelerator.device)
        if accelerator.is_main_process:
            self._meter.restore(run.progress.losses)
        self._norm = torch.zeros(())

    def run(self, keeper: Keeper, stopper: Stopper) -> None:
        """Train to the last step, or until it is time to stop."""
        config, progress = self._config, self._progress
        self._trainee.train()
        with self._loader() as loader:
            stop = False
            while progress.step < config.steps and not stop:
                stop = self._step(loader, stopper)
                last = progress.step == config.steps
                if last or progress.step % config.log_every == 0:
                    self._log()
                if keeper.is_due(progress.step):
                    keeper.evaluate()
                # The first one, which takes the place of another run's, shows that there is room.
                first = progress.step == 1
                if last or stop or first or progress.step % config.save_every == 0:
                    progress.losses = self._losses()  # what is no number is not saved, either
                    if (last or stop) and config.keep == "last":
                        self._publish(keeper)
                    else:
                        self._save()
        if progress.step >= config.steps and self._accelerator.is_main_process:
            self._restore(keeper)

    def _loader(self) -> Loader:
        config, accelerator = self._config, self._accelerator
        return Loader(
            batches_of(
                self._run.train.items, config.batch_tokens, config.rerank_tokens, config.seed
            ),
            self._pad,
            self._start,
            position=self._progress.position,
            share=(accelerator.process_index, accelerator.num_processes),
            device=accelerator.device,
        )

    def _step(self, loader: Loader, stopper: Stopper) -> bool:
        """Make a step, and return whether a process wants to stop behind it."""
        began = time.monotonic()
        config, progress = self._config, self._progress
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * rate(progress.step, config)
        micros = loader.take(config.accumulation)
        losses = self._guard.run(micros, self._pass, self._optimizer.zero_grad)
        for micro, loss in zip(micros, losses, strict=True):
            self._meter.add(micro.batch, loss)
        stop = average_gradients(self._parameters, stopper.wanted)
        # Without a limit the norm is measured, and nothing clipped.
        self._norm = self._accelerator.clip_grad_norm_(self._parameters, config.clip or math.inf)
        self._optimizer.step()
        self._optimizer.zero_grad()
        progress.step += 1
        progress.position += config.accumulation * self._accelerator.num_processes
        progress.seconds += time.monotonic() - began
        self._reporter.advance()
        return stop

    def _pass(self, batch: Batch, counts: Counts) -> torch.Tensor:
        with self._accelerator.autocast():
            loss: torch.Tensor = self._trainee(moved(batch, self._accelerator.device), counts)
        self._accelerator.backward(loss / self._config.accumulation)
        return loss.detach()

    def _log(self) -> None:
        """Report the losses since the last report."""
        means = {kind: total / count for kind, (total, count) in self._losses().items() if count}
        peak = self._config.decoder_rate
        share = rate(self._progress.step - 1, self._config)
        self._reporter.losses(self._progress.step, means, share * peak, float(self._norm))
        self._meter = Meter(self._accelerator.device)

    def _losses(self) -> dict[str, list[float]]:
        """Return the losses since the last report, summed up over processes."""
        sums = as_sums(self._accelerator.reduce(self._meter.sums, "sum"))
        values = [total for total, _ in sums.values()]
        if self._accelerator.scaler is None:  # it passes over steps with such a gradient
            values.append(float(self._norm))
        if not all(map(math.isfinite, values)):
            raise AdmiralError(
                f"the loss or its gradient is no number at step {self._progress.step}. Lower the "
                "learning rates or lengthen the warm-up; what was saved before is intact."
            )
        return sums

    def _publish(self, keeper: Keeper) -> None:
        """Make the last state the checkpoint, and save it in any case."""
        try:
            keeper.publish()
        finally:
            self._save()

    def _restore(self, keeper: Keeper) -> None:
        """See to it that a run that is done has its checkpoint."""
        there = self._output.checkpoint.exists()
        if self._config.keep == "last":
            if not there or self._progress.published != self._progress.step:
                self._publish(keeper)
        elif not there:
            raise AdmiralError(
                f"{self._output.checkpoint}: is gone, and of the run only the last state is kept. "
                "Give --set keep=last to make that the checkpoint, or --overwrite to train anew."
            )

    def _save(self) -> None:
        if self._accelerator.scaler is not None:
            self._progress.scaler = self._accelerator.scaler.state_dict()
        if self._accelerator.is_main_process:
            save_state(self._output.state, self._trainee, self._run.optimizer, self._progress)
