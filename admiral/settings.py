"""Base of all settings: read from a YAML file and ``key=value`` overrides, and printed.

A class of settings is a pydantic model whose fields are followed by their description. Its first
paragraph may be followed by a list of the allowed values with their meaning. The commented YAML
file, the help of options of the command line and the tables of the documentation come from it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        """Return the settings of a YAML file and ``key=value`` overrides, which precede it.

        Raises AdmiralError, which names the file or the override and the key, for an unreadable
        file, an unknown key and a value that is not allowed.
        """
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


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of one setting, for people."""

    name: str
    default: Any
    section: str
    meaning: str  # one or more sentences; the first one is the help of its command line option
    choices: Mapping[str, str]  # allowed values and what each of them means; empty if others are

    @property
    def summary(self) -> str:
        """The first sentence of the meaning, without Markdown."""
        return plain(self.meaning).partition(". ")[0].removesuffix(".") + "."


def described(kind: type[Settings]) -> list[Setting]:
    """Return the settings of a class, its own before those that it inherits."""
    sections: dict[str, str] = {}
    texts: dict[str, str] = {}  # a setting whose default is declared anew keeps its description
    order: list[str] = []
    for each in reversed(kind.__mro__):
        if issubclass(each, Settings):
            own = [name for name in each.__annotations__ if name in kind.model_fields]
            section = ""
            for name in own:
                section = each.headings.get(name) or sections.get(name) or section
                sections[name] = section
                texts[name] = each.model_fields[name].description or texts[name]
            order = list(dict.fromkeys([*own, *order]))
    return [_described(kind, name, sections[name], texts[name]) for name in order]


def _described(kind: type[Settings], name: str, section: str, text: str) -> Setting:
    field = kind.model_fields[name]
    meaning, *items = (" ".join(part.split()) for part in re.split(r"\n+- ", text))
    choices = dict(item.removeprefix("`").split("`: ", 1) for item in items)
    limits = {
        key: getattr(rule, key)
        for rule in field.metadata
        for key in ("ge", "le")
        if hasattr(rule, key)
    }
    if "le" in limits:
        meaning += f" From {limits['ge']:,} to {limits['le']:,}."
    return Setting(name, field.default, section, meaning, choices)


def plain(text: str) -> str:
    """Return a description without the marks of code."""
    return text.replace("`", "'")
