"""The settings as they are declared, for people: a YAML file with comments, and tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from admiral.settings import Setting, Settings, described, plain


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
        plain(text), 98, initial_indent=start, subsequent_indent=later, break_on_hyphens=False
    )


def _yaml_value(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else json.dumps(value)
