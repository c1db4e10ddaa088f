"""The temperature of a verifier, one fitted number that calibrates its probabilities.

The outputs of the classifier are divided by it: above 1, probabilities become less extreme. It is
in a JSON file beside the weights, which `training.calibration` writes.
"""

from __future__ import annotations

import json
from pathlib import Path

#: Name of the file in the directory of a verifier.
TEMPERATURE = "temperature.json"
#: Lowest and highest temperature that a file may hold.
BOUNDS = (0.01, 100.0)


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
    remedy = "fit it anew with training.calibration, or delete the file"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a file of a temperature ({error}); {remedy}") from None
    value = record.get("temperature") if isinstance(record, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{path}: field 'temperature': expected a number; {remedy}")
    if not BOUNDS[0] <= value <= BOUNDS[1]:
        low, high = BOUNDS
        raise ValueError(
            f"{path}: field 'temperature': {value} is not from {low} to {high}; {remedy}"
        )
    return float(value)


def temperature_json(temperature: float) -> str:
    """Return the text of a file that `read_temperature` reads."""
    return json.dumps({"temperature": temperature}) + "\n"
