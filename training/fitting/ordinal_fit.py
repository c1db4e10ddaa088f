"""Fit linear weights of features to ordered labels."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss

from admiral.citations.citation_weights import FeatureWeight

_ROUNDING = 1e-9
_ITERATIONS = 200


def fit_ordinal(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[int],
    names: Sequence[str],
    *,
    ridge: float,
) -> dict[str, FeatureWeight]:
    """Return the weights of a proportional-odds logistic regression (McCullagh, 1980).

    Each step from a label to the next one has a threshold of its own, and all have the same
    weights.

    Parameters
    ----------
    rows
        Features by name.
    labels
        Labels from 0.
    names
        The features to use.
    ridge
        Penalty on the squares of the weights of standardised features, for the mean loss.
    """
    inputs = torch.tensor([[row[name] for name in names] for row in rows], dtype=torch.float64)
    mean = inputs.mean(0)
    deviation = inputs.std(0, correction=0)
    deviation = torch.where(deviation > _ROUNDING, deviation, torch.ones_like(deviation))
    inputs = (inputs - mean) / deviation
    steps = range(1, max(labels) + 1)
    targets = [torch.tensor([float(label >= step) for label in labels]).double() for step in steps]
    parameters = torch.zeros(len(names) + len(targets), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        weights, offsets = parameters[: len(names)], parameters[len(names) :]
        scores = inputs @ weights
        value = ridge * weights.square().sum()
        for offset, target in zip(offsets, targets, strict=True):
            value = value + log_loss(scores + offset, target)
        value.backward()
        return value

    optimizer.step(closure)
    weights = parameters.detach()[: len(names)]
    return {
        name: FeatureWeight(*numbers)
        for name, *numbers in zip(
            names, mean.tolist(), deviation.tolist(), weights.tolist(), strict=True
        )
    }


def linear_score(weights: Mapping[str, FeatureWeight], row: Mapping[str, float]) -> float:
    """Return the weighted sum of the standardised features."""
    return sum(own.weight * (row[name] - own.mean) / own.deviation for name, own in weights.items())


def page_folds(pages: Sequence[str], folds: int, seed: int = 0) -> list[list[int]]:
    """Divide claims into folds so that all claims of a page are in one of them.

    Returns
    -------
    list of list of int
        The positions of the claims of each fold.
    """
    distinct = sorted(set(pages))
    random.Random(seed).shuffle(distinct)
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
        held_out = set(fold)
        kept = [at for at in range(len(rows)) if at not in held_out]
        weights = fit_ordinal(
            [rows[at] for at in kept], [labels[at] for at in kept], names, ridge=ridge
        )
        for at in fold:
            scores[at] = linear_score(weights, rows[at])
    return scores
