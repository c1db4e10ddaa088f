"""Training of the natural-logic reader: its loss, its measures, its directory and model card.

The loss is that of the verdict by the automaton and of the verdict by the whole head, which the
automaton is drawn towards: it must find out which spans decide, and alone learns less. Where
operators of spans are known, their loss is added, and so are those of what each sentence does to
the claim and of which sentences spans quote.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from proofs.verifier.classifier_verifier import length_batches
from proofs.verifier.natural_logic_reader import (
    NaturalLogicReader,
    ReaderEncoder,
    ReaderOutput,
    new_reader,
)
from training.data.examples import NON_COMMERCIAL, summary_by_source
from training.loop import values_of
from training.loop.batch_loading import moved
from training.loop.run_files import SourceFile, TrainingState, markdown_table, render_card
from training.loop.training_loop import Program, parameter_groups, run_training
from training.reading import (
    ANY_OPERATOR,
    ReadingBatch,
    ReadingExample,
    collate,
    read_reading_set,
)
from training.reading.adapters import load_reader, with_adapters, write_reader
from training.reading.reader_settings import ReaderConfig
from training.verification import UNKNOWN, ExampleSet, batches_of
from training.verification.verifier_program import measure
from training.verification.verifier_settings import paths_of, weights_of

#: Weights of the losses beside 1 for a verdict: what draws the automaton towards the whole head,
#: operators of spans, sentences, quoted sentences.
DRAWN, SPANS, SENTENCES, QUOTED = 0.5, 0.4, 0.3, 0.2


def possible_losses(log_probabilities: Tensor, possible: Tensor) -> Tensor:
    """Return the negative log-probability that one of the possible answers holds, (...).

    `log_probabilities`: (..., answers). `possible`: possible answers as bits, (...).
    """
    bits = torch.arange(log_probabilities.shape[-1], device=possible.device)
    excluded = (possible[..., None] >> bits) & 1 == 0
    return -log_probabilities.masked_fill(excluded, -torch.inf).logsumexp(-1)


def _mean(losses: Tensor, known: Tensor) -> Tensor:
    return losses.masked_fill(~known, 0.0).sum() / known.sum().clamp(min=1)


class ReaderLoss(nn.Module):
    """A reader with its loss; `heads` are those that are trained (see `ReaderConfig`)."""

    def __init__(self, reader: NaturalLogicReader, heads: str) -> None:
        super().__init__()
        self.reader, self._heads = reader, heads

    def output(self, batch: ReadingBatch) -> ReaderOutput:
        """Return what the reader says of a batch."""
        output: ReaderOutput = self.reader(
            batch.ids,
            batch.mask,
            batch.spans,
            batch.markers,
            spans_teach=self._heads != "whole",
        )
        return output

    def forward(self, batch: ReadingBatch, counts: int) -> Tensor:
        """Return the mean loss of a batch, or the share of a part of one in it.

        `counts`: examples of the whole batch, so that the losses of its parts add up to its loss.
        """
        output = self.output(batch)
        whole = output.whole.log_softmax(-1)
        known = batch.labels != UNKNOWN
        present = batch.spans[..., 1] > 0
        loss = SENTENCES * _mean(
            possible_losses(output.sentences.log_softmax(-1), batch.sentences),
            batch.sentences != UNKNOWN,
        )
        if self._heads != "automaton":
            loss = loss + _mean(possible_losses(whole, batch.labels), known)
        loss = loss + _mean(possible_losses(output.verdicts, batch.labels), known)
        loss = loss + SPANS * _mean(
            possible_losses(output.operators, batch.operators),
            (batch.operators != ANY_OPERATOR) & present,
        )
        quoted = (
            output.quoted.log_softmax(-1)
            .masked_fill(~batch.quotable[:, None], -torch.inf)
            .logsumexp(-1)
        )
        can_quote = batch.quotable.any(-1) & (batch.labels & 0b101 == batch.labels)
        loss = loss + QUOTED * _mean(-quoted, can_quote[:, None] & present)
        if self._heads != "automaton":
            teacher = whole.detach()
            drawn = (teacher.exp() * (teacher - output.verdicts)).sum(-1)
            loss = loss + DRAWN * drawn.mean()
        return loss * len(batch.labels) / counts


class ReaderEvaluator:
    """Measures a reader on development examples, which the processes of a run share."""

    def __init__(
        self,
        dev: ExampleSet[ReadingExample],
        encoder: ReaderEncoder,
        max_tokens: int,
        accelerator: Accelerator,
    ) -> None:
        self._dev, self._pad, self._accelerator = dev, encoder.special.pad, accelerator
        self._batches = length_batches([len(item.ids) for item in dev.items], max_tokens)
        self.sources = sorted({example.source for example in dev.examples})

    def metrics(self, module: ReaderLoss) -> dict[str, float]:
        """Return all metrics of the current weights.

        ``loss`` is the mean loss of the verdicts by the automaton and ``score`` the mean accuracy
        of the sources. ``SOURCE/METRIC`` are those of `training.verification`, by the automaton;
        with ``whole_`` before the metric, by the whole head. ``spans`` is the share of known
        operators of spans that are right.
        """
        table = torch.from_numpy(self._table(module))
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = possible_losses(table[:, :3], labels)[labels != UNKNOWN]
        values = {"score": 0.0, "loss": float(losses.mean())}
        for name in self.sources:
            at = [n for n, e in enumerate(self._dev.examples) if e.source == name]
            values |= {f"{name}/{k}": v for k, v in self._measured(at, table[at]).items()}
        scores = [v for k, v in values.items() if k.endswith("/accuracy")]
        values["score"] = float(np.mean(scores))
        return values

    def _measured(self, at: list[int], table: Tensor) -> dict[str, float]:
        dev = self._dev
        labelled = [row for row, n in enumerate(at) if dev.items[n].label != UNKNOWN]
        names = [dev.examples[at[row]].label for row in labelled]
        values: dict[str, float] = {}
        for prefix, columns in (("", slice(0, 3)), ("whole_", slice(3, 6))):
            probabilities = table[labelled, columns].exp().numpy()
            if names:
                found = measure(names, probabilities)
                values |= {f"{prefix}{k}": found[k] for k in ("accuracy", "auc") if k in found}
            groups: defaultdict[str, list[bool]] = defaultdict(list)
            for row, chances in zip(labelled, probabilities, strict=True):
                item = dev.items[at[row]]
                if group := dev.examples[at[row]].group:
                    groups[group].append(bool(item.label >> int(chances.argmax()) & 1))
            pairs = [all(rights) for rights in groups.values() if len(rights) > 1]
            if pairs:
                values[f"{prefix}pairs"] = float(np.mean(pairs))
        for name, column in (("spans", 6), ("sentences", 8)):
            right, known = table[:, column].sum(), table[:, column + 1].sum()
            if known:
                values[name] = float(right / known)
        return values

    @torch.no_grad()
    def _table(self, module: ReaderLoss) -> np.ndarray:
        """Return both heads' log-probabilities, and right and known answers, (examples, 10)."""
        accelerator = self._accelerator
        table = torch.zeros(len(self._dev.items), 10, device=accelerator.device)
        module.eval()
        with accelerator.autocast():
            for at in self._batches[accelerator.process_index :: accelerator.num_processes]:
                batch = collate([self._dev.items[n] for n in at], self._pad)
                batch = moved(batch, accelerator.device)
                output = module.output(batch)
                table[at, :3] = output.verdicts
                table[at, 3:6] = output.whole.log_softmax(-1)
                for column, scores, possible, unknown in (
                    (6, output.operators, batch.operators, ANY_OPERATOR),
                    (8, output.sentences, batch.sentences, UNKNOWN),
                ):
                    known = possible != unknown
                    right = (possible >> scores.argmax(-1)) & 1 == 1
                    table[at, column] = (right & known).sum(1).float()
                    table[at, column + 1] = known.sum(1).float()
        module.train()
        summed: np.ndarray = accelerator.reduce(table, "sum").double().cpu().numpy()
        return summed


# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = (
    "seed",
    "batch_tokens",
    "max_length",
    "weights",
    "rank",
    "heads",
    "canonical_values",
)
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_examples")
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "examples", "dev"}
_OMITTED |= {"base"}


def train_reader(config: ReaderConfig, *, overwrite: bool = False) -> None:
    """Train a reader, continuing from the saved state of the same run if there is one.

    `config`: validated settings (see `Settings.read`). `overwrite`: start a new run and
    replace the one in `out`.

    Raises `AdmiralError` in the same cases as `run_training`.
    """
    run_training(
        config, lambda accelerator, _: ReaderProgram(config, accelerator), overwrite=overwrite
    )


class ReaderProgram(Program):
    """Trains a natural-logic reader on examples.

    Raises `AdmiralError` for bad input.
    """

    product = "reader"
    loss_kinds = ("reader",)
    reported_group = 0  # of the encoder
    lengths = "max_length"

    def __init__(self, config: ReaderConfig, accelerator: Accelerator) -> None:
        self._config = config
        self.start = base = Path(config.base)
        if not (base / "config.json").is_file():
            raise AdmiralError(
                f"base: {base}: there is no encoder; get it with python -m training.base {base}"
            )
        reader, self._tokenizer = new_reader(base, config.seed)
        if config.rank:
            with_adapters(reader, config.rank)
            if config.precision == "bf16":
                reader.encoder.bfloat16()
        self._base = SourceFile.of("encoder", base / "model.safetensors")
        started = []
        if config.start:
            load_reader(reader, Path(config.start))
            started = [SourceFile.of("start from", Path(config.start) / "model.safetensors")]
        self._started = started
        frozen = tuple(f"encoder.encoder.layer.{n}." for n in range(config.frozen_layers))
        for name, value in reader.named_parameters():
            if name.startswith(("encoder.embeddings.", *frozen)):
                value.requires_grad_(False)
            if value.requires_grad:
                value.data = value.data.float()
        for module in reader.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # few examples are seen twice
        self._encoder = encoder = ReaderEncoder.of(
            self._tokenizer, config.max_length, canonical_values=config.canonical_values
        )
        weights = weights_of(config.weights)
        paths = paths_of(config.examples)
        self._train = read_reading_set("train", paths, encoder, weights=weights)
        self._dev: ExampleSet[ReadingExample] | None = None
        if config.dev:
            paths, limit = paths_of(config.dev), config.eval_examples
            self._dev = read_reading_set("evaluate", paths, encoder, limit, config.seed)
        self.fixed = values_of(config, _FIXED_SETTINGS) | {
            "base": self._base.sha256,
            "start": [file.sha256 for file in started],
            "examples": [file.sha256 for file in self._train.files],
        }
        self.selection = values_of(config, _SELECTION_SETTINGS) | {
            "dev": [file.sha256 for file in self._dev.files] if self._dev else None
        }
        self.module: ReaderLoss = ReaderLoss(reader, config.heads)
        of_encoder = [p for p in reader.encoder.parameters() if p.requires_grad]
        self.groups = parameter_groups(self.module, of_encoder, config.lr, config.head_lr)
        for group in self.groups:
            group["params"] = [p for p in group["params"] if p.requires_grad]
        counts = [(n, name) for file in self._train.files for name, n in file.samples.items()]
        self.summary = "examples: " + ", ".join(f"{n:,} {name}" for n, name in counts)
        self._evaluator: ReaderEvaluator | None = None
        if self._dev is not None:
            tokens = config.batch_tokens
            self._evaluator = ReaderEvaluator(self._dev, encoder, tokens, accelerator)

    def batches(self) -> Iterator[list[ReadingExample]]:
        """Yield the examples of batches forever."""
        return batches_of(self._train, self._config.batch_tokens, self._config.seed)

    def collate(self, items: Any) -> ReadingBatch:
        """Return a padded batch."""
        return collate(items, self._encoder.special.pad)

    def counts(self, items: Any) -> int:
        """Return the number of examples."""
        return len(items)

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
            tags=["fact-verification", "natural-logic"],
        )
        settings = {k: v for k, v in config.model_dump().items() if k not in _OMITTED}
        files = [self._base, *self._started, *train.files, *(self._dev.files if self._dev else [])]
        used = sorted(NON_COMMERCIAL & {example.source for example in train.examples})
        introduction = [
            f"Adapters and heads of a natural-logic reader for AdMIRaL {admiral.__version__}, on "
            f"the encoder {self.start.name}: it reads a claim with up to six titled sentences, and "
            "gives each span of the claim an operator and a quotation. The verdict is what the "
            "automaton makes of the operators.",
        ]
        trained_on = [
            *markdown_table(
                ("source", "examples by label", "in an epoch"), summary_by_source(train.examples)
            ),
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
        """Write the adapters and the heads."""
        write_reader(folder, self.module.reader, self._base.sha256, self._config.rank, dtype)
