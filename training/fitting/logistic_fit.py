"""Logistic regression with named classes, of which several may be right."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import torch

# L2 regularisation of standardised weights. It is small, since probabilities are to be calibrated.
_RIDGE = 1e-4
_FOLDS = 5


def fit_logistic(
    rows: Sequence[Mapping[str, float]], allowed: torch.Tensor, names: Sequence[str]
) -> list[tuple[float, dict[str, float]]]:
    """Fit a multinomial logistic regression to the probability of the allowed classes.

    Parameters
    ----------
    rows
        The features of each example.
    allowed
        Which classes may be right, bool, (examples, classes); at least one of each example.
    names
        The features to use.

    Returns
    -------
    list
        For each class, its bias and weights, for features that are not standardised.
    """
    inputs = torch.tensor([[row[name] for name in names] for row in rows], dtype=torch.float64)
    mean, deviation = inputs.mean(0), inputs.std(0, correction=0)
    # A feature that is constant in the training data must have no effect on other data either.
    scale = torch.where(deviation > 1e-6 * (1 + mean.abs()), 1 / deviation, 0.0)
    standardised = (inputs - mean) * scale
    classes = allowed.shape[1]
    weights = torch.zeros(classes, len(names), dtype=torch.float64, requires_grad=True)
    biases = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, biases], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        log_probabilities = (standardised @ weights.T + biases).log_softmax(1)
        right = log_probabilities.masked_fill(~allowed, -torch.inf).logsumexp(1)
        value = -right.mean() + _RIDGE * (weights.square().sum() + biases.square().sum())
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        own = weights * scale
        offsets = biases - own @ mean
    return [
        (offset, dict(zip(names, row, strict=True)))
        for offset, row in zip(offsets.tolist(), own.tolist(), strict=True)
    ]


def fit_binary(
    rows: Sequence[Mapping[str, float]], positive: Sequence[bool], names: Sequence[str]
) -> tuple[float, dict[str, float]]:
    """Fit a logistic regression of two classes, and return its bias and weights as log-odds."""
    is_positive = torch.tensor(positive)
    allowed = torch.stack([~is_positive, is_positive], dim=1)
    (no_bias, no), (yes_bias, yes) = fit_logistic(rows, allowed, names)
    return yes_bias - no_bias, {name: yes[name] - no[name] for name in names}


def folds_by_claim(claims: Sequence[str], seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield (positions to fit on, positions to apply to) of the folds of cross-validation.

    Examples of one claim are in the same fold. With a single claim there is nothing to yield.
    """
    distinct = sorted(set(claims))
    random.Random(seed).shuffle(distinct)
    count = min(_FOLDS, len(distinct))
    fold_of = {claim: number % count for number, claim in enumerate(distinct)}
    for fold in range(count if count > 1 else 0):
        inside = [at for at, claim in enumerate(claims) if fold_of[claim] == fold]
        outside = [at for at, claim in enumerate(claims) if fold_of[claim] != fold]
        yield outside, inside
