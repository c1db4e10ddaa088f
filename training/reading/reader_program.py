"""Training of the natural-logic reader: its settings, its loss, its measures and its directory.

The loss is that of the verdict by the automaton and of the verdict by the whole head, which the
automaton is drawn towards: it must find out which spans decide, and alone learns less. Where
operators of spans are known, their loss is added, and so are those of what each sentence does to
the claim, of which sentences spans quote, and of the places in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import torch
from accelerate import Accelerator
from pydantic import Field
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from admiral.settings import Name
from proofs.reader.inputs import MAX_LENGTH, ReaderEncoder
from proofs.reader.model import NaturalLogicReader, ReaderOutput, new_reader
from training.loop import Count, MaxLength, Rate
from training.loop.run_files import SourceFile
from training.loop.training_loop import parameter_groups
from training.reading import (
    ANY_OPERATOR,
    ReadingBatch,
    ReadingExample,
    collate,
    encoded_by,
)
from training.reading.adapters import load_reader, with_adapters, write_reader
from training.verification import UNKNOWN, marginal_losses
from training.verification.example_program import (
    ExampleProgram,
    ExampleSettings,
    right_and_known,
)


class ReaderConfig(ExampleSettings):
    """Settings of a training run of the natural-logic reader."""

    headings: ClassVar[dict[str, str]] = {
        "base": "Files",
        "heads": "Model",
        "canonical_values": "Examples",
    }
    base: Name = "runs/base"
    """Directory of the pretrained encoder."""
    start: str = ""
    """Directory of the trained reader to start from; empty: none."""
    out: Name = "runs/reader"

    heads: Literal["both", "automaton", "whole"] = "both"
    """Heads that are trained.

    - `both`: the automaton, and the whole head that it is drawn towards
    - `automaton`: the automaton alone
    - `whole`: the whole head; the automaton follows it, without any say in the encoder
    """
    rank: Annotated[int, Field(ge=0, le=1024)] = 16
    """Rank of the adapters of all linear layers of the encoder; 0: its weights are trained."""

    max_length: MaxLength = MAX_LENGTH
    canonical_values: bool = True
    """Whether numbers, dates, amounts and units are read in one canonical form."""

    steps: Count = 20_000
    batch_tokens: Count = 1536
    lr: Rate = 3e-4
    lr_schedule: Literal["linear", "cosine", "constant"] = "constant"
    best_metric: Annotated[str, Field(pattern=r"^(score|loss|[^/]+/(accuracy|pairs))$")] = "score"
    """Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`."""
    save_every: Count = 150
    tracker: Name = "none"


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


class ReaderProgram(ExampleProgram[ReadingExample]):
    """Trains a natural-logic reader on examples."""

    settings = ReaderConfig
    product = "reader"
    loss_kinds = ("reader",)
    heads = ("", "whole_")  # the automaton, and the whole head
    counts = ("spans", "sentences", "begins")
    score = "accuracy"
    tag = "natural-logic"

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
        encoder = ReaderEncoder.of(
            tokenizer, config.max_length, canonical_values=config.canonical_values
        )
        self._pad, self._rank = encoder.special.pad, config.rank
        self._base = SourceFile.of("encoder", base / "model.safetensors")
        self.introduction = (
            f"Adapters and heads of a natural-logic reader for AdMIRaL {admiral.__version__}, on "
            f"the encoder {base.name}: it reads a claim with up to six titled sentences, and "
            "gives each span of the claim an operator and a quotation. The verdict is what the "
            "automaton makes of the operators."
        )
        super().__init__(
            config,
            accelerator,
            encoder,
            encoded_by(encoder),
            [self._base, *started],
            {
                **config.model_dump(include={"rank", "heads", "canonical_values"}),
                "base": self._base.sha256,
                "start": [file.sha256 for file in started],
            },
        )
        self.module: ReaderLoss = ReaderLoss(reader, config.heads)
        of_encoder = [p for p in reader.encoder.parameters() if p.requires_grad]
        self.groups = parameter_groups(self.module, of_encoder, config.lr, config.head_lr)

    def collate(self, items: Any) -> ReadingBatch:
        """Return a padded batch."""
        return collate(items, self._pad)

    def rows(self, batch: ReadingBatch) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return the verdicts of both heads, and what is right of operators, sentences, places."""
        output = self.module.output(batch)
        first = _in_evidence(output.begins, batch).argmax(-1, keepdim=True)
        counts = [
            *right_and_known(output.operators, batch.operators, ANY_OPERATOR),
            *right_and_known(output.sentences, batch.sentences, UNKNOWN),
            batch.begins.gather(-1, first).sum((1, 2)),
            batch.begins.any(-1).sum(1),
        ]
        return [output.verdicts, output.whole.log_softmax(-1)], counts

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the adapters and the heads."""
        write_reader(folder, self.module.reader, self._base.sha256, self._rank, dtype)
