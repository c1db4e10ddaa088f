"""Base of all settings: read from a YAML file and ``key=value`` overrides, and printed.

A class of settings is a pydantic model whose fields are followed by their description. Its first
paragraph may be followed by a list of the allowed values with their meaning. The commented YAML
file, the help of options of the command line and the tables of the documentation come from it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from admiral.errors import AdmiralError, problem_of

# Larger numbers are typing errors, and too much for torch, Java or 32-bit integers.
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1)]
#: The path of a file or folder, or empty.
FileName = Annotated[str, "file"]


class Settings(BaseModel):
    """Settings that are valid and do not change; `changed` returns others."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )
    #: Heading of a setting and of those after it, by its name.
    headings: ClassVar[dict[str, str]] = {}

    @classmethod
    def read(cls, path: Path | None = None, overrides: Sequence[str] = ()) -> Self:
        """Return the settings of a YAML file and ``key=value`` overrides, which precede it."""
        return cls.build([*_file_items(path), *map(parse_override, overrides)])

    @classmethod
    def build(cls, items: Iterable[tuple[str, str, Any]]) -> Self:
        """Return the settings of (origin, key, value), of which later ones take precedence.

        Values may be given as text. The origin, such as a file, is for messages. Raises
        AdmiralError as `read`.
        """
        texts, origins = {}, {}
        for origin, key, value in items:
            if isinstance(value, dict | list):
                raise AdmiralError(f"{origin}: key {key!r}: {value!r} is not a single value")
            texts[key] = value if isinstance(value, str) else json.dumps(value)
            origins[key] = f"{origin}: key {key!r}"
        return cls._validated(cls.model_validate_strings, texts, origins)

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other values; raise AdmiralError if one is not allowed."""
        return self._validated(self.model_validate, {**self.__dict__, **changes}, {})

    @classmethod
    def _validated(
        cls, validate: Callable[[Any], Self], values: Mapping[str, Any], origins: Mapping[str, str]
    ) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            key, problem = str(error.errors()[0]["loc"][0]), problem_of(error)[1]
            if key not in cls.model_fields:
                close = difflib.get_close_matches(key, cls.model_fields, n=1)
                known = f"Known keys: {', '.join(cls.model_fields)}."
                problem = f"no such setting. {f'Did you mean {close[0]!r}?' if close else known}"
            raise AdmiralError(f"{origins.get(key, f'setting {key!r}')}: {problem}") from error


def parse_override(override: str) -> tuple[str, str, str]:
    """Split ``key=value`` into (override, key, value); raise `AdmiralError` for other text."""
    key, equals, value = override.partition("=")
    if not equals or not key.strip():
        raise AdmiralError(f"setting {override!r}: expected key=value")
    return override, key.strip(), value.strip()


def _file_items(path: Path | None) -> Iterator[tuple[str, str, Any]]:
    if path is None:
        return
    try:
        # Scalars stay text, which the fields parse: YAML itself takes 1e-4 for text, and no for
        # false.
        loaded = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader) or {}
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise AdmiralError(
            f"{path}: cannot be read as a YAML file of settings: {reason}"
        ) from error
    if not isinstance(loaded, dict):
        raise AdmiralError(f"{path}: expected lines of the form 'key: value'")
    yield from ((str(path), key, value) for key, value in loaded.items())
