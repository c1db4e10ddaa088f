"""Small networks whose numbers can be read: units that add up features and vote.

They score documents (`admiral.ranking.document_scorer`) and steps of proofs
(`proofs.judges.calibrated`), and are kept in JSON files in which every weight has the name of its
feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.judges.weight_files import bad_field, fields, number, numbers


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a score: ``vote * tanh(bias + sum of weight * feature)``.

    Attributes
    ----------
    vote, bias
        Finite numbers.
    weights
        The weight of each feature, by its name.
    """

    vote: float
    bias: float
    weights: Mapping[str, float]


def score_of(units: Sequence[Unit], features: Mapping[str, float]) -> float:
    """Return the sum of the units' votes on something with these features.

    Raises
    ------
    KeyError
        If a unit lacks the weight of a feature.
    """
    total = 0.0
    for unit in units:
        weighed = (unit.weights[name] * value for name, value in features.items())
        total += unit.vote * math.tanh(unit.bias + sum(weighed))
    return total


def read_units(path: Path, record: Any, names: Sequence[str]) -> tuple[Unit, ...]:
    """Return the units of the field ``units`` of a file of weights.

    Parameters
    ----------
    path
        The file, for errors.
    record
        The value of the field.
    names
        The features of which each unit has a weight.

    Raises
    ------
    ValueError
        Naming the file and the field that is missing, unknown or no number.
    """
    if not isinstance(record, list) or not record:
        raise bad_field(path, "units", "expected a list of units")
    return tuple(_unit(path, f"units[{at}]", one, names) for at, one in enumerate(record))


def _unit(path: Path, where: str, record: Any, names: Sequence[str]) -> Unit:
    found = fields(path, where, record, ("vote", "bias", "weights"))
    return Unit(
        number(path, f"{where}.vote", found["vote"]),
        number(path, f"{where}.bias", found["bias"]),
        numbers(path, f"{where}.weights", found["weights"], names),
    )
