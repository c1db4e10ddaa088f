"""Training of the verifier: its examples, its measures, its directory and model card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData

import admiral
from admiral.errors import AdmiralError
from proofs.verifier.evidence_model import HEADS, new_model, read_model, write_model
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.data.examples import NON_COMMERCIAL, summary_by_source
from training.loop.loop_settings import values_of
from training.loop.optimisation import parameter_groups
from training.loop.run_files import SourceFile, TrainingState, markdown_table, render_card
from training.loop.training_loop import Program, run_training
from training.verification.example_batches import (
    Counts,
    EncodedExample,
    ExampleBatch,
    ExampleSet,
    batches_of,
    collate,
    read_example_set,
)
from training.verification.verifier_loss import ExampleEvaluator, VerifierLoss
from training.verification.verifier_settings import VerifierConfig, paths_of, weights_of

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length", "weights")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_examples")
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "examples", "dev"}


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
    run_training(
        config, lambda accelerator, _: VerifierProgram(config, accelerator), overwrite=overwrite
    )


class VerifierProgram(Program):
    """Trains a verifier on examples.

    Raises
    ------
    AdmiralError
        For bad input.
    """

    product = "verifier"
    loss_kinds = ("verifier",)
    reported_group = 0  # of the encoder
    lengths = "max_length"

    def __init__(self, config: VerifierConfig, accelerator: Accelerator) -> None:
        self._config = config
        self.start = start = Path(config.start)
        if not (start / "config.json").is_file():
            raise AdmiralError(
                f"start: {start}: there is no model; import one with training.import_onnx, or give "
                "the directory of an encoder or a verifier"
            )
        try:
            is_verifier = (start / HEADS).is_file()
            model, self._tokenizer = (
                read_model(start) if is_verifier else new_model(start, config.seed)
            )
            if accelerator.device.type == "cpu":
                # Its backward pass is faster there.
                model.classifier.set_attn_implementation("eager")
            self._encoder = encoder = EvidenceEncoder.of(self._tokenizer, config.max_length)
        except ValueError as error:
            raise AdmiralError(str(error)) from error
        weights = weights_of(config.weights)
        paths = paths_of(config.examples)
        self._train = read_example_set("train", paths, encoder, weights=weights)
        self._dev: ExampleSet | None = None
        if config.dev:
            paths, limit = paths_of(config.dev), config.eval_examples
            self._dev = read_example_set("evaluate", paths, encoder, limit, config.seed)
        self._base = SourceFile.of("start from", start / "model.safetensors")
        self.fixed = values_of(config, _FIXED_SETTINGS) | {
            "start": self._base.sha256,
            "examples": [file.sha256 for file in self._train.files],
        }
        self.selection = values_of(config, _SELECTION_SETTINGS) | {
            "dev": [file.sha256 for file in self._dev.files] if self._dev else None
        }
        self.module: VerifierLoss = VerifierLoss(model, config.dropout, config.seed)
        self.groups = parameter_groups(
            self.module, model.encoder_parameters(), config.lr, config.head_lr
        )
        counts = [(n, name) for file in self._train.files for name, n in file.samples.items()]
        self.summary = "examples: " + ", ".join(f"{n:,} {name}" for n, name in counts)
        self._evaluator: ExampleEvaluator | None = None
        if self._dev is not None:
            tokens = config.batch_tokens
            self._evaluator = ExampleEvaluator(self._dev, encoder, tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no examples for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )

    def batches(self) -> Iterator[list[EncodedExample]]:
        """Yield the examples of batches forever."""
        return batches_of(self._train, self._config.batch_tokens, self._config.seed)

    def collate(self, items: Any) -> ExampleBatch:
        """Return a padded batch."""
        return collate(items, self._encoder)

    def counts(self, items: Any) -> Counts:
        """Return the numbers of examples and of known labels."""
        return Counts.of(items)

    def cost(self, items: Any) -> int:
        """Return the number of padded tokens of a batch."""
        return len(items) * max(len(item.ids) for item in items)

    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights on the development examples."""
        assert self._evaluator is not None
        values = self._evaluator.metrics(self.module)
        if self._config.best_metric not in values:
            raise AdmiralError(
                f"{self._config.dev}: {self._config.best_metric!r} cannot be measured there"
            )
        return values

    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card: use, examples by source, scores and settings."""
        config, train = self._config, self._train
        data = ModelCardData(
            library_name="transformers",
            pipeline_tag="text-classification",
            tags=["fact-verification", "natural-language-inference"],
        )
        settings = {k: v for k, v in asdict(config).items() if k not in _OMITTED}
        files = [self._base, *train.files, *(self._dev.files if self._dev else [])]
        used = sorted(NON_COMMERCIAL & {example.source for example in train.examples})
        introduction = [
            f"A verifier for AdMIRaL {admiral.__version__}, started from {self.start.name}: it "
            "reads a claim with up to six titled sentences of evidence, and estimates how likely "
            "the evidence entails the claim, contradicts it, or does neither. "
            f"`{HEADS}` holds two more heads, which say the same of each sentence and of each "
            "token of the claim.",
        ]
        by_source = summary_by_source(train.examples)
        trained_on = [
            *markdown_table(("source", "examples by label", "in an epoch"), by_source),
            "",
            f"Non-commercial sources: {', '.join(used) or 'none'}.",
            "",
            *markdown_table(
                ("file", "for", "examples", "sha256"),
                [(f.name, f.role, f"{sum(f.samples.values()):,}", f.sha256) for f in files],
            ),
        ]
        evaluated_on = f"on about {config.eval_examples} development examples of each source"
        return render_card(
            data, config, state, devices, introduction, trained_on, evaluated_on, settings
        )

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        length = self._config.max_length
        write_model(folder, self.module.model, self._tokenizer, dtype, length)
