"""Evaluate a run on development samples and select the state that becomes the checkpoint."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import save_checkpoint
from training.data.batch_loading import one_epoch
from training.data.samples import RetrieveSample
from training.loop.dev_evaluation import Evaluator, MetricSums, metrics
from training.loop.losses import development_losses
from training.loop.model_card import model_card
from training.loop.reporting import Reporter
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.run_setup import Run, describe_devices
from training.loop.training_set import TrainingSet


class CheckpointSelector:
    """Evaluate a run and export its checkpoint; a context manager that owns the knowledge base."""

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
        self._share = (accelerator.process_index, accelerator.num_processes)
        self._evaluator: Evaluator | None = None

    def __enter__(self) -> CheckpointSelector:
        with ExitStack() as stack:
            if self._run.dev is not None:
                self._evaluator = self._open_evaluator(self._run.dev, stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _open_evaluator(self, dev: TrainingSet, stack: ExitStack) -> Evaluator:
        kb = None
        if any(isinstance(sample, RetrieveSample) for sample in dev.samples):
            kb = stack.enter_context(KnowledgeBase.open(locate(self._config.kb)))
            # The main process builds the title trie if it is not cached yet.
            with self._accelerator.main_process_first():
                kb.title_trie(self._run.start.tokens)
        evaluator = Evaluator(self._run.start, dev.samples, kb, self._config, self._share)
        available = ["score", "loss", *evaluator.names]
        if self._config.best_metric not in available:
            raise AdmiralError(
                f"{self._config.dev}: holds no samples for {self._config.best_metric!r}. "
                f"Choose one of {', '.join(available)}, or build such samples."
            )
        return evaluator

    def is_due(self, step: int) -> bool:
        """Return whether to evaluate after a step."""
        if self._evaluator is None:
            return False
        interval = self._config.eval_every
        return step == self._config.steps or bool(interval and step % interval == 0)

    def evaluate(self) -> None:
        """Evaluate the current weights, and export them if they are the best so far."""
        config, state = self._config, self._run.state
        try:
            values = metrics(self._reduced(self._sums()))
        except torch.OutOfMemoryError as error:
            raise AdmiralError(
                "memory ran out in evaluation. Lower eval_beams, proof_beams or the batch sizes. "
                "The same command continues from the last saved state."
            ) from error
        value = -values["loss"] if config.best_metric == "loss" else values[config.best_metric]
        improved = state.best is None or value > state.best
        if improved:
            state.best = value
        if improved or config.keep == "last":
            state.metrics, state.measured = values, state.step
        kept = improved and config.keep == "best"
        if kept:
            self.publish()
        self._reporter.metrics(state.step, values, kept)

    def publish(self) -> None:
        """Export the current weights as the checkpoint."""
        if not self._accelerator.is_main_process:
            return
        run, config = self._run, self._config
        files = [run.base, run.train.source, *([run.dev.source] if run.dev else [])]
        devices = describe_devices(self._accelerator)
        card = model_card(config, run.tasks, run.start.name, files, run.state, devices)
        dtype = torch.float16 if config.export == "fp16" else torch.float32
        start = run.start

        def save(folder: Path) -> None:
            save_checkpoint(folder, start.model, start.head, start.tokenizer, dtype)

        self._output.publish(save, card)
        run.state.published = run.state.step

    def _sums(self) -> MetricSums:
        run = self._run
        assert run.dev is not None
        assert self._evaluator is not None
        run.multitask.eval()
        config = self._config
        batches = one_epoch(run.dev.items, config.batch_tokens, config.rerank_tokens, 0)
        with self._accelerator.autocast():
            sums = development_losses(
                run.multitask,
                batches[self._share[0] :: self._share[1]],
                run.start.tokens.pad,
                run.start.tokens.start,
                self._accelerator.device,
            )
        sums |= self._evaluator.sums()
        run.multitask.train()
        return sums

    def _reduced(self, sums: MetricSums) -> MetricSums:
        """Add the sums of all processes."""
        values = torch.tensor(list(sums.values()), device=self._accelerator.device)
        rows = self._accelerator.reduce(values, "sum").tolist()
        return {name: (total, count) for name, (total, count) in zip(sums, rows, strict=True)}
