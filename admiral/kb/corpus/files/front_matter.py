"""Split the front matter of a Markdown file, in YAML or TOML, from its text."""

from __future__ import annotations

import re
import tomllib

import yaml

_FENCED = re.compile(
    r"(?:(---)[ \t]*\n(.*?)^(?:---|\.\.\.)|(\+\+\+)[ \t]*\n(.*?)^\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LONGEST = 1 << 16  # characters
_KEY = re.compile(r"""(["']?)[A-Za-z_][\w. -]*\1[:=](?:\s|$)|[A-Za-z_][\w.-]* *=""")


def split_front_matter(source: str) -> tuple[str, str]:
    """Return the title that front matter gives, or an empty string, and the text after it.

    What stands between two rules is text, unless it begins with a key.
    """
    match = _FENCED.match(source[:_LONGEST])
    if match is None:
        return "", source
    matter = match[2] if match[1] else match[4]
    lines = (line.strip() for line in matter.split("\n"))
    first = next((line for line in lines if line and not line.startswith("#")), None)
    if first is not None and not _KEY.match(first):
        return "", source
    return _title(matter, is_yaml=bool(match[1])), source[match.end() :]


def _title(matter: str, *, is_yaml: bool) -> str:
    """Return the field ``title`` as it is written: 1984 is a title too."""
    try:
        # The base loader makes strings of all values, and no other objects.
        values = yaml.load(matter, yaml.BaseLoader) if is_yaml else tomllib.loads(matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        # Many are not quite YAML: "title: Lamps: a guide".
        for line in matter.split("\n"):
            key, _, value = line.partition(":")
            if key.lower() == "title":
                return value.strip().strip("\"'")
        return ""
    if not isinstance(values, dict):
        return ""
    title = next((v for k, v in values.items() if str(k).lower() == "title"), "")
    return "" if isinstance(title, dict | list | bool) else str(title)
