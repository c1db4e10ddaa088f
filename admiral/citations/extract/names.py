"""The names of templates, parameters and elements, from `names.yaml`."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import yaml

#: The names of templates and their parameters.
NAMES: dict[str, Any] = yaml.safe_load(
    (resources.files(__package__) / "names.yaml").read_text(encoding="utf-8")
)
_TAG_OF: dict[str, str] = {
    name: tag for tag, names in NAMES["tags"].items() for name in names.split(", ")
}
#: The tags that readers know.
TAGS = tuple(NAMES["tags"])


def names_of(*path: str) -> tuple[str, ...]:
    """Return the names of a list."""
    names = NAMES
    for key in path:
        names = names[key]
    return tuple(str(names).split(", "))


def tag_of(name: str) -> str:
    """Return the tag that a template, or the text of a mark, stands for; empty for others.

    `name`: name or text in any case, with spaces, hyphens or underscores between words.
    """
    words = " ".join(re.sub(r"[\s_]+", " ", name).casefold().split())
    return _TAG_OF.get(words) or _TAG_OF.get(words.replace("-", " "), "")


# Groups of footnotes that explain; all others, such as "web", hold sources.
_NOTE_GROUP = re.compile(
    r"(note|fn|footnote|nb|n|nota|explanatory note|annotation)s?\.?"
    r"|(lower|upper)-(alpha|roman|greek)|(?![brsw])[a-z]",  # b, r, s, w: books, sources, the web
    re.IGNORECASE,
)


def is_note_group(group: str) -> bool:
    """Return whether a group of references holds explanatory notes, by its name."""
    return bool(_NOTE_GROUP.fullmatch(group.strip()))
