"""Fields of an experiment's file: what has to be there, and of which kind."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError


def check_keys(content: Any, keys: Sequence[str], where: str) -> None:
    """Raise `AdmiralError` for the first key that is none of `keys`, with the likeliest of them."""
    for key in content:
        if key not in keys:
            close = difflib.get_close_matches(str(key), keys, n=1)
            remedy = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(keys)}."
            raise AdmiralError(f"{where}: key {key!r}: there is no such key. {remedy}")


def mapping(value: Any, path: Path, key: str) -> dict[str, Any]:
    """Return a value that has to be a mapping."""
    if not isinstance(value, dict):
        raise AdmiralError(f"{path}: key {key!r}: expected 'key: value' lines, found {value!r}")
    return value


def text(content: dict[str, Any], key: str, where: str) -> str:
    """Return the text of a key."""
    value = content.get(key)
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        raise AdmiralError(f"{where}: key {key!r}: is missing or not text")
    return str(value)


def choice(content: dict[str, Any], key: str, choices: Sequence[str], path: Path) -> str:
    """Return the text of a key that has to be one of `choices`."""
    value = text(content, key, str(path))
    if value not in choices:
        raise AdmiralError(f"{path}: key {key!r}: {value!r} is not one of {', '.join(choices)}")
    return value


def listed(content: dict[str, Any], key: str, where: str) -> list[Any]:
    """Return the list of a key, empty where it is not given."""
    value = content.get(key) or []
    if not isinstance(value, list):
        raise AdmiralError(f"{where}: key {key!r}: {value!r} is not a list")
    return value


def count(content: dict[str, Any], key: str, where: str) -> int:
    """Return the number of a key, 0 where it is not given."""
    return number(content[key], where, key, least=0) if key in content else 0


def number(value: Any, where: str, key: str, least: int = 1) -> int:
    """Return a value that has to be a whole number from `least` on."""
    try:
        whole = int(str(value))
    except ValueError:
        whole = -1
    if whole < least or isinstance(value, bool):
        raise AdmiralError(f"{where}: key {key!r}: {value!r} is not a number from {least} on")
    return whole
