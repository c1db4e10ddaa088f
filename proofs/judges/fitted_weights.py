"""Fitted weights: files in which every number has a name, and the scores that they make.

A score is a weighted sum of named features, or the output of a small network over them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Keeps sums of products from overflowing.
_MAX_MAGNITUDE = 1_000_000
_REMEDY = "fit it anew"


def read_weights(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read a file of weights: a JSON object with exactly the given fields.

    Raises `ValueError` if it is something else, with the file and the field.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a file of weights ({error}); {_REMEDY}") from None
    return fields(path, "", record, names)


def fields(path: Path, where: str, record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Check that a part of a file is an object with exactly the given fields, and return it.

    `where`: the field that contains the part; empty for the whole file.

    Raises `ValueError` if it is something else, with the file and the field.
    """
    if not isinstance(record, dict):
        raise bad_field(path, where, "expected an object")
    for name in sorted({*record, *names}):
        if (name in record) != (name in names):
            problem = "is missing" if name in names else "is unknown"
            raise bad_field(path, _join(where, name), problem)
    return record


def numbers(path: Path, where: str, record: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the `fields` of an object whose values are finite, not huge numbers.

    Parameters and errors are those of `fields`.
    """
    values = fields(path, where, record, names)
    return {name: number(path, _join(where, name), values[name]) for name in names}


def number(path: Path, where: str, value: Any) -> float:
    """Check that the value of a field is a finite, not huge number, and return it.

    Parameters and errors are those of `fields`.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= _MAX_MAGNITUDE:
        raise bad_field(path, where, f"expected a number of at most {_MAX_MAGNITUDE:,}")
    return float(value)


def bad_field(path: Path, where: str, problem: str) -> ValueError:
    """Return the error for a field, or for the whole file if `where` is empty."""
    place = f"field {where!r}: " if where else ""
    return ValueError(f"{path}: {place}{problem}; {_REMEDY}")


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# Probabilities closer to 0 or 1 are rounded, so that their logarithms are finite.
_SMALLEST = 1e-6


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A bias plus the sum of weighted features."""

    bias: float
    weights: Mapping[str, float]

    @classmethod
    def parse(cls, path: Path, where: str, record: Any, names: Sequence[str]) -> LinearScore:
        """Return the score in the field `where` of a file, with a weight for each of `names`.

        Raises `ValueError` if a field is missing, unknown or not a number, with the file and the
        field.
        """
        values = fields(path, where, record, ("bias", "weights"))
        return cls(
            number(path, f"{where}.bias", values["bias"]),
            numbers(path, f"{where}.weights", values["weights"], names),
        )

    def __call__(self, features: Mapping[str, float]) -> float:
        """Return the score of the given features."""
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def to_json(self) -> dict[str, Any]:
        """Return the value of a field that `parse` reads."""
        return {"bias": self.bias, "weights": dict(self.weights)}


def sigmoid(log_odds: float) -> float:
    """Return the probability of log-odds."""
    if log_odds < 0:
        return 1 - sigmoid(-log_odds)
    return 1 / (1 + math.exp(-log_odds))


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability, rounded so that they are finite."""
    clamped = min(max(probability, _SMALLEST), 1 - _SMALLEST)
    return math.log(clamped / (1 - clamped))


@dataclass(frozen=True, slots=True)
class HiddenUnit:
    """A hidden unit, which contributes ``vote * tanh(bias + sum of weight * feature)``."""

    vote: float
    bias: float
    weights: Mapping[str, float]


def network_score(units: Sequence[HiddenUnit], features: Mapping[str, float]) -> float:
    """Return the output of a network, the sum of its units, for the given features.

    Raises `KeyError` if a unit lacks the weight of a feature.
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

    `names`: the features, each of which needs a weight in every unit. `optional`: those of them
    whose weight is 0 where it is missing.

    Raises `ValueError` if a field is missing, unknown or not a number, with the file and the field.
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
