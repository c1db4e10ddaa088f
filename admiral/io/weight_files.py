"""Read files of fitted weights, in which every number has a name."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
