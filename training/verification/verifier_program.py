"""Training of the verifier: its loss, its measures, its directory and model card.

The loss is that of labels of the whole, of sentences and of the tokens of claims. A source with
examples labelled ``not_entailment`` is measured with two classes, entailment or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import (
    HEADS,
    EvidenceModel,
    new_model,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.data.examples import NOT_ENTAILMENT
from training.loop.model_card import SourceFile
from training.loop.run_files import TrainingState
from training.loop.training_loop import parameter_groups
from training.verification import (
    UNKNOWN,
    EncodedExample,
    ExampleBatch,
    ExampleSet,
    collate,
    read_example_set,
)
from training.verification.example_program import (
    ExampleEvaluator,
    ExampleProgram,
    right_and_known,
    share_of_groups,
)
from training.verification.verifier_settings import VerifierConfig

#: Weights of the losses of sentences and of tokens, beside 1 for the whole.
SENTENCE_WEIGHT, TOKEN_WEIGHT = 0.5, 0.3
_POOL = 1 << 22  # random numbers that dropout draws from


class VerifierLoss(nn.Module):
    """A verifier with its loss.

    `model`: the verifier; its weights are trained in place. `dropout`: probability of the dropout
    of hidden states. Attention weights have none.
    """

    def __init__(self, model: EvidenceModel, dropout: float, seed: int = 0) -> None:
        super().__init__()
        self.model = model
        pool = DropoutPool(dropout, seed)
        for name, module in list(model.named_modules()):
            for child, layer in list(module.named_children()):
                if name.endswith("attention.self") and isinstance(layer, nn.Dropout):
                    layer.p = 0.0
                elif isinstance(layer, nn.Dropout):
                    setattr(module, child, PooledDropout(pool))

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


def marginal_losses(logits: Tensor, possible: Tensor) -> Tensor:
    """Return the negative log-probability that one of the possible answers holds.

    `logits`: (..., answers), such as those of `LABELS`, or log-probabilities. `possible`: possible
    answers as bits (see `training.verification.POSSIBLE`), (...).
    """
    bits = torch.arange(logits.shape[-1], device=possible.device)
    excluded = (possible[..., None] >> bits) & 1 == 0
    log_probabilities = logits.log_softmax(-1)
    return -log_probabilities.masked_fill(excluded, -torch.inf).logsumexp(-1)


class DropoutPool:
    """Random masks from which dropout takes a random part.

    On a processor, drawing a new mask costs as much as the layer it belongs to.
    """

    def __init__(self, probability: float, seed: int) -> None:
        self.probability = probability
        generator = torch.Generator().manual_seed(seed)
        kept = torch.rand(_POOL, generator=generator) >= probability
        self._values = kept / (1 - probability)
        self._as: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    def mask(self, values: Tensor) -> Tensor:
        """Return a mask of the shape of `values`."""
        key = values.dtype, values.device
        if key not in self._as:
            self._as[key] = self._values.to(values)
        pool, count = self._as[key], values.numel()
        if count > len(pool) // 2:
            pool = self._as[key] = pool.repeat(2 * count // len(pool) + 1)
        # From torch's generator, which is set before each batch: a resumed run draws the same.
        begin = int(torch.randint(len(pool) - count, ()))
        return pool[begin : begin + count].view(values.shape)


class PooledDropout(nn.Module):
    """Dropout with masks from a pool."""

    def __init__(self, pool: DropoutPool) -> None:
        super().__init__()
        self._pool = pool

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, some of them set to zero in training."""
        if not self.training or not self._pool.probability:
            return values
        return values * self._pool.mask(values)


METRICS = ("accuracy", "macro_f1", "auc", "ece")
_BINS = 10
_ENTAILMENT = LABELS.index("entailment")


def measure(labels: list[str], probabilities: np.ndarray) -> dict[str, float]:
    """Return the measures of examples.

    `probabilities`: probability of each of `LABELS`, (examples, 3).

    Measures: ``accuracy``; ``macro_f1``, the mean F1 of the classes that occur; ``auc``, the area
    under the ROC curve of entailment against the rest; and ``ece``, the expected calibration error
    of the most probable class. Without both entailment and another label, ``auc`` is left out.
    """
    entailed = probabilities[:, _ENTAILMENT]
    if NOT_ENTAILMENT in labels:
        probabilities = np.stack([entailed, 1 - entailed], axis=1)
        gold = np.array([label != "entailment" for label in labels], dtype=int)
    else:
        gold = np.array([LABELS.index(label) for label in labels])
    predicted = probabilities.argmax(1)
    values = {
        "accuracy": float((predicted == gold).mean()),
        "macro_f1": macro_f1(gold, predicted),
        "ece": calibration_error(probabilities.max(1), predicted == gold),
    }
    area = roc_area(entailed, np.array([label == "entailment" for label in labels]))
    return values | ({} if area is None else {"auc": area})


def macro_f1(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean F1 of the classes that occur among the gold ones."""
    scores = []
    for name in np.unique(gold):
        both = ((gold == name) & (predicted == name)).sum()
        scores.append(2 * both / ((gold == name).sum() + (predicted == name).sum()))
    return float(np.mean(scores))


def roc_area(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Return the area under the ROC curve; None without both classes."""
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return None
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    mean_ranks = counts.cumsum() - (counts - 1) / 2  # equal scores share a rank
    ranks = mean_ranks[group][positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def calibration_error(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the expected calibration error, in bins of equal width.

    `confidence`: probability of each prediction. `correct`: whether it is correct.
    """
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gaps = [
        abs(confidence[bins == number].sum() - correct[bins == number].sum())
        for number in range(_BINS)
    ]
    return float(sum(gaps) / len(confidence))


class VerifierEvaluator(ExampleEvaluator[EncodedExample]):
    """Measures a verifier on development examples."""

    columns = 7  # logits, and right and known labels of sentences and of tokens

    def __init__(
        self,
        dev: ExampleSet[EncodedExample],
        encoder: EvidenceEncoder,
        max_tokens: int,
        accelerator: Accelerator,
    ) -> None:
        super().__init__(dev, max_tokens, accelerator)
        self._encoder = encoder

    def metrics(self, module: VerifierLoss) -> dict[str, float]:
        """Return all metrics of the current weights.

        ``loss`` is the mean loss of the labels and ``score`` the mean of the macro-F1 of the
        sources. The others are ``SOURCE/METRIC``: those of `measure`; ``pairs``, the share of
        groups of several examples that are right throughout; and ``sentences`` and ``tokens``, the
        share of known labels of sentences and of tokens of the claim that are right. Sources whose
        examples have no label of the whole have only these two.
        """
        table = torch.from_numpy(self._table(module))
        probabilities = table[:, :3].softmax(1).numpy()
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = marginal_losses(table[:, :3], labels)[labels != UNKNOWN]
        by_source = {name: self._measured(name, probabilities, table) for name in self.sources}
        values = {
            "score": float(np.mean([m["macro_f1"] for m in by_source.values() if "macro_f1" in m])),
            "loss": float(losses.mean()),
        }
        for name in (*METRICS, "pairs", "sentences", "tokens"):
            of_sources = [each[name] for each in by_source.values() if name in each]
            if of_sources:
                values[f"mean_{name}"] = float(np.mean(of_sources))
        for name, each in by_source.items():
            values |= {f"{name}/{metric}": value for metric, value in each.items()}
        return values

    def _measured(self, source: str, probabilities: np.ndarray, table: Tensor) -> dict[str, float]:
        dev = self._dev
        at = [n for n, example in enumerate(dev.examples) if example.source == source]
        labelled = [n for n in at if dev.items[n].label != UNKNOWN]
        values = {}
        if labelled:
            values = measure([dev.examples[n].label for n in labelled], probabilities[labelled])
        pairs = share_of_groups(
            [dev.examples[n] for n in labelled],
            [dev.items[n] for n in labelled],
            probabilities[labelled],
        )
        if pairs is not None:
            values["pairs"] = pairs
        for name, column in (("sentences", 3), ("tokens", 5)):
            right, known = table[at, column].sum(), table[at, column + 1].sum()
            if known:
                values[name] = float(right / known)
        return values

    def _rows(self, module: VerifierLoss, items: Sequence[EncodedExample]) -> Tensor:
        batch = self._moved(collate(items, self._encoder))
        whole, sentences, tokens = module.scores(batch)
        counts = (
            *right_and_known(sentences, batch.sentences, UNKNOWN),
            *right_and_known(tokens, batch.token_labels, UNKNOWN),
        )
        return torch.cat([whole, torch.stack(counts, dim=1)], dim=1)


class VerifierProgram(ExampleProgram[EncodedExample]):
    """Trains a verifier on examples."""

    product = "verifier"
    loss_kinds = ("verifier",)

    def __init__(self, config: VerifierConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self.start = start = Path(config.start)
        if not (start / "config.json").is_file():
            raise AdmiralError(
                f"start: {start}: there is no model; give the directory of an encoder or of a "
                f"verifier, or get one with python -m training base {start} --from NAME"
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
        origin = SourceFile.of("start from", start / "model.safetensors")
        read = partial(read_example_set, encoder=encoder)
        super().__init__(config, read, [origin], {"start": origin.sha256})
        self.module: VerifierLoss = VerifierLoss(model, config.dropout, config.seed)
        self.groups = parameter_groups(
            self.module, model.encoder_parameters(), config.lr, config.head_lr
        )
        if self._dev is not None:
            tokens = config.batch_tokens
            self._evaluator = VerifierEvaluator(self._dev, encoder, tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no examples for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )

    def collate(self, items: Any) -> ExampleBatch:
        """Return a padded batch."""
        return collate(items, self._encoder)

    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card."""
        introduction = (
            f"A verifier for AdMIRaL {admiral.__version__}, started from {self.start.name}: it "
            "reads a claim with up to six titled sentences of evidence, and estimates how likely "
            "the evidence entails the claim, contradicts it, or does neither. "
            f"`{HEADS}` holds two more heads, which say the same of each sentence and of each "
            "token of the claim."
        )
        return self._card(state, devices, introduction, "natural-language-inference")

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        length = self._config.max_length
        write_model(folder, self.module.model, self._tokenizer, dtype, length)
