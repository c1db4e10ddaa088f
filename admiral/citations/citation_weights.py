"""The file of fitted weights: the mixed verifier, the meaning of scores, and missing words.

`training.citations` writes it; every number has a name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from admiral.citations.missing_spans import MissingWords
from admiral.citations.score_calibration import ScoreCalibration
from admiral.errors import AdmiralError
from proofs.judges.weight_files import bad_field, fields, number, read_weights

_FEATURE = ("mean", "deviation", "weight")


@dataclass(frozen=True, slots=True)
class FeatureWeight:
    """The weight of a feature after its mean is subtracted and it is divided by its deviation."""

    mean: float
    deviation: float
    weight: float


@dataclass(frozen=True, slots=True)
class CitationWeights:
    """Fitted weights of the verification of citations.

    Attributes
    ----------
    mixed
        The weight of each feature of the mixed verifier, by name.
    calibrations
        The meaning of the scores of verifiers, by name.
    missing
        Weights that find what a source lacks.
    """

    mixed: Mapping[str, FeatureWeight]
    calibrations: Mapping[str, ScoreCalibration]
    missing: MissingWords

    @classmethod
    def read(cls, path: Path) -> CitationWeights:
        """Read a file of weights.

        Raises
        ------
        AdmiralError
            If it is not such a file, with the field.
        """
        try:
            record = read_weights(path, ("mixed", "calibrations", "missing"))
            for name in ("mixed", "calibrations"):
                if not isinstance(record[name], dict) or not record[name]:
                    raise bad_field(path, name, "expected an object with entries")
            mixed = {
                name: _feature(path, f"mixed.{name}", value)
                for name, value in record["mixed"].items()
            }
            calibrations = {
                name: ScoreCalibration.parse(path, f"calibrations.{name}", value)
                for name, value in record["calibrations"].items()
            }
            return cls(mixed, calibrations, MissingWords.parse(path, "missing", record["missing"]))
        except ValueError as error:
            raise AdmiralError(str(error)) from error

    @classmethod
    def bundled(cls) -> CitationWeights:
        """Return the bundled weights."""
        return _bundled()

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        record: dict[str, Any] = {
            "mixed": {name: asdict(weight) for name, weight in self.mixed.items()},
            "calibrations": {name: each.to_json() for name, each in self.calibrations.items()},
            "missing": self.missing.to_json(),
        }
        return json.dumps(record, indent=1) + "\n"


def _feature(path: Path, where: str, record: Any) -> FeatureWeight:
    values = fields(path, where, record, _FEATURE)
    weight = FeatureWeight(*(number(path, f"{where}.{name}", values[name]) for name in _FEATURE))
    if weight.deviation <= 0:
        raise bad_field(path, f"{where}.deviation", "expected a number above 0")
    return weight


@cache
def _bundled() -> CitationWeights:
    with resources.as_file(resources.files("admiral") / "data" / "citations.json") as path:
        return CitationWeights.read(path)
