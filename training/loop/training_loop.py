"""Training of the multi-task model: the retriever, the reranker and the prover."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from accelerate import Accelerator

from training.data.batch_loading import Loader, batches_of
from training.data.batches import Batch, Counts, moved
from training.loop.batch_splitting import BatchSplitter
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.losses import KINDS, kind_of
from training.loop.multitask_selection import MultiTaskSelector
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.run_setup import MultiTaskRun, open_run
from training.loop.trainer import Trainer, run_training


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
        In the same cases as `run_training`.
    """

    def open_trainer(
        accelerator: Accelerator, output: RunOutput, stack: ExitStack
    ) -> MultiTaskTrainer:
        run = open_run(config, tasks, accelerator, output, overwrite)
        selector = stack.enter_context(MultiTaskSelector(config, accelerator, output, run))
        loader = stack.enter_context(_loader(config, accelerator, run))
        return MultiTaskTrainer(config, accelerator, output, run, selector, loader)

    run_training(config, open_trainer, config.push_to_hub)


def _loader(config: TrainConfig, accelerator: Accelerator, run: MultiTaskRun) -> Loader:
    """Return the loader of the batches that the run has not consumed."""
    return Loader(
        batches_of(run.train.items, config.batch_tokens, config.rerank_tokens, config.seed),
        run.start.tokens.pad,
        run.start.tokens.start,
        position=run.state.position,
        share=(accelerator.process_index, accelerator.num_processes),
        device=accelerator.device,
    )


class MultiTaskTrainer(Trainer):
    """Train a multi-task model on generation and reranking batches."""

    product = "checkpoint"
    loss_kinds = KINDS
    reported_group = 1  # of the decoder

    def __init__(
        self,
        config: TrainConfig,
        accelerator: Accelerator,
        output: RunOutput,
        run: MultiTaskRun,
        selector: CheckpointSelector,
        loader: Loader,
    ) -> None:
        super().__init__(config, accelerator, output, run, selector)
        self._loader = loader
        self._splitter = BatchSplitter(run.start.tokens.pad, run.start.tokens.start, config.seed)

    def accumulate_gradients(self) -> None:
        """Run the passes of a step, in parts where memory runs out."""
        micro_batches = self._loader.take(self._settings.gradient_accumulation_steps)
        losses = self._splitter.run(micro_batches, self._run_batch, self._optimizer.zero_grad)
        for micro_batch, loss in zip(micro_batches, losses, strict=True):
            self._meter.add(kind_of(micro_batch.batch), loss)

    def _run_batch(self, batch: Batch, counts: Counts) -> torch.Tensor:
        return self._pass(moved(batch, self._accelerator.device), counts)
