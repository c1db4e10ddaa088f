"""Losses for claims of which only the cited page is known, not the passage that supports them.

The passages of the cited page are the positives of a claim, other passages its negatives. The E
step weights the positives by the current scores, without a gradient; the M step is the negative
log-likelihood of each positive against the negatives alone (Petroni et al., 2023): the other
positives are not in its denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

#: How the positives of a claim are weighted: ``hard`` and ``soft`` are EM, the others its controls.
Strategy = Literal["hard", "soft", "first", "random", "uniform"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def em_loss(
    scores: Tensor,
    positives: Sequence[Sequence[int]],
    negatives: Sequence[Sequence[int]],
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the mean loss of claims.

    Parameters
    ----------
    scores
        Scores of passages, (passages,).
    positives, negatives
        Positions of the passages of each claim, those of the cited page in their order. A claim
        needs one of each.
    strategy
        How positives are weighted.
    sharpness
        Factor of the scores in the weights of ``soft``; with a large one, it is ``hard``.
    generator
        Source of randomness for ``random``.

    Raises
    ------
    ValueError
        If a claim has no positives or no negatives.
    """
    losses = []
    for own, others in zip(positives, negatives, strict=True):
        if not own or not others:
            raise ValueError("a claim has no positives or no negatives; leave it out")
        good, bad = scores[list(own)], scores[list(others)]
        weights = positive_weights(good, strategy, sharpness=sharpness, generator=generator)
        # log(exp(good) + sum of exp(bad)) for each positive by itself.
        total = torch.logaddexp(good, bad.logsumexp(0))
        losses.append((weights * (total - good)).sum())
    return torch.stack(losses).mean()


def positive_weights(
    scores: Tensor,
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the weights of the positives of a claim, which sum to 1 and have no gradient.

    Parameters
    ----------
    scores
        Scores of the positives in the order of the page, (positives,).
    strategy, sharpness, generator
        See `em_loss`.
    """
    fixed = scores.detach()
    if strategy == "soft":
        return (sharpness * fixed).softmax(0)
    if strategy == "uniform":
        return torch.full_like(fixed, 1 / len(fixed))
    if strategy == "hard":
        chosen = int(fixed.argmax())
    elif strategy == "first":
        chosen = 0
    else:
        chosen = int(torch.randint(len(fixed), (1,), generator=generator))
    weights = torch.zeros_like(fixed)
    weights[chosen] = 1.0
    return weights
