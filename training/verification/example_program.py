"""The common base of the programs that train on files of examples."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic

import numpy as np
import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData
from sklearn.metrics import f1_score, roc_auc_score
from torch import Tensor

from admiral.errors import AdmiralError
from admiral.retrieval.rerankers import length_batches
from admiral.settings import Name
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import MAX_LENGTH
from training.data.examples import NON_COMMERCIAL, NOT_ENTAILMENT, Example, summary_by_source
from training.loop import Count, LoopSettings, MaxLength, Rate
from training.loop.run_files import Card, SourceFile, markdown_table
from training.loop.training_loop import Program, moved
from training.verification import (
    UNKNOWN,
    ExampleSet,
    Item,
    batches_of,
    marginal_losses,
    read_example_set,
)


class ExampleSettings(LoopSettings):
    """The settings of a program that trains on files of examples."""

    headings: ClassVar[dict[str, str]] = {
        "examples": "Files",
        "max_length": "Examples",
        "batch_tokens": "Steps and batches",
        "lr": "Optimisation",
        "eval_examples": "Evaluation",
    }
    examples: Name = "runs/examples.jsonl"
    """Files of training examples, separated by commas."""
    weights: str = ""
    """Factors of the weights of sources, or of labels of sources, separated by commas, such as
    `twins=0.7,fever/neutral=0.5`. 0 leaves them out."""
    dev: str = ""
    """Files of development examples; empty: no evaluation."""
    max_length: MaxLength = MAX_LENGTH
    """Maximum number of tokens of an example. Longer ones are left out."""
    batch_tokens: Count = 4096
    """Maximum number of padded tokens in a batch."""
    lr: Rate = 2e-4
    """Peak learning rate of the encoder."""
    head_lr: Rate = 1e-3
    """Peak learning rate of the heads."""
    eval_examples: Count = 200
    """Development examples of each source."""


def weights_of(text: str) -> dict[str, float]:
    """Return the factors that the setting `weights` lists.

    Raises AdmiralError if one is no number from 0.
    """
    weights = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, number = named_number(part)
        if not name or not (math.isfinite(number) and number >= 0):
            raise AdmiralError(f"weights: {part!r} is not SOURCE=NUMBER, such as fever=2")
        weights[name] = number
    return weights


def named_number(text: str) -> tuple[str, float]:
    """Return the name, which may be empty, and the number of ``NAME=NUMBER``; NaN if it is none."""
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        return name, math.nan


def right_and_known(logits: Tensor, possible: Tensor, unknown: int) -> tuple[Tensor, Tensor]:
    """Return how many answers of each row are right, and how many are known, (rows,).

    `logits`: (rows, questions, answers). `possible`: possible answers as bits, (rows, questions);
    `unknown`: the bits of all answers.
    """
    known = possible != unknown
    right = torch.bitwise_right_shift(possible, logits.argmax(-1)) % 2 == 1
    return (right & known).sum(1).float(), known.sum(1).float()


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
    gaps = np.abs(np.bincount(bins, confidence - correct, _BINS))
    return float(gaps.sum() / len(confidence))


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


class ExampleProgram(Program, Generic[Item]):
    """Trains a model on files of examples, and measures it on others.

    - `encoder`, `encoded`: read examples and return them as numbers (see `read_example_set`).
    - `origins`: the files of weights that the run starts from.
    - `fixed`: what else all parts of a run must agree on.

    Raises `AdmiralError` for bad input.
    """

    heads: ClassVar[tuple[str, ...]] = ("",)  # prefixes of the measures of the heads for the whole
    counts: ClassVar[tuple[str, ...]]  # names of the shares of known answers that are right
    score: ClassVar[str]  # measure whose mean over the sources is the score
    tag: ClassVar[str]  # of the model card
    introduction: str  # of the model card

    def __init__(
        self,
        config: ExampleSettings,
        accelerator: Accelerator,
        encoder: Any,
        encoded: Callable[[Example, Any], Item],
        origins: Sequence[SourceFile],
        fixed: Mapping[str, Any],
    ) -> None:
        self._config, self._accelerator = config, accelerator
        files = [Path(part.strip()) for part in config.examples.split(",") if part.strip()]
        weights = weights_of(config.weights)
        self._train = read_example_set("train", files, encoder, encoded, weights=weights)
        self._dev: ExampleSet[Item] | None = None
        if config.dev:
            files = [Path(part.strip()) for part in config.dev.split(",") if part.strip()]
            self._dev = read_example_set(
                "evaluate", files, encoder, encoded, config.eval_examples, config.seed
            )
        train, dev_files = self._train, self._dev.files if self._dev else []
        self.fixed = {
            # They decide the order of batches.
            **config.model_dump(include={"seed", "batch_tokens", "max_length", "weights"}),
            **fixed,
            "examples": [file.sha256 for file in train.files],
        }
        self.selection = {
            **config.model_dump(include={"best_metric", "keep", "eval_examples"}),
            "dev": [file.sha256 for file in dev_files] or None,
        }
        self.summary = "examples: " + ", ".join(file.content for file in train.files)
        used = sorted(NON_COMMERCIAL & {example.source for example in train.examples})
        self.card = Card(
            ModelCardData(
                library_name="transformers",
                pipeline_tag="text-classification",
                tags=["fact-verification", self.tag],
            ),
            [self.introduction],
            [*origins, *train.files, *dev_files],
            f"on about {config.eval_examples} development examples of each source",
            [
                *markdown_table(
                    ("source", "examples by label", "in an epoch"),
                    summary_by_source(train.examples),
                ),
                *("", f"Non-commercial sources: {', '.join(used) or 'none'}.", ""),
            ],
        )

    def batches(self) -> Iterator[list[Item]]:
        """Yield the examples of batches forever."""
        return batches_of(self._train, self._config.batch_tokens, self._config.seed)

    @abstractmethod
    def rows(self, batch: Any) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return what is measured of each example of a batch.

        These are the logits of `LABELS` by each of `heads`, (examples, 3), and for each of `counts`
        how many answers are right and how many are known, (examples,), one after the other.
        """

    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights on the development examples.

        ``loss`` is the mean loss of the labels, by the first head. ``SOURCE/METRIC`` are those of
        `measure`, with the prefix of the head; ``pairs``, the share of groups of several examples
        that are right throughout; and the shares of known answers that are right. ``mean_METRIC``
        is the mean over the sources that have it. Sources whose examples have no label of the whole
        have only the shares.
        """
        assert self._dev is not None
        table = self._table(self._dev)
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = marginal_losses(table[:, :3], labels)[labels != UNKNOWN]
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for number, example in enumerate(self._dev.examples):
            positions[example.source].append(number)
        by_source = {
            name: self._measured(self._dev, at, table[at]) for name, at in sorted(positions.items())
        }
        means = {
            name: float(np.mean([own[name] for own in by_source.values() if name in own]))
            for name in dict.fromkeys(name for own in by_source.values() for name in own)
        }
        values = {
            "score": means[self.score],
            "loss": float(losses.mean()),
            **{f"mean_{name}": value for name, value in means.items()},
            **{f"{at}/{name}": v for at, own in by_source.items() for name, v in own.items()},
        }
        if self._config.best_metric not in values:
            raise AdmiralError(
                f"{self._config.dev}: {self._config.best_metric!r} cannot be measured there; its "
                f"sources are {', '.join(by_source)}"
            )
        return values

    def _measured(
        self, dev: ExampleSet[Item], at: Sequence[int], table: Tensor
    ) -> dict[str, float]:
        """Return the measures of the examples at some positions, of which `table` has the rows."""
        labelled = [row for row, n in enumerate(at) if dev.items[n].label != UNKNOWN]
        examples = [dev.examples[at[row]] for row in labelled]
        values: dict[str, float] = {}
        for number, prefix in enumerate(self.heads if labelled else ()):
            chances = table[labelled, 3 * number : 3 * number + 3].softmax(1).numpy()
            found = measure([example.label for example in examples], chances)
            right = [
                bool(dev.items[at[row]].label >> int(best) & 1)
                for row, best in zip(labelled, chances.argmax(1), strict=True)
            ]
            pairs = share_of_groups([example.group for example in examples], right)
            if pairs is not None:
                found["pairs"] = pairs
            values |= {f"{prefix}{name}": value for name, value in found.items()}
        sums = table[:, 3 * len(self.heads) :].sum(0).view(-1, 2).tolist()
        for name, (correct, known) in zip(self.counts, sums, strict=True):
            if known:
                values[name] = correct / known
        return values

    @torch.no_grad()
    def _table(self, dev: ExampleSet[Item]) -> Tensor:
        """Return the `rows` of all examples side by side, each process reading its share."""
        accelerator = self._accelerator
        columns = 3 * len(self.heads) + 2 * len(self.counts)
        table = torch.zeros(len(dev.items), columns, device=accelerator.device)
        batches = length_batches([len(item.ids) for item in dev.items], self._config.batch_tokens)
        self.module.eval()
        with accelerator.autocast():
            for at in batches[accelerator.process_index :: accelerator.num_processes]:
                batch = moved(self.collate([dev.items[n] for n in at]), accelerator.device)
                logits, counts = self.rows(batch)
                table[at] = torch.cat([*logits, torch.stack(list(counts), dim=1)], dim=1)
        self.module.train()
        summed: Tensor = accelerator.reduce(table, "sum").double().cpu()
        return summed
