"""The settings as they are declared, for people: a YAML file with comments, and tables."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from admiral.settings import Settings


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


def settings_yaml(kind: type[Settings], heading: str) -> str:
    """Return a YAML file of all settings with their defaults and comments."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, settings in _sections(kind):
        lines += ["", "", f"# {section}", f"# {'-' * len(section)}"]
        for each in settings:
            lines += ["", *_comment("# ", each.meaning)]
            for value, meaning in each.choices.items():
                lines += _comment("#   ", f"{value}: {meaning}")
            lines.append(f"{each.name}: {_yaml_value(each.default)}")
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


def _comment(start: str, text: str) -> list[str]:
    later = start if start == "# " else f"{start}  "
    return textwrap.wrap(
        _plain(text), 98, initial_indent=start, subsequent_indent=later, break_on_hyphens=False
    )


def _yaml_value(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else json.dumps(value)


def _plain(text: str) -> str:
    return text.replace("`", "'")
