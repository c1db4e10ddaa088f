"""The fit of the networks of `proofs.judges.network` on items that hold several rows each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from proofs.judges.network import Unit

# Beside its mean, a standard deviation up to this is one of rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a network is fitted: by Adam, over all items at a time.

    Attributes
    ----------
    units
        Of the network.
    iterations, rate
        Of Adam.
    ridge
        What a squared parameter adds to the loss.
    """

    units: int
    iterations: int
    rate: float
    ridge: float


def fit_units(
    rows: Sequence[torch.Tensor],
    names: Sequence[str],
    loss: Callable[[torch.Tensor], torch.Tensor],
    recipe: FitSettings,
    *,
    seed: int = 0,
    either_way: Collection[str] | None = None,
    shifted: bool = False,
) -> tuple[tuple[Unit, ...], float]:
    """Fit the network that scores rows so that a loss is least.

    Parameters
    ----------
    rows
        Of each item the features of its rows, float32, (rows, features).
    names
        Those of the features.
    loss
        Maps scores, (items, most rows of an item), to what is to be small. What stands beyond an
        item's rows is to be left out of it.
    recipe
        How.
    seed
        Of the first weights.
    either_way
        Features whose weights may be negative; no vote is, then. None: all weights and votes.
    shifted
        Whether the loss depends on the scores themselves and not on their differences alone.

    Returns
    -------
    tuple
        The units, which read features as they are, not standardised.
    float
        What the loss has had added to their votes; 0 where it is not `shifted`.
    """
    free = torch.tensor([either_way is None or name in either_way for name in names])
    every = torch.cat(list(rows))
    centre = every.mean(0)
    spread = every.std(0) if len(every) > 1 else torch.zeros_like(centre)
    # A feature that is the same everywhere says nothing, neither here nor where it is another one.
    spread = torch.where(spread > _ROUNDING * (1 + centre.abs()), spread, torch.inf)
    inputs = pad_sequence([(one - centre) / spread for one in rows], batch_first=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hidden = nn.Linear(len(names), recipe.units)
        votes = nn.Linear(recipe.units, 1, bias=False)
    offset = torch.zeros((), requires_grad=shifted)

    def weights() -> tuple[torch.Tensor, torch.Tensor]:
        vote = votes.weight[0]
        bound = torch.where(free, hidden.weight, hidden.weight.abs())
        return bound, vote if either_way is None else vote.abs()

    # Adam would make much of the rounding errors in a gradient that is zero.
    parameters = [*hidden.parameters(), *votes.parameters(), *([offset] if shifted else [])]
    optimizer = torch.optim.Adam(parameters, recipe.rate)
    for _ in range(recipe.iterations):
        weight, vote = weights()
        found = loss((inputs @ weight.T + hidden.bias).tanh() @ vote + offset)
        found = found + recipe.ridge * sum(one.square().sum() for one in parameters)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
    with torch.no_grad():
        weight, vote = weights()
        weight = weight / spread
        bias = hidden.bias - weight @ centre
    units = tuple(
        Unit(worth, start, dict(zip(names, row, strict=True)))
        for worth, start, row in zip(vote.tolist(), bias.tolist(), weight.tolist(), strict=True)
    )
    return units, float(offset.detach())


def of_rows(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return which scores of a loss are of an item's rows; bool, (items, most rows of an item)."""
    return pad_sequence([torch.ones(len(one), dtype=torch.bool) for one in rows], batch_first=True)
