"""The training loop of the verifier: steps, evaluation, saved states and the exported verifier."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.scheduling.memory import is_out_of_memory
from proofs.verifier.classifier_files import write_classifier
from training.loop.optimisation import average_gradients, build_scheduler
from training.loop.reporting import Reporter, open_accelerator
from training.loop.run_output import RunOutput
from training.loop.run_setup import describe_devices
from training.loop.run_state import save_state
from training.loop.stop_conditions import StopConditions
from training.pair_classifier.card import verifier_card
from training.pair_classifier.evaluation import PairEvaluator
from training.pair_classifier.pair_batches import EncodedPair, batches_of_pairs, collate_pairs
from training.pair_classifier.pair_run import PairRun, open_pair_run
from training.pair_classifier.verifier_settings import VerifierConfig

Batches = Iterator[tuple[int, list[EncodedPair]]]


def train_verifier(config: VerifierConfig, *, overwrite: bool = False) -> None:
    """Train a verifier, continuing from the saved state of the same run if there is one.

    Parameters
    ----------
    config
        Validated settings (see `load_verifier_config`).
    overwrite
        Start a new run and replace the one in `out`.

    Raises
    ------
    AdmiralError
        For bad input, too little memory or disk space, or a loss that is not finite. The verifier
        and the state that were saved earlier are intact.
    """
    with ExitStack() as stack:
        stopper = stack.enter_context(StopConditions(config.minutes))
        output = RunOutput(Path(config.out))
        accelerator = open_accelerator(config, output)
        if accelerator.is_main_process:
            stack.enter_context(output.exclusive_access())
        run = open_pair_run(config, accelerator, output, overwrite)
        reporter = Reporter(accelerator, output, config, run.state.step)
        trainer = PairTrainer(config, accelerator, output, reporter, run)
        with reporter:
            reporter.log_line(run.describe(accelerator))
            trainer.run(stopper)
            step = run.state.step
            done = step >= config.steps
            reporter.log_line(
                f"finished; the verifier is {output.checkpoint}"
                if done
                else f"stopped after step {step}; the same command continues"
            )
    accelerator.end_training()
    if stopper.signal is not None and not done:
        raise SystemExit(128 + stopper.signal)


class PairTrainer:
    """Run the steps of a training run; each process has one and they act in lockstep."""

    def __init__(
        self,
        config: VerifierConfig,
        accelerator: Accelerator,
        output: RunOutput,
        reporter: Reporter,
        run: PairRun,
    ) -> None:
        self._config, self._accelerator, self._output = config, accelerator, output
        self._reporter, self._run, self._state = reporter, run, run.state
        self._optimizer = accelerator.prepare_optimizer(run.optimizer)
        self._scheduler = build_scheduler(run.optimizer, config, run.state.step)
        self._parameters = list(run.model.parameters())
        self._evaluator: PairEvaluator | None = None
        if run.dev is not None:
            self._evaluator = PairEvaluator(run.dev, run.encoder, config.batch_tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no pairs for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )
        # Sum and count of the losses since the last log line, on the device of the model.
        self._losses = torch.tensor(
            run.state.losses.get("pairs", [0.0, 0.0]) if accelerator.is_main_process else [0.0] * 2,
            device=accelerator.device,
        )
        self._norm = torch.zeros(())

    def run(self, stopper: StopConditions) -> None:
        """Train to the last step, or until a stop is requested."""
        config, state = self._config, self._state
        batches = self._batches()
        stop = False
        while state.step < config.steps and not stop:
            stop = self._step(batches, stopper)
            last = state.step == config.steps
            if last or state.step % config.log_every == 0:
                self._log()
            due = config.eval_every and state.step % config.eval_every == 0
            if self._evaluator is not None and (last or due):
                self._evaluate(self._evaluator)
            # Saving after the first step shows early that there is enough disk space.
            if last or stop or state.step == 1 or state.step % config.save_every == 0:
                state.losses = {"pairs": self._mean_losses()}  # raises if not finite
                if (last or stop) and config.keep == "last":
                    self._publish()
                self._save()
        if state.step >= config.steps and not self._output.checkpoint.exists():
            self._publish()  # it was deleted; the last state is what is left

    def _batches(self) -> Batches:
        """Return the batches of this process with their positions in the common stream."""
        config, accelerator = self._config, self._accelerator
        stream = batches_of_pairs(self._run.train.items, config.batch_tokens, config.seed)
        begin = self._state.position + accelerator.process_index
        return islice(enumerate(stream), begin, None, accelerator.num_processes)

    def _step(self, batches: Batches, stopper: StopConditions) -> bool:
        """Run one optimizer step and return whether any process wants to stop after it."""
        began = time.monotonic()
        config, state = self._config, self._state
        for position, items in islice(batches, config.gradient_accumulation_steps):
            torch.manual_seed(config.seed * 1_000_003 + position)  # of the dropout
            self._losses += torch.stack([self._pass(items), self._losses.new_ones(())])
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

    def _pass(self, items: list[EncodedPair]) -> torch.Tensor:
        """Run the forward and backward pass of a batch and return its loss."""
        batch = collate_pairs(items, self._run.encoder)
        try:
            with self._accelerator.autocast():
                loss: torch.Tensor = self._run.model(batch, self._accelerator.device)
            self._accelerator.backward(loss / self._config.gradient_accumulation_steps)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise AdmiralError(
                f"memory ran out with a batch of {batch.ids.numel():,} tokens. Lower batch_tokens "
                "and raise gradient_accumulation_steps, in a new `out`."
            ) from error
        return loss.detach()

    def _log(self) -> None:
        """Log the mean loss since the last log line."""
        total, count = self._mean_losses()
        rates = self._scheduler.get_last_lr()
        losses = {"pairs": total / count} if count else {}
        self._reporter.losses(self._state.step, losses, float(rates[0]), float(self._norm))
        self._losses = torch.zeros_like(self._losses)

    def _mean_losses(self) -> list[float]:
        """Return sum and count of the losses since the last log line, over all processes."""
        sums: list[float] = self._accelerator.reduce(self._losses, "sum").tolist()
        values = [*sums]
        if self._accelerator.scaler is None:  # a scaler skips steps that overflow
            values.append(float(self._norm))
        if not all(map(math.isfinite, values)):
            raise AdmiralError(
                f"the loss or its gradient is not finite at step {self._state.step}. Lower the "
                "learning rates or lengthen the warm-up. The saved state is intact."
            )
        return sums

    def _evaluate(self, evaluator: PairEvaluator) -> None:
        """Evaluate the current weights, and export them if they are the best so far."""
        config, state = self._config, self._state
        values = evaluator.metrics(self._run.model)
        if config.best_metric not in values:
            raise AdmiralError(
                f"{config.dev}: {config.best_metric!r} cannot be measured on pairs of one label"
            )
        value = -values["loss"] if config.best_metric == "loss" else values[config.best_metric]
        improved = state.best is None or value > state.best
        if improved:
            state.best = value
        if improved or config.keep == "last":
            state.metrics, state.measured = values, state.step
        kept = improved and config.keep == "best"
        if kept:
            self._publish()
        self._reporter.metrics(state.step, values, kept)

    def _publish(self) -> None:
        """Export the current weights as the verifier."""
        if not self._accelerator.is_main_process:
            return
        run, config = self._run, self._config
        devices = describe_devices(self._accelerator)
        card = verifier_card(config, run.base, run.train, run.dev, run.state, devices)
        dtype = torch.float16 if config.export == "fp16" else torch.float32
        self._output.publish(
            lambda folder: write_classifier(folder, run.files, dtype, run.max_length), card
        )
        run.state.published = run.state.step

    def _save(self) -> None:
        if self._accelerator.scaler is not None:
            self._state.scaler = self._accelerator.scaler.state_dict()
        if self._accelerator.is_main_process:
            save_state(self._output.state, self._run.model, self._run.optimizer, self._state)
