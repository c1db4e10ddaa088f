"""The common base of the programs that train on files of examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic

import numpy as np
import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData
from sklearn.metrics import f1_score, roc_auc_score
from torch import Tensor, nn

from admiral.errors import AdmiralError
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import length_batches
from training.data.examples import NON_COMMERCIAL, NOT_ENTAILMENT, summary_by_source
from training.loop import values_of
from training.loop.model_card import SourceFile, markdown_table, render_card
from training.loop.run_files import TrainingState
from training.loop.training_loop import Program, moved
from training.verification import UNKNOWN, ExampleSet, Item, batches_of
from training.verification.verifier_settings import ExampleSettings, paths_of, weights_of


def right_and_known(logits: Tensor, possible: Tensor, unknown: int) -> tuple[Tensor, Tensor]:
    """Return how many answers of each row are right, and how many are known, (rows,).

    `logits`: (rows, questions, answers). `possible`: possible answers as bits, (rows, questions);
    `unknown`: the bits of all answers.
    """
    known = possible != unknown
    right = torch.bitwise_right_shift(possible, logits.argmax(-1)) % 2 == 1
    return (right & known).sum(1).float(), known.sum(1).float()


def marginal_losses(logits: Tensor, possible: Tensor) -> Tensor:
    """Return the negative log-probability that one of the possible answers holds.

    `logits`: (..., answers), such as those of `LABELS`, or log-probabilities. `possible`: possible
    answers as bits (see `training.verification.POSSIBLE`), (...).
    """
    bits = torch.arange(logits.shape[-1], device=possible.device)
    excluded = (possible[..., None] >> bits) & 1 == 0
    log_probabilities = logits.log_softmax(-1)
    return -log_probabilities.masked_fill(excluded, -torch.inf).logsumexp(-1)


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
        "macro_f1": float(f1_score(gold, predicted, labels=np.unique(gold), average="macro")),
        "ece": calibration_error(probabilities.max(1), predicted == gold),
    }
    is_entailed = [label == "entailment" for label in labels]
    if len({*is_entailed}) == 2:
        values["auc"] = float(roc_auc_score(is_entailed, entailed))
    return values


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


def share_of_groups(groups: Sequence[str], right: Sequence[bool]) -> float | None:
    """Return the share of groups of several examples that are right throughout; None without any.

    `groups`: the group of each example, or an empty text.
    """
    by_group: defaultdict[str, list[bool]] = defaultdict(list)
    for group, is_right in zip(groups, right, strict=True):
        if group:
            by_group[group].append(is_right)
    whole = [all(own) for own in by_group.values() if len(own) > 1]
    return float(np.mean(whole)) if whole else None


class ExampleEvaluator(ABC, Generic[Item]):
    """Measures a model on development examples, which the processes of a run share."""

    columns: ClassVar[int]  # of the table that `_rows` fills
    # where the logits of `LABELS` begin there, by the prefix of the measures
    heads: ClassVar[dict[str, int]] = {"": 0}
    # where the numbers of right and of known answers stand, by the name of the measure
    counts: ClassVar[dict[str, int]]
    score: ClassVar[str]  # measure whose mean over the sources is the score

    def __init__(self, dev: ExampleSet[Item], max_tokens: int, accelerator: Accelerator) -> None:
        self._dev, self._accelerator = dev, accelerator
        self._batches = length_batches([len(item.ids) for item in dev.items], max_tokens)
        self.sources = sorted({example.source for example in dev.examples})

    def metrics(self, module: Any) -> dict[str, float]:
        """Return all metrics of the current weights.

        ``loss`` is the mean loss of the labels, by the first head. ``SOURCE/METRIC`` are those of
        `measure`, with the prefix of the head; ``pairs``, the share of groups of several examples
        that are right throughout; and the shares of known answers that are right. ``mean_METRIC``
        is the mean over the sources that have it. Sources whose examples have no label of the whole
        have only the shares.
        """
        table = torch.from_numpy(self._table(module))
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = marginal_losses(table[:, :3], labels)[labels != UNKNOWN]
        by_source = {}
        for source in self.sources:
            at = [n for n, example in enumerate(self._dev.examples) if example.source == source]
            by_source[source] = self._measured(at, table[at])
        values = {"score": 0.0, "loss": float(losses.mean())}
        for name in dict.fromkeys(name for own in by_source.values() for name in own):
            values[f"mean_{name}"] = float(
                np.mean([own[name] for own in by_source.values() if name in own])
            )
        values["score"] = values[f"mean_{self.score}"]
        for source, own in by_source.items():
            values |= {f"{source}/{name}": value for name, value in own.items()}
        return values

    def _measured(self, at: Sequence[int], table: Tensor) -> dict[str, float]:
        """Return the measures of some examples, of which `table` has the rows."""
        examples = [self._dev.examples[n] for n in at]
        items = [self._dev.items[n] for n in at]
        labelled = [row for row, item in enumerate(items) if item.label != UNKNOWN]
        values: dict[str, float] = {}
        for prefix, begin in self.heads.items() if labelled else ():
            chances = table[labelled, begin : begin + 3].softmax(1).numpy()
            found = measure([examples[row].label for row in labelled], chances)
            right = [
                bool(items[row].label >> int(best) & 1)
                for row, best in zip(labelled, chances.argmax(1), strict=True)
            ]
            pairs = share_of_groups([examples[row].group for row in labelled], right)
            values |= {f"{prefix}{name}": value for name, value in found.items()}
            if pairs is not None:
                values[f"{prefix}pairs"] = pairs
        for name, column in self.counts.items():
            correct, known = table[:, column].sum(), table[:, column + 1].sum()
            if known:
                values[name] = float(correct / known)
        return values

    @abstractmethod
    def _rows(self, module: Any, items: Sequence[Item]) -> Tensor:
        """Return what is to be known of each item, (items, columns)."""

    @torch.no_grad()
    def _table(self, module: nn.Module) -> np.ndarray:
        """Return the rows of all development examples, (examples, columns)."""
        accelerator = self._accelerator
        table = torch.zeros(len(self._dev.items), self.columns, device=accelerator.device)
        module.eval()
        with accelerator.autocast():
            for positions in self._batches[accelerator.process_index :: accelerator.num_processes]:
                table[positions] = self._rows(module, [self._dev.items[at] for at in positions])
        module.train()
        summed: np.ndarray = accelerator.reduce(table, "sum").double().cpu().numpy()
        return summed

    def _moved(self, batch: Any) -> Any:
        return moved(batch, self._accelerator.device)


# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length", "weights")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_examples")
# Local paths, and settings that do not change the weights.
_OMITTED = {"base", "start", "examples", "dev", "out", "device"}
_OMITTED |= {"tracker", "log_every", "save_every", "push_to_hub"}


class ExampleProgram(Program, Generic[Item]):
    """Trains a model on files of examples.

    - `read`: reads and encodes the examples of files, as `read_example_set` does.
    - `origins`: the files of weights that the run starts from.
    - `fixed`: what else all parts of a run must agree on.

    Raises `AdmiralError` for bad input.
    """

    reported_group = 0  # of the encoder
    _evaluator: ExampleEvaluator[Item] | None = None

    def __init__(
        self,
        config: ExampleSettings,
        read: Callable[..., ExampleSet[Item]],
        origins: Sequence[SourceFile],
        fixed: Mapping[str, Any],
    ) -> None:
        self._config, self._origins = config, origins
        weights = weights_of(config.weights)
        self._train = read("train", paths_of(config.examples), weights=weights)
        self._dev: ExampleSet[Item] | None = None
        if config.dev:
            paths, limit = paths_of(config.dev), config.eval_examples
            self._dev = read("evaluate", paths, limit=limit, seed=config.seed)
        self.fixed = {
            **values_of(config, _FIXED_SETTINGS),
            **fixed,
            "examples": [file.sha256 for file in self._train.files],
        }
        self.selection = values_of(config, _SELECTION_SETTINGS) | {
            "dev": [file.sha256 for file in self._dev.files] if self._dev else None
        }
        counts = [(n, name) for file in self._train.files for name, n in file.samples.items()]
        self.summary = "examples: " + ", ".join(f"{n:,} {name}" for n, name in counts)

    def batches(self) -> Iterator[list[Item]]:
        """Yield the examples of batches forever."""
        return batches_of(self._train, self._config.batch_tokens, self._config.seed)

    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights on the development examples."""
        assert self._evaluator is not None
        values = self._evaluator.metrics(self.module)
        if self._config.best_metric not in values:
            raise AdmiralError(
                f"{self._config.dev}: {self._config.best_metric!r} cannot be measured there"
            )
        return values

    def _card(self, state: TrainingState, devices: str, introduction: str, tag: str) -> str:
        """Return the model card: use, examples by source, scores and settings."""
        config, train = self._config, self._train
        data = ModelCardData(
            library_name="transformers",
            pipeline_tag="text-classification",
            tags=["fact-verification", tag],
        )
        settings = {k: v for k, v in config.model_dump().items() if k not in _OMITTED}
        files = [*self._origins, *train.files, *(self._dev.files if self._dev else [])]
        used = sorted(NON_COMMERCIAL & {example.source for example in train.examples})
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
            data, config, state, devices, [introduction], trained_on, evaluated_on, settings
        )
