"""Fit linear weights of named features, and of the states of a model."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss

from admiral.citations.citation_weights import FeatureWeight

_CONSTANT = 1e-9
_ITERATIONS = 200
_HEAD_RIDGE = 3e-2  # of `fit_linear_head`


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

    `labels`: labels from 0. `ridge`: penalty on the squares of the weights of standardised
    features, for the mean loss.
    """
    inputs = torch.tensor([[row[name] for name in names] for row in rows], dtype=torch.float64)
    columns = (column.tolist() for column in _fit(inputs, labels, ridge))
    return {name: FeatureWeight(*own) for name, *own in zip(names, *columns, strict=True)}


def fit_linear_head(states: torch.Tensor, positive: Sequence[bool]) -> torch.Tensor:
    """Fit a linear classifier of states, (claims, width), and return its weight.

    It is float32, (width,), and for states that are not standardised.
    """
    _, deviation, weights = _fit(states.double(), [int(p) for p in positive], _HEAD_RIDGE)
    return (weights / deviation).float()


def _fit(
    inputs: torch.Tensor, labels: Sequence[int], ridge: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return means, deviations and weights of features."""
    mean, deviation = inputs.mean(0), inputs.std(0, correction=0)
    # A feature that is constant in the training data must have no effect on other data either.
    constant = deviation <= _CONSTANT * (1 + mean.abs())
    inputs = ((inputs - mean) / deviation).masked_fill(constant, 0.0)
    deviation = deviation.masked_fill(constant, 1.0)
    steps = range(1, max(max(labels), 1) + 1)
    targets = [torch.tensor([float(label >= step) for label in labels]).double() for step in steps]
    sizes = [inputs.shape[1], len(targets)]
    parameters = torch.zeros(sum(sizes), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        weights, offsets = parameters.split(sizes)
        scores = inputs @ weights
        value: torch.Tensor = ridge * weights.square().sum()
        for offset, target in zip(offsets, targets, strict=True):
            value = value + log_loss(scores + offset, target)
        value.backward()
        return value

    optimizer.step(closure)
    weights, _ = parameters.detach().split(sizes)
    return mean, deviation, weights


def linear_score(weights: Mapping[str, FeatureWeight], row: Mapping[str, float]) -> float:
    """Return the weighted sum of the standardised features."""
    return sum(own.weight * (row[name] - own.mean) / own.deviation for name, own in weights.items())


def page_folds(pages: Sequence[str], folds: int, seed: int = 0) -> list[list[int]]:
    """Divide claims into folds so that all claims of a page are in one of them.

    Return the positions of the claims of each fold.
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
