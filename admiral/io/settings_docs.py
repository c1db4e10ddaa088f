"""The settings as they are declared, for people: a YAML file with comments, and tables."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping
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
    return _rendered("settings.yaml.txt", kind, heading=heading.splitlines())


def settings_tables(kind: type[Settings], option: Callable[[str], str | None]) -> str:
    """Return all settings as sections and tables of Markdown."""
    return _rendered("settings-tables.txt", kind, option=option)


def _rendered(template: str, kind: type[Settings], **values: object) -> str:
    from admiral.io.rendering import page_template  # options need it only now

    page = page_template(template, {"comment": _comment, "yaml": _yaml_value}, trim=True)
    sections: dict[str, list[Setting]] = {}
    for each in described(kind):
        sections.setdefault(each.section, []).append(each)
    return page.render(sections=sections, **values)


def _comment(text: str, start: str = "# ", later: str = "# ") -> str:
    return textwrap.fill(
        _plain(text), 98, initial_indent=start, subsequent_indent=later, break_on_hyphens=False
    )


def _yaml_value(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else json.dumps(value)


def _plain(text: str) -> str:
    return text.replace("`", "'")
