"""Fit the temperature of a verifier on labelled examples."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofs.verifier.temperature import BOUNDS
from training.verification.verifier_loss import marginal_losses


def fit_temperature(log_probabilities: Tensor, labels: Tensor) -> float:
    """Return the temperature of the highest likelihood, within `BOUNDS`.

    Parameters
    ----------
    log_probabilities
        Of `LABELS`, at temperature 1, (examples, 3).
    labels
        Possible labels (see `POSSIBLE`), (examples,).
    """
    scores = log_probabilities.double()
    low, high = map(math.log, BOUNDS)
    logarithm = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([logarithm], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = marginal_losses(at_temperature(scores, logarithm.clamp(low, high).exp()), labels)
        mean = value.mean()
        mean.backward()
        return mean

    optimizer.step(loss)
    return min(max(math.exp(float(logarithm.detach())), BOUNDS[0]), BOUNDS[1])


def at_temperature(log_probabilities: Tensor, temperature: float | Tensor) -> Tensor:
    """Return the log-probabilities of examples at another temperature than 1."""
    return (log_probabilities / temperature).log_softmax(-1)
