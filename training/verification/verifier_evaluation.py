"""Measure a verifier in training on its development examples, by source.

A source with examples labelled ``not_entailment`` is measured with two classes, entailment or not.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from proofs.verifier.evidence_batches import length_batches
from proofs.verifier.evidence_input import EvidenceEncoder
from proofs.verifier.label_names import LABELS
from training.data.examples import NOT_ENTAILMENT
from training.loop.batch_loading import moved
from training.verification.example_batches import UNKNOWN, ExampleSet, collate
from training.verification.verifier_loss import VerifierLoss, marginal_losses

METRICS = ("accuracy", "macro_f1", "auc", "ece")
_BINS = 10
_ENTAILMENT = LABELS.index("entailment")


def measure(labels: list[str], probabilities: np.ndarray) -> dict[str, float]:
    """Return the measures of examples.

    Parameters
    ----------
    probabilities
        Probability of each of `LABELS`, (examples, 3).

    Returns
    -------
    dict
        ``accuracy``; ``macro_f1``, the mean F1 of the classes that occur; ``auc``, the area under
        the ROC curve of entailment against the rest; and ``ece``, the expected calibration error
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

    Parameters
    ----------
    confidence
        Probability of each prediction.
    correct
        Whether it is correct.
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
        self, dev: ExampleSet, encoder: EvidenceEncoder, max_tokens: int, accelerator: Accelerator
    ) -> None:
        self._dev, self._encoder, self._accelerator = dev, encoder, accelerator
        self._batches = length_batches([len(item.ids) for item in dev.items], max_tokens)
        self.sources = sorted({example.source for example in dev.examples})

    def metrics(self, module: VerifierLoss) -> dict[str, float]:
        """Return all metrics of the current weights.

        ``loss`` is the mean loss of the labels and ``score`` the mean of the macro-F1 of the
        sources. The others are ``SOURCE/METRIC``: those of `measure`; ``pairs``, the share of
        groups of several examples that are right throughout; and ``sentences`` and ``tokens``, the
        share of known labels of sentences and of tokens of the claim that are right.
        """
        table = torch.from_numpy(self._table(module))
        probabilities = table[:, :3].softmax(1).numpy()
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = marginal_losses(table[:, :3], labels)
        by_source = {name: self._measured(name, probabilities, table) for name in self.sources}
        values = {
            "score": float(np.mean([each["macro_f1"] for each in by_source.values()])),
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
        values = measure([dev.examples[n].label for n in at], probabilities[at])
        groups: defaultdict[str, list[bool]] = defaultdict(list)
        for n in at:
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
