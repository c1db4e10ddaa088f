"""Fit how the outputs of a verifier become probabilities, on labelled examples."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofs.verifier.label_scales import BOUNDS, Scale
from proofs.verifier.reading import NEUTRAL
from training.verification.verifier_loss import marginal_losses


def fit_scale(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Scale:
    """Return the scale of the highest likelihood, within `BOUNDS`.

    Parameters
    ----------
    logits
        Of `LABELS`, (examples, 3); log-probabilities will do.
    labels
        Possible labels (see `POSSIBLE`), (examples,).
    weights
        How much each example counts, (examples,); None for all alike.
    """
    scores = logits.double()
    (low, high), (least, most) = BOUNDS["temperature"], BOUNDS["neutral"]
    logarithm = torch.zeros((), dtype=torch.float64, requires_grad=True)
    neutral = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([logarithm, neutral], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        temperature = logarithm.clamp(math.log(low), math.log(high)).exp()
        losses = marginal_losses(scaled(scores, temperature, neutral), labels)
        mean = losses.mean() if weights is None else (losses * weights).sum() / weights.sum()
        mean.backward()
        return mean

    optimizer.step(loss)
    temperature = min(max(math.exp(float(logarithm.detach())), low), high)
    return Scale(temperature, min(max(float(neutral.detach()), least), most))


def scaled(logits: Tensor, temperature: float | Tensor, neutral: float | Tensor) -> Tensor:
    """Return the log-probabilities of logits at a scale, (examples, 3)."""
    return (logits / temperature + neutral * torch.eye(3)[NEUTRAL]).log_softmax(-1)
