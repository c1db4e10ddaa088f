"""A weighted sum of named features as the log-odds of a probability, with its file format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.judges.weight_files import fields, number, numbers

# Probabilities closer to 0 or 1 are rounded, so that their logarithms are finite.
_SMALLEST = 1e-6


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A bias plus the sum of weighted features.

    Attributes
    ----------
    bias
        The bias.
    weights
        The weight of each feature, by name.
    """

    bias: float
    weights: Mapping[str, float]

    @classmethod
    def parse(cls, path: Path, where: str, record: Any, names: Sequence[str]) -> LinearScore:
        """Return the score in the field `where` of a file, with a weight for each of `names`.

        Raises
        ------
        ValueError
            If a field is missing, unknown or not a number, with the file and the field.
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
