"""Training of the verifier."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.scheduling.memory import is_out_of_memory
from proofs.verifier.classifier_files import write_classifier
from training.loop.batch_splitting import seed_passes
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.run_output import RunOutput
from training.loop.trainer import Trainer, run_training
from training.pair_classifier.card import verifier_card
from training.pair_classifier.evaluation import PairEvaluator
from training.pair_classifier.pair_batches import EncodedPair, batches_of_pairs, collate_pairs
from training.pair_classifier.pair_run import PairRun, open_pair_run
from training.pair_classifier.verifier_settings import VerifierConfig


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
        In the same cases as `run_training`.
    """

    def open_trainer(accelerator: Accelerator, output: RunOutput, _: ExitStack) -> PairTrainer:
        run = open_pair_run(config, accelerator, output, overwrite)
        selector = VerifierSelector(config, accelerator, output, run)
        return PairTrainer(config, accelerator, output, run, selector)

    run_training(config, open_trainer)


class VerifierSelector(CheckpointSelector):
    """Evaluate a run and export its verifier."""

    def __init__(
        self, config: VerifierConfig, accelerator: Accelerator, output: RunOutput, run: PairRun
    ) -> None:
        super().__init__(config, accelerator, output, run)
        self._config, self._run = config, run
        self._evaluator: PairEvaluator | None = None
        if run.dev is not None:
            self._evaluator = PairEvaluator(run.dev, run.encoder, config.batch_tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no pairs for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )

    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights on the development pairs."""
        assert self._evaluator is not None
        values = self._evaluator.metrics(self._run.module)
        if self._config.best_metric not in values:
            raise AdmiralError(
                f"{self._config.dev}: {self._config.best_metric!r} cannot be measured on pairs of "
                "one label"
            )
        return values

    def card(self, devices: str) -> str:
        """Return the model card."""
        run = self._run
        return verifier_card(self._config, run.base, run.train, run.dev, run.state, devices)

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        write_classifier(folder, self._run.files, dtype, self._run.max_length)


class PairTrainer(Trainer):
    """Train a verifier on pairs of claim and evidence."""

    product = "verifier"
    loss_kinds = ("pairs",)
    reported_group = 0  # of the encoder

    def __init__(
        self,
        config: VerifierConfig,
        accelerator: Accelerator,
        output: RunOutput,
        run: PairRun,
        selector: CheckpointSelector,
    ) -> None:
        super().__init__(config, accelerator, output, run, selector)
        self._encoder = run.encoder
        # The batches of this process with their positions in the common stream.
        stream = batches_of_pairs(run.train.items, config.batch_tokens, config.seed)
        begin = run.state.position + accelerator.process_index
        self._batches = islice(enumerate(stream), begin, None, accelerator.num_processes)

    def accumulate_gradients(self) -> None:
        """Run the passes of a step."""
        settings = self._settings
        for position, items in islice(self._batches, settings.gradient_accumulation_steps):
            seed_passes(settings.seed, position)
            self._meter.add("pairs", self._run_batch(items))

    def _run_batch(self, items: list[EncodedPair]) -> torch.Tensor:
        batch = collate_pairs(items, self._encoder)
        try:
            return self._pass(batch, self._accelerator.device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise AdmiralError(
                f"memory ran out with a batch of {batch.ids.numel():,} tokens. Lower batch_tokens "
                "and raise gradient_accumulation_steps, in a new `out`."
            ) from error
