"""Training of the verifier: its loss, its measures, its directory and model card.

The loss is that of labels of the whole, of sentences and of the tokens of claims. A source with
examples labelled ``not_entailment`` is measured with two classes, entailment or not.
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
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import (
    HEADS,
    EvidenceModel,
    length_batches,
    new_model,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.data.examples import NON_COMMERCIAL, NOT_ENTAILMENT, summary_by_source
from training.loop import values_of
from training.loop.batch_loading import moved
from training.loop.run_files import SourceFile, TrainingState, markdown_table, render_card
from training.loop.training_loop import Program, parameter_groups, run_training
from training.verification import (
    UNKNOWN,
    Counts,
    EncodedExample,
    ExampleBatch,
    ExampleSet,
    batches_of,
    collate,
    read_example_set,
)
from training.verification.verifier_settings import VerifierConfig, paths_of, weights_of

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

    def forward(self, batch: ExampleBatch, counts: Counts) -> Tensor:
        """Return the mean loss of a batch; `counts`: what it is averaged over."""
        whole, sentences, tokens = self.scores(batch)
        loss = marginal_losses(whole, batch.labels).sum() / counts.examples
        for logits, labels, weight, known in (
            (sentences, batch.sentences, SENTENCE_WEIGHT, counts.sentences),
            (tokens, batch.token_labels, TOKEN_WEIGHT, counts.tokens),
        ):
            loss = loss + weight * marginal_losses(logits, labels).sum() / max(known, 1)
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
    """Return the negative log-probability that one of the possible labels holds.

    `logits`: (..., 3), in the order of `LABELS`. `possible`: possible labels as bits (see
    `training.verification.POSSIBLE`), (...).
    """
    bits = torch.arange(len(LABELS), device=possible.device)
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


class ExampleEvaluator:
    """Measures a model on development examples, which the processes of a run share."""

    def __init__(
        self,
        dev: ExampleSet[EncodedExample],
        encoder: EvidenceEncoder,
        max_tokens: int,
        accelerator: Accelerator,
    ) -> None:
        self._dev, self._encoder, self._accelerator = dev, encoder, accelerator
        self._batches = length_batches([len(item.ids) for item in dev.items], max_tokens)
        self.sources = sorted({example.source for example in dev.examples})

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
        groups: defaultdict[str, list[bool]] = defaultdict(list)
        for n in labelled:
            is_right = bool(dev.items[n].label >> int(probabilities[n].argmax()) & 1)
            if dev.examples[n].group:
                groups[dev.examples[n].group].append(is_right)
        whole = [all(rights) for rights in groups.values() if len(rights) > 1]
        if whole:
            values["pairs"] = float(np.mean(whole))
        for name, column in (("sentences", 3), ("tokens", 5)):
            right, known = table[at, column].sum(), table[at, column + 1].sum()
            if known:
                values[name] = float(right / known)
        return values

    @torch.no_grad()
    def _table(self, module: VerifierLoss) -> np.ndarray:
        """Return the logits, and right and known labels of sentences and tokens, (examples, 7)."""
        accelerator = self._accelerator
        table = torch.zeros(len(self._dev.items), 7, device=accelerator.device)
        module.eval()
        with accelerator.autocast():
            for positions in self._batches[accelerator.process_index :: accelerator.num_processes]:
                batch = collate([self._dev.items[at] for at in positions], self._encoder)
                batch = moved(batch, accelerator.device)
                whole, *others = module.scores(batch)
                table[positions, :3] = whole
                labels = (batch.sentences, batch.token_labels)
                for column, logits, possible in zip((3, 5), others, labels, strict=True):
                    right, known = _right_and_known(logits, possible)
                    table[positions, column] = right
                    table[positions, column + 1] = known
        module.train()
        summed: np.ndarray = accelerator.reduce(table, "sum").double().cpu().numpy()
        return summed


def _right_and_known(logits: Tensor, possible: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many labels of each row are right, and how many are known."""
    known = possible != UNKNOWN
    right = torch.bitwise_right_shift(possible, logits.argmax(-1)) % 2 == 1
    return (right & known).sum(1).float(), known.sum(1).float()


# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length", "weights")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_examples")
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "examples", "dev"}


def train_verifier(config: VerifierConfig, *, overwrite: bool = False) -> None:
    """Train a verifier, continuing from the saved state of the same run if there is one.

    `config`: validated settings (see `Settings.read`). `overwrite`: start a new run and
    replace the one in `out`.

    Raises `AdmiralError` in the same cases as `run_training`.
    """
    run_training(
        config, lambda accelerator, _: VerifierProgram(config, accelerator), overwrite=overwrite
    )


class VerifierProgram(Program):
    """Trains a verifier on examples.

    Raises `AdmiralError` for bad input.
    """

    product = "verifier"
    loss_kinds = ("verifier",)
    reported_group = 0  # of the encoder

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
        self._dev: ExampleSet[EncodedExample] | None = None
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
        settings = {k: v for k, v in config.model_dump().items() if k not in _OMITTED}
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
