"""Files of fitted weights: JSON in which every number has a name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# So that no sum overflows.
_LARGEST = 1_000_000
_REMEDY = "fit it anew"


def read_weights(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the object of a file, which has just these fields.

    Raises
    ------
    ValueError
        Naming the file and, where there is one, the field.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a file of weights ({error}); {_REMEDY}") from None
    return fields(path, "", record, names)


def fields(path: Path, where: str, record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return a part of a file that is an object with just these fields; errors as above.

    Parameters
    ----------
    where
        The field that holds it; empty for the whole.
    """
    if not isinstance(record, dict):
        raise bad_field(path, where, "expected an object")
    for name in sorted({*record, *names}):
        if (name in record) != (name in names):
            problem = "is missing" if name in names else "is unknown"
            raise bad_field(path, _inner(where, name), problem)
    return record


def numbers(path: Path, where: str, record: Any, names: Sequence[str]) -> dict[str, float]:
    """Return `fields` that are numbers, none of them infinite or huge; errors as above."""
    found = fields(path, where, record, names)
    return {name: number(path, _inner(where, name), found[name]) for name in names}


def number(path: Path, where: str, value: Any) -> float:
    """Return the value of a field that is a number, neither infinite nor huge; errors as above."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise bad_field(path, where, f"expected a number of at most {_LARGEST:,}")
    return float(value)


def bad_field(path: Path, where: str, problem: str) -> ValueError:
    """Return the error for a field; the whole where there is no name."""
    place = f"field {where!r}: " if where else ""
    return ValueError(f"{path}: {place}{problem}; {_REMEDY}")


def _inner(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
