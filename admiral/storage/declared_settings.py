"""Settings declared once: type, default, allowed values and help of each.

A class of settings is a dataclass whose fields are made by `setting`. Its validation and docstring,
the commented YAML file, the help of command line options and the tables of the documentation are
all derived from these declarations. Settings are read from the defaults of the class, then a YAML
file, then ``key=value`` overrides.
"""

from __future__ import annotations

import difflib
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from admiral.errors import AdmiralError, first_line

if TYPE_CHECKING:  # imported where files are read: it takes a tenth of a second
    from omegaconf import DictConfig

T = TypeVar("T")

_KEY = "setting"  # of the metadata of a dataclass field
_WIDTH = 98


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of one setting."""

    name: str
    type: type
    default: Any
    section: str
    help: str  # one or more sentences; the first one is the help of its command line option
    # allowed values and what each of them means; empty if others are allowed
    choices: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    # pattern, format: regular expression that values match, and what it allows, in words
    pattern: str = ""
    format: str = ""
    is_file: bool = False  # whether the value is the path of a file or folder, or empty
    affects_results: bool = True  # whether it decides what a run returns, and not only how fast

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        types = (int, float) if self.type is float else self.type
        if not isinstance(value, types) or (isinstance(value, bool) and self.type is not bool):
            actual = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
            return f"{value!r} is of type {actual}, not {self.type.__name__}"
        if self.choices and value not in self.choices:
            return f"{value!r} is not one of {', '.join(self.choices)}"
        if self.pattern and not re.fullmatch(self.pattern, str(value)):
            return f"{value!r} is not {self.format}" if value else f"is empty; give {self.format}"
        if self.bounds is not None:
            number, (minimum, maximum) = cast(float, value), self.bounds
            if not number <= maximum:  # such as nan
                return f"{value} is too large; the maximum is {maximum}"
            if number < minimum:
                return f"{value} is too small; the minimum is {minimum}"
        return None

    @property
    def summary(self) -> str:
        """The first sentence of the help, without Markdown."""
        return _plain(self.help).partition(". ")[0].removesuffix(".") + "."

    @property
    def allowed(self) -> str:
        """The allowed values in words, without those that `choices` explains; may be empty."""
        if self.bounds is not None:
            return f"From {self.bounds[0]:,} to {self.bounds[1]:,}."
        return ""


def setting(default: Any, help: str, *, section: str = "", **rules: Any) -> Any:
    """Declare a field of a dataclass of settings.

    `default`: its default, a scalar that is not None. `help`: see `Setting`; names in it may be in
    backticks. `section`: heading of this setting and of those after it, up to the next one that has
    a heading.
    """
    return field(default=default, metadata={_KEY: {"help": help, "section": section, **rules}})


def declared_settings(kind: type) -> tuple[Setting, ...]:
    """Return the settings of a dataclass, in their order."""
    settings, section = [], ""
    for each in fields(cast(Any, kind)):
        rules = dict(each.metadata[_KEY])
        section = rules.pop("section") or section
        settings.append(
            Setting(each.name, type(each.default), each.default, section=section, **rules)
        )
    return tuple(settings)


def value_problems(config: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, what is wrong) for each setting whose value its declaration does not allow."""
    for declared in declared_settings(type(config)):
        if problem := declared.problem(getattr(config, declared.name)):
            yield declared.name, problem


def documented(kind: type[T]) -> type[T]:
    """Append the numpydoc section of the attributes to a class of settings; a class decorator."""
    lines = ["", "    Attributes", "    ----------"]
    for declared in declared_settings(kind):
        lines.append(f"    {declared.name} : {declared.type.__name__}")
        choices = [f"``{name}``: {text}." for name, text in declared.choices.items()]
        text = " ".join(filter(None, [declared.help, declared.allowed, *choices]))
        lines += textwrap.wrap(text, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    kind.__doc__ = f"{(kind.__doc__ or '').rstrip()}\n" + "\n".join(lines) + "\n"
    return kind


def settings_yaml(kind: type, heading: str) -> str:
    """Return a YAML file of all settings with their defaults and comments."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, settings in _sections(kind):
        lines += ["", "", f"# {section}", f"# {'-' * len(section)}"]
        for declared in settings:
            lines += ["", *_comment(declared), f"{declared.name}: {_yaml_value(declared.default)}"]
    return "\n".join(lines) + "\n"


def settings_tables(kind: type, option: Callable[[str], str | None]) -> str:
    """Return all settings as sections and tables of Markdown."""
    lines = []
    for section, settings in _sections(kind):
        lines += ["", f"## {section}", "", "| setting | default | meaning |", "|---|---|---|"]
        for declared in settings:
            own = option(declared.name)
            name = f"`{declared.name}`" + (f"<br>`{own}`" if own else "")
            default = "" if declared.default == "" else f"`{_yaml_value(declared.default)}`"
            choices = "".join(f"<br>`{value}`: {text}" for value, text in declared.choices.items())
            meaning = " ".join(filter(None, [declared.help, declared.allowed])) + choices
            lines.append(f"| {name} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def _sections(kind: type) -> Iterator[tuple[str, Sequence[Setting]]]:
    settings = declared_settings(kind)
    for section in dict.fromkeys(declared.section for declared in settings):
        yield section, [declared for declared in settings if declared.section == section]


def _comment(declared: Setting) -> Iterator[str]:
    text = " ".join(filter(None, [declared.help, declared.allowed]))
    for line in textwrap.wrap(_plain(text), _WIDTH, break_on_hyphens=False):
        yield f"# {line}"
    width = max(map(len, declared.choices), default=0)
    for value, meaning in declared.choices.items():
        yield from textwrap.wrap(
            _plain(meaning),
            _WIDTH,
            initial_indent=f"#   {value:<{width}}  ",
            subsequent_indent=f"#   {'':<{width}}  ",
            break_on_hyphens=False,
        )


def _yaml_value(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else json.dumps(value)


def _plain(text: str) -> str:
    return text.replace("`", "'")


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
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

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
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

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

    import yaml
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

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
