"""Choose the title of a file among its headings, its metadata and its name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from admiral.kb.corpus.files.file_types import manual_name, stem

_LONGEST_TITLE = 200  # characters; a longer one is a paragraph that looks like a title
# What the first headings and the metadata of many files say, which tells nothing about them.
_GENERIC = re.compile(
    r"about|abstract|api|api reference|change ?log|changes|contents|contributing|copying|"
    r"description|document|documentation|faq|features|getting started|history|home|index|install|"
    r"installation|introduction|licen[cs]e|main|name|news|notes|overview|page|page \d+|preface|"
    r"presentation|quick ?start|readme|reference|section|slide 1|summary|synopsis|"
    r"table of contents|title|todo|toc|untitled|untitled document|usage|welcome|"
    r"microsoft (?:word|powerpoint) - .*|.*\.(?:docx?|dvi|tex|indd|pptx?)",
    re.IGNORECASE,
)


def choose_title(titles: Sequence[str], name: str) -> str:
    """Return the first title that tells something about the file, or else the name of the file."""
    for title in titles:
        if len(title) <= _LONGEST_TITLE and not _GENERIC.fullmatch(title.strip(" :#.")):
            return title
    return title_from_name(name)


def title_from_name(name: str) -> str:
    """Return the name of a file without its suffix, with spaces for underscores.

    A manual page is called as `man` calls it, such as ``mount(8)``.
    """
    return manual_name(name) or stem(name).replace("_", " ").strip() or name
