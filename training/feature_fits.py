"""Linear weights of named features, and of the states of a model, by scikit-learn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from admiral.citations.citation_weights import FeatureWeight

# Columns that hold a threshold are so large that the penalty hardly counts for them.
_FREE = 1e3


def fit_logistic(
    inputs: np.ndarray, labels: Sequence[int], ridge: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, deviations and weights of a proportional-odds logistic regression.

    Each step from a label to the next one has a threshold of its own, and all have the same weights
    (McCullagh, 1980). With two labels, it is logistic regression.

    `labels`: labels from 0. `ridge`: penalty on the squares of the weights of standardised
    features, for the mean loss.
    """
    scaler = StandardScaler().fit(inputs)
    scaled = scaler.transform(inputs)
    steps = range(1, max(labels) + 1)
    thresholds = np.repeat(_FREE * np.eye(len(steps)), len(scaled), axis=0)
    rows = np.hstack([np.tile(scaled, (len(steps), 1)), thresholds])
    targets = np.concatenate([np.asarray(labels) >= step for step in steps])
    model = LogisticRegression(
        C=1 / (2 * ridge * len(scaled)), fit_intercept=False, solver="newton-cholesky", tol=1e-10
    ).fit(rows, targets)
    return scaler.mean_, scaler.scale_, model.coef_[0, : inputs.shape[1]]


def fit_ordinal(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[int],
    names: Sequence[str],
    *,
    ridge: float,
) -> dict[str, FeatureWeight]:
    """Return the weights of features by `fit_logistic`."""
    columns = fit_logistic(np.array([[row[n] for n in names] for row in rows]), labels, ridge)
    values = (column.tolist() for column in columns)
    return {name: FeatureWeight(*own) for name, *own in zip(names, *values, strict=True)}


def linear_score(weights: Mapping[str, FeatureWeight], row: Mapping[str, float]) -> float:
    """Return the weighted sum of the standardised features."""
    return sum(own.weight * (row[name] - own.mean) / own.deviation for name, own in weights.items())


def page_folds(pages: Sequence[str], folds: int) -> list[list[int]]:
    """Return the positions of the claims of each fold; all claims of a page are in one of them."""
    distinct = sorted(set(pages))
    random.Random(0).shuffle(distinct)
    fold_of = {page: at % folds for at, page in enumerate(distinct)}
    return [[at for at, page in enumerate(pages) if fold_of[page] == f] for f in range(folds)]


def out_of_fold_scores(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[int],
    folds: Sequence[Sequence[int]],
    names: Sequence[str],
    *,
    ridge: float,
) -> list[float]:
    """Return the score of each claim by weights that were fitted on the other folds."""
    scores = [0.0] * len(rows)
    for fold in folds:
        kept = sorted(set(range(len(rows))) - set(fold))
        own, known = [rows[at] for at in kept], [labels[at] for at in kept]
        weights = fit_ordinal(own, known, names, ridge=ridge)
        for at in fold:
            scores[at] = linear_score(weights, rows[at])
    return scores
