"""The training loop that all training programs share."""

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
from training.loop.batch_splitting import BatchSplitter
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.hub import push
from training.loop.losses import LossMeter, as_sums
from training.loop.optimisation import average_gradients, build_scheduler
from training.loop.reporting import Reporter, open_accelerator
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.run_setup import Run, open_run
from training.loop.run_state import save_state
from training.loop.stop_conditions import StopConditions


def train(config: TrainConfig, tasks: tuple[str, ...], *, overwrite: bool = False) -> None:
    """Train a checkpoint, continuing from the saved state of the same run if there is one.

    Parameters
    ----------
    config
        Validated settings (see `training.loop.run_config.load_config`).
    tasks
        Tasks of the checkpoint: some of `trie.model.safe_tokenizer.TASKS`.
    overwrite
        Start a new run and replace the one in `out`.

    Raises
    ------
    AdmiralError
        For bad input, too little memory or disk space, or a loss that is not finite. The checkpoint
        and the state that were saved earlier are intact.
    """
    with ExitStack() as stack:
        stopper = stack.enter_context(StopConditions(config.minutes))
        output = RunOutput(Path(config.out))
        accelerator = open_accelerator(config, output)
        if accelerator.is_main_process:
            stack.enter_context(output.exclusive_access())
        run = open_run(config, tasks, accelerator, output, overwrite)
        reporter = Reporter(accelerator, output, config, run.state.step)
        # All input is checked before anything of an earlier run is replaced.
        selector = stack.enter_context(
            CheckpointSelector(config, accelerator, output, reporter, run)
        )
        trainer = Trainer(config, accelerator, output, reporter, run)
        with reporter:
            reporter.log_line(run.describe(accelerator))
            trainer.run(selector, stopper)
            step = run.state.step
            done = step >= config.steps
            reporter.log_line(
                f"finished; the checkpoint is {output.checkpoint}"
                if done
                else f"stopped after step {step}; the same command continues"
            )
        if done and config.push_to_hub and accelerator.is_main_process:
            push(output.checkpoint, config.push_to_hub)
    accelerator.end_training()
    if stopper.signal is not None and not done:
        raise SystemExit(128 + stopper.signal)


class Trainer:
    """Run the optimizer steps of a training run; each process has one and they act in lockstep."""

    def __init__(
        self,
        config: TrainConfig,
        accelerator: Accelerator,
        output: RunOutput,
        reporter: Reporter,
        run: Run,
    ) -> None:
        self._config, self._accelerator, self._output = config, accelerator, output
        self._reporter, self._run = reporter, run
        self._state, self._model = run.state, run.multitask
        self._optimizer = accelerator.prepare_optimizer(run.optimizer)
        self._scheduler = build_scheduler(run.optimizer, config, run.state.step)
        self._parameters = list(run.multitask.parameters())
        self._pad, self._start = run.start.tokens.pad, run.start.tokens.start
        self._splitter = BatchSplitter(self._pad, self._start, config.seed)
        self._meter = LossMeter(accelerator.device)
        if accelerator.is_main_process:
            self._meter.restore(run.state.losses)
        self._norm = torch.zeros(())

    def run(self, selector: CheckpointSelector, stopper: StopConditions) -> None:
        """Train to the last step, or until a stop is requested."""
        config, state = self._config, self._state
        self._model.train()
        with self._loader() as loader:
            stop = False
            while state.step < config.steps and not stop:
                stop = self._step(loader, stopper)
                last = state.step == config.steps
                if last or state.step % config.log_every == 0:
                    self._log()
                if selector.is_due(state.step):
                    selector.evaluate()
                # Saving after the first step shows early that there is enough disk space.
                first = state.step == 1
                if last or stop or first or state.step % config.save_every == 0:
                    state.losses = self._losses()  # raises if not finite
                    if (last or stop) and config.keep == "last":
                        self._publish(selector)
                    else:
                        self._save()
        if state.step >= config.steps and self._accelerator.is_main_process:
            self._ensure_checkpoint(selector)

    def _loader(self) -> Loader:
        config, accelerator = self._config, self._accelerator
        return Loader(
            batches_of(
                self._run.train.items, config.batch_tokens, config.rerank_tokens, config.seed
            ),
            self._pad,
            self._start,
            position=self._state.position,
            share=(accelerator.process_index, accelerator.num_processes),
            device=accelerator.device,
        )

    def _step(self, loader: Loader, stopper: StopConditions) -> bool:
        """Run one optimizer step and return whether any process wants to stop after it."""
        began = time.monotonic()
        config, state = self._config, self._state
        micro_batches = loader.take(config.gradient_accumulation_steps)
        losses = self._splitter.run(micro_batches, self._pass, self._optimizer.zero_grad)
        for micro_batch, loss in zip(micro_batches, losses, strict=True):
            self._meter.add(micro_batch.batch, loss)
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

    def _pass(self, batch: Batch, counts: Counts) -> torch.Tensor:
        with self._accelerator.autocast():
            loss: torch.Tensor = self._model(moved(batch, self._accelerator.device), counts)
        self._accelerator.backward(loss / self._config.gradient_accumulation_steps)
        return loss.detach()

    def _log(self) -> None:
        """Log the mean losses since the last log line."""
        means = {kind: total / count for kind, (total, count) in self._losses().items() if count}
        decoder_lr = float(self._scheduler.get_last_lr()[1])
        self._reporter.losses(self._state.step, means, decoder_lr, float(self._norm))
        self._meter = LossMeter(self._accelerator.device)

    def _losses(self) -> dict[str, list[float]]:
        """Return sums and counts of the losses since the last log line, over all processes."""
        sums = as_sums(self._accelerator.reduce(self._meter.sums, "sum"))
        values = [total for total, _ in sums.values()]
        if self._accelerator.scaler is None:  # a scaler skips steps that overflow
            values.append(float(self._norm))
        if not all(map(math.isfinite, values)):
            raise AdmiralError(
                f"the loss or its gradient is not finite at step {self._state.step}. Lower the "
                "learning rates or lengthen the warm-up. The saved state is intact."
            )
        return sums

    def _publish(self, selector: CheckpointSelector) -> None:
        """Export the current weights as the checkpoint, and save the state in any case."""
        try:
            selector.publish()
        finally:
            self._save()

    def _ensure_checkpoint(self, selector: CheckpointSelector) -> None:
        """Export the checkpoint of a finished run if it is missing or outdated."""
        exists = self._output.checkpoint.exists()
        if self._config.keep == "last":
            if not exists or self._state.published != self._state.step:
                self._publish(selector)
        elif not exists:
            raise AdmiralError(
                f"{self._output.checkpoint}: is missing, and only the run's last state is saved. "
                "Use --set keep=last to export that state, or --overwrite to train again."
            )

    def _save(self) -> None:
        if self._accelerator.scaler is not None:
            self._state.scaler = self._accelerator.scaler.state_dict()
        if self._accelerator.is_main_process:
            save_state(self._output.state, self._model, self._run.optimizer, self._state)
