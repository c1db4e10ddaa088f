"""Fit a network of `proofs.judges.network` on items that have several rows of features each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from proofs.judges.network import HiddenUnit

# Up to this share of the mean, a standard deviation is due to rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a network is fitted: by Adam, on all items at once.

    Attributes
    ----------
    units
        Number of hidden units.
    iterations, learning_rate
        Settings of Adam.
    ridge
        Weight of the squared parameters in the loss (L2 regularisation).
    """

    units: int
    iterations: int
    learning_rate: float
    ridge: float


def fit_network(
    rows: Sequence[torch.Tensor],
    names: Sequence[str],
    loss: Callable[[torch.Tensor], torch.Tensor],
    settings: FitSettings,
    *,
    seed: int = 0,
    unconstrained: Collection[str] | None = None,
    with_offset: bool = False,
) -> tuple[tuple[HiddenUnit, ...], float]:
    """Fit the network that scores rows to minimise a loss.

    Parameters
    ----------
    rows
        Features of each item's rows, float32, (rows, features).
    loss
        Maps scores, (items, most rows of an item), to the loss. It must ignore padding (see
        `row_mask`).
    unconstrained
        Features whose weights may be negative; all other weights and all votes are then
        non-negative. None: nothing is constrained.
    with_offset
        Fit an offset of all scores, for a loss that depends on more than their differences.

    Returns
    -------
    units : tuple of HiddenUnit
        Units for features that are not standardised.
    offset : float
        Offset to add to the sum of votes; 0 without `with_offset`.
    """
    free = torch.tensor([unconstrained is None or name in unconstrained for name in names])
    every_row = torch.cat(list(rows))
    mean = every_row.mean(0)
    deviation = every_row.std(0) if len(every_row) > 1 else torch.zeros_like(mean)
    # A feature that is constant in the training data must have no effect on other data either.
    deviation = torch.where(deviation > _ROUNDING * (1 + mean.abs()), deviation, torch.inf)
    inputs = pad_sequence([(item - mean) / deviation for item in rows], batch_first=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hidden = nn.Linear(len(names), settings.units)
        votes = nn.Linear(settings.units, 1, bias=False)
    offset = torch.zeros((), requires_grad=with_offset)

    def constrained() -> tuple[torch.Tensor, torch.Tensor]:
        weight, vote = hidden.weight, votes.weight[0]
        weight = torch.where(free, weight, weight.abs())
        return weight, vote if unconstrained is None else vote.abs()

    # Without an offset to fit, Adam would amplify the rounding errors of its zero gradient.
    parameters = [*hidden.parameters(), *votes.parameters(), *([offset] if with_offset else [])]
    optimizer = torch.optim.Adam(parameters, settings.learning_rate)
    for _ in range(settings.iterations):
        weight, vote = constrained()
        value = loss((inputs @ weight.T + hidden.bias).tanh() @ vote + offset)
        value = value + settings.ridge * sum(p.square().sum() for p in parameters)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    with torch.no_grad():
        weight, vote = constrained()
        weight = weight / deviation
        bias = hidden.bias - weight @ mean
    units = tuple(
        HiddenUnit(unit_vote, unit_bias, dict(zip(names, unit_weights, strict=True)))
        for unit_vote, unit_bias, unit_weights in zip(
            vote.tolist(), bias.tolist(), weight.tolist(), strict=True
        )
    )
    return units, float(offset.detach())


def row_mask(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return where a padded batch of items has rows; bool, (items, most rows of an item)."""
    masks = [torch.ones(len(item), dtype=torch.bool) for item in rows]
    return pad_sequence(masks, batch_first=True)
