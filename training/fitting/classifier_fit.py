"""Fit the judge `classifier`: a linear head on the states of a checkpoint's encoder."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from admiral.models.checkpoint import Checkpoint
from proofs.judges.classifier import pooled_states
from training.fitting.judge_fits import threshold_at_recall
from training.fitting.sufficiency_examples import SufficiencyExample

_HEAD_RIDGE = 3e-2


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Fit the head of the judge `classifier` on the states of a checkpoint's encoder.

    Parameters
    ----------
    checkpoint
        The checkpoint.
    train, dev
        Examples that fit the weight, and examples that choose the bias.
    recall
        Share of the insufficient `dev` examples that must be classified as insufficient.

    Returns
    -------
    dict of str to torch.Tensor
        ``weight``, (width,), and ``bias``, a scalar.
    """
    train_states, dev_states = (
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in examples],
            [example.evidence for example in examples],
        )
        for examples in (train, dev)
    )
    sufficient = torch.tensor([float(example.sufficient) for example in train])
    weight, _ = fit_linear_head(train_states, sufficient)
    scores = (-(dev_states @ weight)).tolist()
    bias = threshold_at_recall(scores, [not example.sufficient for example in dev], recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


def fit_linear_head(states: torch.Tensor, sufficient: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Fit a linear classifier by logistic regression with L2 regularisation.

    Parameters
    ----------
    states
        Features, (claims, width).
    sufficient
        1 for the positive class, else 0; float32, (claims,).

    Returns
    -------
    weight : torch.Tensor
        Shape (width,), for features that are not standardised.
    bias : float
        The bias.
    """
    mean, deviation = states.mean(0), states.std(0).clamp(min=1e-6)
    inputs = (states - mean) / deviation
    parameters = torch.zeros(inputs.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = inputs @ parameters[:-1] + parameters[-1]
        value = nn.functional.binary_cross_entropy_with_logits(logits, sufficient)
        value = value + _HEAD_RIDGE * parameters[:-1].square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        weight = parameters[:-1] / deviation
        return weight, float(parameters[-1] - (weight * mean).sum())
