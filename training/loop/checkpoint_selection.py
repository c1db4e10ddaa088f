"""Evaluation in the course of a run, and which of its states becomes the checkpoint."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from training.data.batch_loading import one_epoch
from training.data.samples import RetrieveSample
from training.data.training_set import SampleSet
from training.loop.dev_evaluation import Evaluator, Sums, metrics
from training.loop.losses import development_losses
from training.loop.model_card import model_card
from training.loop.reporting import Reporter
from training.loop.run_output import Output
from training.loop.run_setup import Run, machine
from training.run_config import TrainConfig


class Keeper:
    """Evaluates a run and writes its checkpoint; a context manager, for the knowledge base."""

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
        self._share = (accelerator.process_index, accelerator.num_processes)
        self._evaluator: Evaluator | None = None

    def __enter__(self) -> Keeper:
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

    def _open_evaluator(self, dev: SampleSet, stack: ExitStack) -> Evaluator:
        kb = None
        if any(isinstance(sample, RetrieveSample) for sample in dev.samples):
            kb = stack.enter_context(KnowledgeBase.open(locate(self._config.kb)))
            # The first process builds the trie of titles where it is not kept yet.
            with self._accelerator.main_process_first():
                kb.title_trie(self._run.start.tokens)
        evaluator = Evaluator(self._run.start, dev.samples, kb, self._config, self._share)
        known = ["score", "loss", *evaluator.names]
        if self._config.metric not in known:
            raise AdmiralError(
                f"{self._config.dev}: holds no samples for the metric {self._config.metric!r}. "
                f"Choose one of {', '.join(known)}, or build such samples."
            )
        return evaluator

    def is_due(self, step: int) -> bool:
        """Whether to evaluate behind a step."""
        if self._evaluator is None:
            return False
        every = self._config.eval_every
        return step == self._config.steps or bool(every and step % every == 0)

    def evaluate(self) -> None:
        """Measure the model as it is, and keep it as the checkpoint if it is the best so far."""
        config, progress = self._config, self._run.progress
        try:
            found = metrics(self._together(self._sums()))
        except torch.OutOfMemoryError as error:
            raise AdmiralError(
                "memory ran out in evaluation. Lower eval_beams and proof_beams, or the budgets of "
                "batches; the same command goes on from the state that was saved last."
            ) from error
        value = -found["loss"] if config.metric == "loss" else found[config.metric]
        better = progress.best is None or value > progress.best
        if better:
            progress.best = value
        if better or config.keep == "last":
            progress.metrics, progress.measured = found, progress.step
        kept = better and config.keep == "best"
        if kept:
            self.publish()
        self._reporter.metrics(progress.step, found, kept)

    def publish(self) -> None:
        """Make the model as it is the checkpoint."""
        if not self._accelerator.is_main_process:
            return
        run, config = self._run, self._config
        files = [run.base, run.train.source, *([run.dev.source] if run.dev else [])]
        place = machine(self._accelerator)
        card = model_card(config, run.tasks, run.start.name, files, run.progress, place)
        dtype = torch.float16 if config.export == "fp16" else torch.float32
        self._output.publish(run.start, card, dtype)
        run.progress.published = run.progress.step

    def _sums(self) -> Sums:
        run = self._run
        assert run.dev is not None and self._evaluator is not None
        run.trainee.eval()
        config = self._config
        batches = one_epoch(run.dev.items, config.batch_tokens, config.rerank_tokens, 0)
        with self._accelerator.autocast():
            sums = development_losses(
                run.trainee,
                batches[self._share[0] :: self._share[1]],
                run.start.tokens.pad,
                run.start.tokens.start,
                self._accelerator.device,
            )
        sums |= self._evaluator.sums()
        run.trainee.train()
        return sums

    def _together(self, sums: Sums) -> Sums:
        """Add up the sums of all processes, which have the same names."""
        values = torch.tensor(list(sums.values()), device=self._accelerator.device)
        rows = self._accelerator.reduce(values, "sum").tolist()
        return {name: (total, count) for name, (total, count) in zip(sums, rows, strict=True)}
