"""Measures of a verifier on development examples, by source.

A source with examples labelled ``not_entailment`` is measured with two classes, entailment or not.
"""

from __future__ import annotations

import numpy as np

from proofs.verifier.label_names import LABELS
from training.data.examples import NOT_ENTAILMENT

METRICS = ("accuracy", "macro_f1", "auc", "ece")
_BINS = 10
_ENTAILMENT = LABELS.index("entailment")


def measure(labels: list[str], probabilities: np.ndarray) -> dict[str, float]:
    """Return the measures of examples.

    Parameters
    ----------
    labels
        The label of each example.
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
