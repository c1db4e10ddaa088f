"""Small readable networks: one hidden layer of tanh units over named features.

They score documents (`admiral.ranking.document_scorer`) and proof steps
(`proofs.judges.calibrated`). Their files name the feature of every weight.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.judges.weight_files import bad_field, fields, number, numbers


@dataclass(frozen=True, slots=True)
class HiddenUnit:
    """A hidden unit, which contributes ``vote * tanh(bias + sum of weight * feature)``.

    Attributes
    ----------
    vote
        The unit's weight in the output.
    bias
        The unit's bias.
    weights
        The weight of each feature, by name.
    """

    vote: float
    bias: float
    weights: Mapping[str, float]


def network_score(units: Sequence[HiddenUnit], features: Mapping[str, float]) -> float:
    """Return the output of a network, the sum of its units, for the given features.

    Raises
    ------
    KeyError
        If a unit lacks the weight of a feature.
    """
    total = 0.0
    for unit in units:
        products = (unit.weights[name] * value for name, value in features.items())
        total += unit.vote * math.tanh(unit.bias + sum(products))
    return total


def read_units(
    path: Path, record: Any, names: Sequence[str], optional: Collection[str] = ()
) -> tuple[HiddenUnit, ...]:
    """Read the units of a network from the field ``units`` of a file of weights.

    Parameters
    ----------
    path
        The file, for errors.
    record
        The value of the field.
    names
        The features, each of which needs a weight in every unit.
    optional
        Those of them whose weight is 0 where it is missing.

    Raises
    ------
    ValueError
        If a field is missing, unknown or not a number, with the file and the field.
    """
    if not isinstance(record, list) or not record:
        raise bad_field(path, "units", "expected a list of units")
    return tuple(
        _read_unit(path, f"units[{at}]", unit, names, optional) for at, unit in enumerate(record)
    )


def _read_unit(
    path: Path, where: str, record: Any, names: Sequence[str], optional: Collection[str]
) -> HiddenUnit:
    values = fields(path, where, record, ("vote", "bias", "weights"))
    given = values["weights"]
    needed = [name for name in names if name not in optional or name in given]
    weights = numbers(path, f"{where}.weights", given, needed)
    return HiddenUnit(
        number(path, f"{where}.vote", values["vote"]),
        number(path, f"{where}.bias", values["bias"]),
        {name: weights.get(name, 0.0) for name in names},
    )
