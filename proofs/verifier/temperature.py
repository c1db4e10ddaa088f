"""The temperature of a verifier, fitted numbers that calibrate its probabilities.

The outputs of a classifier are divided by it: above 1, probabilities become less extreme. It is
in a JSON file beside the weights: one number, or one for each kind of evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proofs.verifier.reading import Sentence

#: Name of the file in the directory of a verifier.
TEMPERATURE = "temperature.json"
#: Lowest and highest temperature that a file may hold.
BOUNDS = (0.01, 100.0)
_REMEDY = "fit it anew with training.calibration, or delete the file"


@dataclass(frozen=True, slots=True)
class Temperatures:
    """A temperature for each kind of evidence.

    Attributes
    ----------
    sentence
        That of one sentence.
    document
        That of several sentences of one document.
    documents
        That of sentences of several documents.
    """

    sentence: float = 1.0
    document: float = 1.0
    documents: float = 1.0

    def of(self, evidence: Sequence[Sentence]) -> float:
        """Return the temperature of evidence, pairs of title and sentence."""
        if len(evidence) < 2:
            return self.sentence
        return self.document if len({title for title, _ in evidence}) == 1 else self.documents


def parse_temperatures(record: Mapping[str, Any], where: str, remedy: str) -> Temperatures:
    """Return the temperatures that the fields of a record hold; those without a field are 1.

    Parameters
    ----------
    record
        The record, with one field for each kind of evidence.
    where
        Where it is from, for errors.
    remedy
        What to do about errors.

    Raises
    ------
    ValueError
        If a field is no number within `BOUNDS`, or unknown.
    """
    known = asdict(Temperatures())
    if unknown := sorted(record.keys() - known.keys()):
        raise ValueError(f"{where}: field '{unknown[0]}' is unknown; {remedy}")
    return Temperatures(**{name: _number(record, name, where, remedy) for name in record})


def read_temperatures(directory: Path) -> Temperatures:
    """Return the temperatures of the verifier in a directory; 1 if none were fitted.

    A file with the field ``temperature`` alone holds one for all kinds of evidence.

    Raises
    ------
    ValueError
        If the file holds anything else, with the file, the field and the remedy.
    """
    path = directory / TEMPERATURE
    if not path.exists():
        return Temperatures()
    record = _read_record(path)
    if record.keys() & asdict(Temperatures()).keys():
        return parse_temperatures(record, str(path), _REMEDY)
    value = _number(record, "temperature", str(path), _REMEDY)
    return Temperatures(value, value, value)


def read_temperature(directory: Path) -> float:
    """Return the temperature of the verifier in a directory; 1 if none was fitted.

    Raises
    ------
    ValueError
        If the file holds anything else, with the file, the field and the remedy.
    """
    path = directory / TEMPERATURE
    if not path.exists():
        return 1.0
    return _number(_read_record(path), "temperature", str(path), _REMEDY)


def temperature_json(temperature: float) -> str:
    """Return the text of a file that `read_temperature` reads."""
    return json.dumps({"temperature": temperature}) + "\n"


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a file of a temperature ({error}); {_REMEDY}") from None
    return record if isinstance(record, dict) else {}


def _number(record: Mapping[str, Any], name: str, where: str, remedy: str) -> float:
    value = record.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{where}: field '{name}': expected a number; {remedy}")
    low, high = BOUNDS
    if not low <= value <= high:
        raise ValueError(f"{where}: field '{name}': {value} is not from {low} to {high}; {remedy}")
    return float(value)
