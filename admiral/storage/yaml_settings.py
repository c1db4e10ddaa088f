"""Read settings: the defaults of a dataclass, then a YAML file, then ``key=value`` overrides."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from admiral.errors import AdmiralError, first_line

T = TypeVar("T")


def read_settings(
    kind: type[T],
    problems: Callable[[T], Iterable[tuple[str, str]]],
    path: Path | None = None,
    overrides: Sequence[str] = (),
) -> T:
    """Read and validate settings.

    `problems`: yields (key, problem and remedy) for each invalid value. `overrides`: ``key=value``
    strings. They take precedence over the file, and later ones over earlier ones. Raises
    AdmiralError if the file cannot be read, a key is unknown, or a value has the wrong type or is
    out of range. The message names the file or override, and the key.
    """
    items = (*_file_items(path), *map(parse_override, overrides))
    return build_settings(kind, problems, items)


def build_settings(
    kind: type[T],
    problems: Callable[[T], Iterable[tuple[str, str]]],
    items: Iterable[tuple[str, str, Any]],
) -> T:
    """Build and validate settings from a list of values.

    `items` are (origin, key, value), of which later ones take precedence. The origin, such as a
    file name, is for error messages. Raises AdmiralError in the same cases as `read_settings`.
    """
    config = OmegaConf.structured(kind)
    types: dict[str, type] = {f.name: type(f.default) for f in fields(cast(Any, kind))}
    origins: dict[str, str] = {}
    for origin, key, value in items:
        _set(config, types, origin, key, value)
        origins[key] = origin
    try:
        loaded = cast(T, OmegaConf.to_object(config))
    except OmegaConfBaseException as error:  # such as an interpolation of an unknown key
        key = error.full_key or ""
        origin = origins.get(key, "settings")
        raise AdmiralError(f"{origin}: key {key!r}: {first_line(error)}") from error
    for key, problem in problems(loaded):
        raise AdmiralError(f"{origins.get(key, 'default')}: key {key!r}: {problem}")
    return loaded


def _set(config: DictConfig, types: dict[str, type], origin: str, key: str, value: Any) -> None:
    if key not in types:
        close = difflib.get_close_matches(key, types, n=1)
        remedy = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(types)}."
        raise AdmiralError(f"{origin}: key {key!r}: no such setting. {remedy}")
    kind = types[key]
    # OmegaConf would silently convert true to 1.
    if kind in (int, float) and isinstance(value, bool):
        raise AdmiralError(f"{origin}: key {key!r}: {value} is not a number")
    try:
        OmegaConf.update(config, key, value)
    except (OmegaConfBaseException, ValueError) as error:
        raise AdmiralError(
            f"{origin}: key {key!r}: {value!r} is not of the type {kind.__name__}"
        ) from error


def _file_items(path: Path | None) -> Iterator[tuple[str, str, Any]]:
    if path is None:
        return
    try:
        loaded = OmegaConf.load(path)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise AdmiralError(f"{path}: the configuration cannot be read: {reason}") from error
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        reason = " ".join(str(error).split())
        raise AdmiralError(f"{path}: not a YAML file of settings: {reason}") from error
    if not isinstance(loaded, DictConfig):
        raise AdmiralError(f"{path}: expected lines of the form 'key: value', found a list")
    for key, value in OmegaConf.to_container(loaded, resolve=False).items():  # type: ignore[union-attr]
        yield str(path), str(key), value


def parse_override(override: str) -> tuple[str, str, str]:
    """Split ``key=value`` into (override, key, value); raise `AdmiralError` for other text."""
    key, equals, value = override.partition("=")
    if not equals or not key.strip():
        raise AdmiralError(f"setting {override!r}: expected key=value")
    # The text is converted by the typed field. Parsed as YAML, kb=1e5 or kb=yes would change.
    return override, key.strip(), value.strip()
