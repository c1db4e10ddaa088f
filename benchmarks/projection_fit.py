"""Fit a linear map of query vectors, for passage vectors that stay as they are.

A query vector q becomes the unit vector of ``q + W q``. With W = 0, nothing changes, and W is kept
small by L2 regularisation. The loss is the contrastive one of DPR (Karpukhin et al., 2020): the
negative log likelihood of a passage of the cited page among in-batch and hard negatives. Of the
passages of the cited page, the one with the highest score counts as right (hard EM, as in SIDE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class RetrievalExample:
    """A query with passages, as rows of matrices of unit vectors.

    Attributes
    ----------
    query
        Row of the query.
    positives
        Rows of the passages of the cited page; at least one.
    negatives
        Rows of passages of other pages.
    """

    query: int
    positives: tuple[int, ...]
    negatives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProjectionSettings:
    """Settings for fitting a map.

    Attributes
    ----------
    iterations, learning_rate
        Settings of Adam; all examples are one batch.
    ridge
        Weight of the squared entries of W in the loss.
    temperature
        By which cosines are divided.
    """

    iterations: int = 100
    learning_rate: float = 1e-3
    ridge: float = 1e-2
    temperature: float = 0.05


def project(queries: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the unit vectors of ``q + W q`` for each row q of `queries`."""
    return torch.nn.functional.normalize(queries + queries @ weights.T, dim=-1)


def contrastive_loss(
    queries: torch.Tensor,
    passages: torch.Tensor,
    examples: Sequence[RetrievalExample],
    temperature: float,
) -> torch.Tensor:
    """Return the mean negative log likelihood of the best passage of each cited page.

    Other passages of the cited page are left out of the denominator.

    Parameters
    ----------
    queries
        Unit vectors of all queries, (queries, width).
    passages
        Unit vectors of all passages, (passages, width).
    examples
        The examples; the positives of the others are negatives of each.
    temperature
        By which cosines are divided.
    """
    used = sorted({row for one in examples for row in (*one.positives, *one.negatives)})
    column = {row: at for at, row in enumerate(used)}
    rows = torch.tensor([one.query for one in examples])
    scores = queries[rows] @ passages[used].T / temperature
    own = torch.zeros_like(scores, dtype=torch.bool)
    hard = torch.zeros_like(own)
    for at, one in enumerate(examples):
        own[at, [column[row] for row in one.positives]] = True
        hard[at, [column[row] for row in one.negatives if row not in one.positives]] = True
    best = scores.detach().masked_fill(~own, -torch.inf).argmax(1)
    positive = torch.zeros_like(own).scatter(1, best[:, None], value=True)
    in_batch = torch.zeros_like(own)
    in_batch[:, best] = True
    denominator = positive | ((hard | in_batch) & ~own)
    log_total = scores.masked_fill(~denominator, -torch.inf).logsumexp(1)
    return (log_total - scores.gather(1, best[:, None])[:, 0]).mean()


def fit_projection(
    queries: torch.Tensor,
    passages: torch.Tensor,
    examples: Sequence[RetrievalExample],
    settings: ProjectionSettings,
) -> torch.Tensor:
    """Return the map W, (width, width), that minimises the loss.

    Parameters
    ----------
    queries, passages
        Unit vectors, float32.
    examples
        The examples.
    settings
        Settings.
    """
    width = queries.shape[1]
    weights = torch.zeros(width, width, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=settings.learning_rate)
    for _ in range(settings.iterations):
        optimiser.zero_grad()
        projected = project(queries, weights)
        loss = contrastive_loss(projected, passages, examples, settings.temperature)
        (loss + settings.ridge * weights.square().sum()).backward()
        optimiser.step()
    return weights.detach()
