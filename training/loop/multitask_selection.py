"""Evaluate a multi-task model in training on development samples, and export it."""

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
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.dev_evaluation import Evaluator, MetricSums, metrics
from training.loop.losses import development_losses
from training.loop.model_card import model_card
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.run_setup import MultiTaskRun
from training.loop.training_set import TrainingSet


class MultiTaskSelector(CheckpointSelector):
    """Evaluate a run and export its checkpoint; a context manager that owns the knowledge base."""

    def __init__(
        self, config: TrainConfig, accelerator: Accelerator, output: RunOutput, run: MultiTaskRun
    ) -> None:
        super().__init__(config, accelerator, output, run)
        self._config, self._run = config, run
        self._share = (accelerator.process_index, accelerator.num_processes)
        self._evaluator: Evaluator | None = None

    def __enter__(self) -> MultiTaskSelector:
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

    def measure(self) -> dict[str, float]:
        """Return the development metrics of the current weights."""
        try:
            return metrics(self._reduced(self._sums()))
        except torch.OutOfMemoryError as error:
            raise AdmiralError(
                "memory ran out in evaluation. Lower eval_beams, proof_beams or the batch sizes. "
                "The same command continues from the last saved state."
            ) from error

    def card(self, devices: str) -> str:
        """Return the model card."""
        run = self._run
        files = [run.base, run.train.source, *([run.dev.source] if run.dev else [])]
        base, model_type = run.start.name, run.start.model.config.model_type
        return model_card(self._config, run.tasks, base, model_type, files, run.state, devices)

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the checkpoint."""
        start = self._run.start
        save_checkpoint(folder, start.model, start.head, start.tokenizer, dtype)

    def _sums(self) -> MetricSums:
        run = self._run
        assert run.dev is not None
        assert self._evaluator is not None
        run.module.eval()
        config = self._config
        batches = one_epoch(run.dev.items, config.batch_tokens, config.rerank_tokens, 0)
        with self._accelerator.autocast():
            sums = development_losses(
                run.module,
                batches[self._share[0] :: self._share[1]],
                run.start.tokens.pad,
                run.start.tokens.start,
                self._accelerator.device,
            )
        sums |= self._evaluator.sums()
        run.module.train()
        return sums

    def _reduced(self, sums: MetricSums) -> MetricSums:
        """Add the sums of all processes."""
        values = torch.tensor(list(sums.values()), device=self._accelerator.device)
        rows = self._accelerator.reduce(values, "sum").tolist()
        return {name: (total, count) for name, (total, count) in zip(sums, rows, strict=True)}
