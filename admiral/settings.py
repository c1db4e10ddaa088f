"""Base of all settings: read from a YAML file and ``key=value`` overrides, and printed.

A class of settings is a pydantic model whose fields are followed by their description. Its first
paragraph may be followed by a list of the allowed values with their meaning. The commented YAML
file, the help of options of the command line and the tables of the documentation come from it.
"""

from __future__ import annotations

import difflib
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from admiral.errors import AdmiralError

# Larger numbers are typing errors, and too much for torch, Java or 32-bit integers.
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1)]
#: The path of a file or folder, or empty.
FileName = Annotated[str, "file"]

_WIDTH = 98


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
            if isinstance(value, (dict, list)):
                raise AdmiralError(f"{origin}: key {key!r}: {value!r} is not a single value")
            texts[key] = value if isinstance(value, str) else json.dumps(value)
            origins[key] = f"{origin}: key {key!r}"
        try:
            return cls.model_validate_strings(texts)
        except ValidationError as error:
            raise cls._explained(error, origins) from error

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other values; raise AdmiralError if one is not allowed."""
        try:
            return type(self)(**{**self.__dict__, **changes})
        except ValidationError as error:
            raise self._explained(error, {}) from error

    @classmethod
    def _explained(cls, error: ValidationError, origins: Mapping[str, str]) -> AdmiralError:
        first = error.errors()[0]
        key = str(first["loc"][0])
        # Such as "Input should be less than or equal to 1" and "Value error, is empty".
        problem = re.sub("^(Input|String) ", f"{first['input']!r} ", first["msg"])
        problem = problem.removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            close = difflib.get_close_matches(key, cls.model_fields, n=1)
            known = ", ".join(cls.model_fields)
            remedy = f"Did you mean {close[0]!r}?" if close else f"Known keys: {known}."
            problem = f"no such setting. {remedy}"
        return AdmiralError(f"{origins.get(key, f'setting {key!r}')}: {problem}")


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
        loaded = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise AdmiralError(f"{path}: the configuration cannot be read: {reason}") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise AdmiralError(f"{path}: not a YAML file of settings: {reason}") from error
    if not isinstance(loaded, dict | None):
        raise AdmiralError(f"{path}: expected lines of the form 'key: value'")
    yield from ((str(path), key, value) for key, value in (loaded or {}).items())


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
        return _plain(self.meaning).partition(". ")[0].removesuffix(".") + "."


def described(kind: type[Settings]) -> list[Setting]:
    """Return the settings of a class, its own before those that it inherits."""
    classes = [each for each in kind.__mro__ if issubclass(each, Settings)]
    names = {each: [n for n in each.__annotations__ if n in kind.model_fields] for each in classes}
    sections: dict[str, str] = {}
    texts: dict[str, str] = {}  # a setting whose default is declared anew keeps its description
    for each in reversed(classes):
        section = ""
        for name in names[each]:
            section = each.headings.get(name) or sections.get(name) or section
            sections[name] = section
            texts[name] = each.model_fields[name].description or texts[name]
    ordered = dict.fromkeys(name for each in classes for name in names[each])
    return [_described(kind, name, sections[name], texts[name]) for name in ordered]


def _described(kind: type[Settings], name: str, section: str, text: str) -> Setting:
    field = kind.model_fields[name]
    meaning, *items = (" ".join(part.split()) for part in re.split(r"\n+- ", text))
    choices = dict(item.removeprefix("`").split("`: ", 1) for item in items)
    least, most = (
        next((getattr(rule, key) for rule in field.metadata if hasattr(rule, key)), None)
        for key in ("ge", "le")
    )
    if most is not None:
        meaning += f" From {least:,} to {most:,}."
    return Setting(name, field.default, section, meaning, choices)


def settings_yaml(kind: type[Settings], heading: str) -> str:
    """Return a YAML file of all settings with their defaults and comments."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, settings in _sections(kind):
        lines += ["", "", f"# {section}", f"# {'-' * len(section)}"]
        for each in settings:
            lines += ["", *_comment(each), f"{each.name}: {_yaml_value(each.default)}"]
    return "\n".join(lines) + "\n"


def settings_tables(kind: type[Settings], option: Callable[[str], str | None]) -> str:
    """Return all settings as sections and tables of Markdown."""
    lines = []
    for section, settings in _sections(kind):
        lines += ["", f"## {section}", "", "| setting | default | meaning |", "|---|---|---|"]
        for each in settings:
            own = option(each.name)
            name = f"`{each.name}`" + (f"<br>`{own}`" if own else "")
            default = "" if each.default == "" else f"`{_yaml_value(each.default)}`"
            choices = "".join(f"<br>`{value}`: {text}" for value, text in each.choices.items())
            lines.append(f"| {name} | {default} | {each.meaning}{choices} |")
    return "\n".join(lines) + "\n"


def _sections(kind: type[Settings]) -> Iterator[tuple[str, list[Setting]]]:
    settings = described(kind)
    for section in dict.fromkeys(each.section for each in settings):
        yield section, [each for each in settings if each.section == section]


def _comment(setting: Setting) -> Iterator[str]:
    width = max(map(len, setting.choices), default=0)
    for line in textwrap.wrap(_plain(setting.meaning), _WIDTH, break_on_hyphens=False):
        yield f"# {line}"
    for value, meaning in setting.choices.items():
        first, later = (f"#   {text:<{width}}  " for text in (value, ""))
        yield from textwrap.wrap(
            _plain(meaning),
            _WIDTH,
            initial_indent=first,
            subsequent_indent=later,
            break_on_hyphens=False,
        )


def _yaml_value(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else json.dumps(value)


def _plain(text: str) -> str:
    return text.replace("`", "'")
