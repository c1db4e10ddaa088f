"""Training of the natural-logic reader: its loss, its measures, its directory and model card.

The loss is that of the verdict by the automaton and of the verdict by the whole head, which the
automaton is drawn towards: it must find out which spans decide, and alone learns less. Where
operators of spans are known, their loss is added, and so are those of what each sentence does to
the claim, of which sentences spans quote, and of the places in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from proofs.reader.inputs import ReaderEncoder
from proofs.reader.model import NaturalLogicReader, ReaderOutput, new_reader
from training.loop import values_of
from training.loop.model_card import SourceFile
from training.loop.run_files import TrainingState
from training.loop.training_loop import parameter_groups
from training.reading import (
    ANY_OPERATOR,
    ReadingBatch,
    ReadingExample,
    collate,
    read_reading_set,
)
from training.reading.adapters import load_reader, with_adapters, write_reader
from training.reading.reader_settings import ReaderConfig
from training.verification import UNKNOWN, ExampleSet
from training.verification.example_program import (
    ExampleEvaluator,
    ExampleProgram,
    marginal_losses,
    right_and_known,
)

#: Weights of the losses beside 1 for a verdict: what draws the automaton towards the whole head,
#: operators of spans, sentences, quoted sentences, first and last tokens of quotations.
DRAWN, SPANS, SENTENCES, QUOTED, PLACES = 0.5, 0.4, 0.3, 0.2, 0.05


def _mean(losses: Tensor, known: Tensor) -> Tensor:
    return losses.masked_fill(~known, 0.0).sum() / known.sum().clamp(min=1)


def _in_evidence(scores: Tensor, batch: ReadingBatch) -> Tensor:
    """Return the scores of tokens for quotations, without those of the claim."""
    positions = torch.arange(batch.ids.shape[1], device=batch.ids.device)
    return scores.masked_fill(positions >= batch.spans[:, :1, :1], -torch.inf)


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

    def forward(self, batch: ReadingBatch) -> Tensor:
        """Return the mean loss of a batch."""
        output = self.output(batch)
        known = batch.labels != UNKNOWN
        present = batch.spans[..., 1] > 0
        loss = SENTENCES * _mean(
            marginal_losses(output.sentences, batch.sentences),
            batch.sentences != UNKNOWN,
        )
        if self._heads != "automaton":
            loss = loss + _mean(marginal_losses(output.whole, batch.labels), known)
        loss = loss + _mean(marginal_losses(output.verdicts, batch.labels), known)
        loss = loss + SPANS * _mean(
            marginal_losses(output.operators, batch.operators),
            (batch.operators != ANY_OPERATOR) & present,
        )
        quoted = (
            output.quoted.log_softmax(-1)
            .masked_fill(~batch.quotable[:, None], -torch.inf)
            .logsumexp(-1)
        )
        for scores, possible in ((output.begins, batch.begins), (output.ends, batch.ends)):
            chosen = _in_evidence(scores, batch).log_softmax(-1)
            placed = chosen.masked_fill(~possible, -torch.inf).logsumexp(-1)
            loss = loss + PLACES * _mean(-placed, possible.any(-1))
        can_quote = batch.quotable.any(-1) & (batch.labels & 0b101 == batch.labels)
        loss = loss + QUOTED * _mean(-quoted, can_quote[:, None] & present)
        if self._heads != "automaton":
            teacher = output.whole.detach().log_softmax(-1)
            drawn = (teacher.exp() * (teacher - output.verdicts)).sum(-1)
            loss = loss + DRAWN * drawn.mean()
        return loss


class ReaderEvaluator(ExampleEvaluator[ReadingExample]):
    """Measures a reader on development examples."""

    # log-probabilities of the verdicts by both heads, and right and known operators, sentences and
    # first tokens of quotations
    columns = 12
    heads: ClassVar = {"": 0, "whole_": 3}  # the automaton, and the whole head
    counts: ClassVar = {"spans": 6, "sentences": 8, "begins": 10}
    score = "accuracy"

    def __init__(
        self,
        dev: ExampleSet[ReadingExample],
        encoder: ReaderEncoder,
        max_tokens: int,
        accelerator: Accelerator,
    ) -> None:
        super().__init__(dev, max_tokens, accelerator)
        self._pad = encoder.special.pad

    def _rows(self, module: ReaderLoss, items: Sequence[ReadingExample]) -> Tensor:
        batch = self._moved(collate(items, self._pad))
        output = module.output(batch)
        first = _in_evidence(output.begins, batch).argmax(-1, keepdim=True)
        counts = (
            *right_and_known(output.operators, batch.operators, ANY_OPERATOR),
            *right_and_known(output.sentences, batch.sentences, UNKNOWN),
            batch.begins.gather(-1, first).sum((1, 2)),
            batch.begins.any(-1).sum(1),
        )
        verdicts = [output.verdicts, output.whole.log_softmax(-1)]
        return torch.cat([*verdicts, torch.stack(counts, dim=1)], dim=1)


# Settings of the model that all parts of a run must agree on.
_FIXED_SETTINGS = ("rank", "heads", "canonical_values")


class ReaderProgram(ExampleProgram[ReadingExample]):
    """Trains a natural-logic reader on examples."""

    product = "reader"
    loss_kinds = ("reader",)

    def __init__(self, config: ReaderConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self.start = base = Path(config.base)
        if not (base / "config.json").is_file():
            raise AdmiralError(
                f"base: {base}: there is no encoder; get it with python -m training base {base}"
            )
        reader, tokenizer = new_reader(base, config.seed)
        if config.rank:
            with_adapters(reader, config.rank)
            if config.precision == "bf16":
                reader.encoder.bfloat16()
        started = []
        if config.start:
            load_reader(reader, Path(config.start))
            started = [SourceFile.of("start from", Path(config.start) / "model.safetensors")]
        for name, value in reader.named_parameters():
            if name.startswith("encoder.embeddings."):
                value.requires_grad_(False)
            if value.requires_grad:
                value.data = value.data.float()
        for module in reader.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # few examples are seen twice
        self._encoder = encoder = ReaderEncoder.of(
            tokenizer, config.max_length, canonical_values=config.canonical_values
        )
        self._base, self._rank = SourceFile.of("encoder", base / "model.safetensors"), config.rank
        origins = {"base": self._base.sha256, "start": [file.sha256 for file in started]}
        super().__init__(
            config,
            partial(read_reading_set, encoder=encoder),
            [self._base, *started],
            values_of(config, _FIXED_SETTINGS) | origins,
        )
        self.module: ReaderLoss = ReaderLoss(reader, config.heads)
        of_encoder = [p for p in reader.encoder.parameters() if p.requires_grad]
        self.groups = parameter_groups(self.module, of_encoder, config.lr, config.head_lr)
        if self._dev is not None:
            self._evaluator = ReaderEvaluator(self._dev, encoder, config.batch_tokens, accelerator)

    def collate(self, items: Any) -> ReadingBatch:
        """Return a padded batch."""
        return collate(items, self._encoder.special.pad)

    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card."""
        introduction = (
            f"Adapters and heads of a natural-logic reader for AdMIRaL {admiral.__version__}, on "
            f"the encoder {self.start.name}: it reads a claim with up to six titled sentences, and "
            "gives each span of the claim an operator and a quotation. The verdict is what the "
            "automaton makes of the operators."
        )
        return self._card(state, devices, introduction, "natural-logic")

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the adapters and the heads."""
        write_reader(folder, self.module.reader, self._base.sha256, self._rank, dtype)
