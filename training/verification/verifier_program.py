"""Training of the verifier: its settings, its loss, its measures and its directory.

The loss is that of labels of the whole, of sentences and of the tokens of claims. A source with
examples labelled ``not_entailment`` is measured with two classes, entailment or not.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from accelerate import Accelerator
from pydantic import Field
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from admiral.settings import Name
from proofs.verifier.classifier_verifier import (
    HEADS,
    EvidenceModel,
    new_model,
    pad_inputs,
    padded_positions,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import EvidenceEncoder, EvidenceInput
from training.data.examples import Example
from training.loop import Count, CountOrNone, Dropout
from training.loop.run_files import SourceFile
from training.loop.training_loop import parameter_groups
from training.verification import POSSIBLE, UNKNOWN, Encoded, marginal_losses, padded_labels
from training.verification.example_program import (
    ExampleProgram,
    ExampleSettings,
    right_and_known,
)


class VerifierConfig(ExampleSettings):
    """Settings of a training run of the verifier."""

    headings: ClassVar[dict[str, str]] = {"start": "Files", "dropout": "Optimisation"}
    start: Name = "runs/bge-small"
    """Directory of the encoder or verifier to start from."""
    out: Name = "runs/verifier"
    steps: Count = 6000
    warmup_steps: CountOrNone = 300
    dropout: Dropout = 0.1
    """Dropout of hidden states."""
    best_metric: Annotated[
        str, Field(pattern=r"^(score|loss|[^/]+/(accuracy|macro_f1|auc|pairs))$")
    ] = "score"
    """Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedExample(Encoded):
    """An example for the verifier (see `EvidenceInput`)."""

    claim: int
    tokens: array[int]  # possible labels of each token of the claim

    @property
    def segments(self) -> list[int]:
        """The segment of each token."""
        return [0] * self.claim + [1] * (len(self.ids) - self.claim)


@dataclass(frozen=True, slots=True)
class ExampleBatch:
    """Padded examples."""

    # inputs of the model, (examples, length)
    ids: Tensor
    mask: Tensor
    segments: Tensor
    labels: Tensor  # possible labels of the whole, (examples,)
    # positions and possible labels of sentences, (examples, most sentences)
    markers: Tensor
    sentences: Tensor
    # positions and possible labels of the tokens of claims, (examples, most tokens)
    tokens: Tensor
    token_labels: Tensor


def encoded(example: Example, read: EvidenceInput) -> EncodedExample:
    """Return an example as numbers; `read` is its input."""
    spans = example.spans
    if not spans and example.label == "entailment":
        spans = ((0, len(example.claim), "entailment"),)
    tokens = array("B", [_token_label(offsets, spans) for offsets in read.offsets])
    return EncodedExample(**Encoded.fields_of(example, read), claim=read.claim, tokens=tokens)


def _token_label(offsets: tuple[int, int], spans: Sequence[tuple[int, int, str]]) -> int:
    for begin, end, name in spans:
        if offsets[0] < end and begin < offsets[1]:
            return POSSIBLE[name]
    return UNKNOWN


def collate(items: Sequence[EncodedExample], pad: int) -> ExampleBatch:
    """Pad examples to a batch; `pad` is the id of the padding token."""
    markers, _ = padded_positions([i.markers.tolist() for i in items])
    tokens, _ = padded_positions([list(range(i.claim, i.claim + len(i.tokens))) for i in items])
    return ExampleBatch(
        *pad_inputs([i.ids.tolist() for i in items], [i.segments for i in items], pad),
        torch.tensor([i.label for i in items]),
        markers,
        padded_labels([i.sentences for i in items]),
        tokens,
        padded_labels([i.tokens for i in items]),
    )


#: Weights of the losses of sentences and of tokens, beside 1 for the whole.
SENTENCE_WEIGHT, TOKEN_WEIGHT = 0.5, 0.3


class VerifierLoss(nn.Module):
    """A verifier with its loss.

    `model`: the verifier; its weights are trained in place. `dropout`: probability of the dropout
    of hidden states. Attention weights have none.
    """

    def __init__(self, model: EvidenceModel, dropout: float) -> None:
        super().__init__()
        self.model = model
        for name, module in model.named_modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0 if "attention.self" in name else dropout

    def forward(self, batch: ExampleBatch) -> Tensor:
        """Return the mean loss of a batch."""
        whole, sentences, tokens = self.scores(batch)
        loss = marginal_losses(whole, batch.labels).mean()
        for logits, labels, weight in (
            (sentences, batch.sentences, SENTENCE_WEIGHT),
            (tokens, batch.token_labels, TOKEN_WEIGHT),
        ):
            known = (labels != UNKNOWN).sum().clamp(min=1)
            loss = loss + weight * marginal_losses(logits, labels).sum() / known
        return loss

    def scores(self, batch: ExampleBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the whole, of sentences and of tokens, (examples, ..., 3)."""
        whole, sentences, tokens = self.model(batch.ids, batch.mask, batch.segments)
        return (
            whole.float(),
            _at(sentences, batch.markers).float(),
            _at(tokens, batch.tokens).float(),
        )


def _at(values: Tensor, positions: Tensor) -> Tensor:
    """Return the rows of `values`, (examples, length, 3), at positions, (examples, n)."""
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))


def open_start(
    start: Path, seed: int, max_length: int
) -> tuple[EvidenceModel, Any, EvidenceEncoder]:
    """Return the verifier in a directory, or a new one on the encoder there, and its tokenizer.

    Raises `AdmiralError` if there is none.
    """
    if not (start / "config.json").is_file():
        raise AdmiralError(
            f"start: {start}: there is no config.json; give the directory of an encoder or of a "
            f"verifier, or get one with python -m training base {start} --from NAME"
        )
    try:
        is_verifier = (start / HEADS).is_file()
        model, tokenizer = read_model(start) if is_verifier else new_model(start, seed)
        return model, tokenizer, EvidenceEncoder.of(tokenizer, max_length)
    except ValueError as error:
        raise AdmiralError(str(error)) from error


class VerifierProgram(ExampleProgram[EncodedExample]):
    """Trains a verifier on examples."""

    settings = VerifierConfig
    product = "verifier"
    loss_kinds = ("verifier",)
    counts = ("sentences", "tokens")
    score = "macro_f1"
    tag = "natural-language-inference"

    def __init__(self, config: VerifierConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self.start = start = Path(config.start)
        model, self._tokenizer, self._encoder = open_start(start, config.seed, config.max_length)
        if accelerator.device.type == "cpu":
            # Its backward pass is faster there.
            model.classifier.set_attn_implementation("eager")
        origin = SourceFile.of("start from", start / "model.safetensors")
        self.introduction = (
            f"A verifier for AdMIRaL {admiral.__version__}, started from {start.name}: it reads a "
            "claim with up to six titled sentences of evidence, and estimates how likely the "
            "evidence entails the claim, contradicts it, or does neither. "
            f"`{HEADS}` holds two more heads, which say the same of each sentence and of each "
            "token of the claim."
        )
        super().__init__(
            config, accelerator, self._encoder, encoded, [origin], {"start": origin.sha256}
        )
        self.module: VerifierLoss = VerifierLoss(model, config.dropout)
        self.groups = parameter_groups(
            self.module, model.encoder_parameters(), config.lr, config.head_lr
        )

    def collate(self, items: Any) -> ExampleBatch:
        """Return a padded batch."""
        return collate(items, self._encoder.special.pad)

    def rows(self, batch: ExampleBatch) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return the logits of the whole, and the right and known labels of the parts."""
        whole, sentences, tokens = self.module.scores(batch)
        right = right_and_known(sentences, batch.sentences, UNKNOWN)
        return [whole], [*right, *right_and_known(tokens, batch.token_labels, UNKNOWN)]

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        length = self._config.max_length
        write_model(folder, self.module.model, self._tokenizer, dtype, length)
