"""Choose the title of a file among its headings, its metadata and its name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from admiral.kb.corpus.files.file_types import manual_name, stem

_LONGEST_TITLE = 200  # characters; a longer one is a paragraph that looks like a title
# What the first headings and the metadata of many files say, which tells nothing about them.
_GENERIC = re.compile(
    r"about|abstract|acknowledge?ments|api|api reference|authors?|change ?log|changes|contents|"
    r"contributing|contributors|copying|credits|description|document|documentation|faq|features|"
    r"general information|getting started|history|home|(?:my )?home ?page|index|install|"
    r"installation|introduction|licen[cs]e|main|maintainers|name|(?:older )?news|notes|overview|"
    r"page|page \d+|preface|presentation|quick ?start|readme|reference|release notes|requirements|"
    r"section|slide 1|summary|synopsis|table of contents|thanks|this page has moved|title|todo|toc|"
    r"untitled|untitled document|usage|welcome|powerpoint presentation|"
    r"microsoft (?:word|powerpoint) - .*|.*\.(?:docx?|dvi|tex|indd|pptx?)",
    re.IGNORECASE,
)
# Names that programs give to sheets, in some languages.
_NAME_OF_SHEET = re.compile(
    r"(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|ark|arkusz|list|лист|data) ?\d*",
    re.IGNORECASE,
)
# The number of a chapter or section: "2.1. ", "3) ", "Appendix B: ". "2.1 " may be a version. The
# numbers of "1. SC Bad Neuenahr" and "Section 31 notice" belong to names.
_NUMBER = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3})*[.)](?!\s+(?:[A-Z]{2,4}\s+[^\W\d_a-z]|(?:Bundes)?[Ll]iga\b|Division\b))"
    r"|(?i:appendix|chapter|part|section) (?:\d{1,3}(?:[.:]|(?=\s+[^\W\d_a-z]))"
    r"|(?i:[ivxlc]+|[a-z])[.:]))\s+(?=.*[^\W\d_])"
)


def choose_title(titles: Sequence[str], name: str) -> str:
    """Return the title of a file, given its possible titles, best first, and its name.

    It is the first one that tells something about the file, without the number of a section, or
    else the name. The title of a manual page is what `man` calls it: its head may name the group
    that it belongs to, or spell its name in another way.
    """
    if page := manual_name(name):
        return page
    return _telling_title(titles) or title_from_name(name)


def title_of_part(titles: Sequence[str], name: str, title: str) -> str:
    """Return the title of a sheet or an attachment.

    Parameters
    ----------
    titles
        Its possible titles, best first.
    name
        Its name within its file.
    title
        Title of the file, which stands before a name that tells nothing by itself.
    """
    found = _telling_title(titles)
    return found if found and not _NAME_OF_SHEET.fullmatch(found) else f"{title}: {name}"


def _telling_title(titles: Sequence[str]) -> str | None:
    for title in map(without_number, titles):
        if len(title) <= _LONGEST_TITLE and not _GENERIC.fullmatch(title.strip(" :#.")):
            return title
    return None


def without_number(heading: str) -> str:
    """Return a heading without the number of its chapter or section."""
    return _NUMBER.sub("", heading, count=1) if _NUMBER.match(heading) else heading


def title_from_name(name: str) -> str:
    """Return the name of a file without its suffix, with spaces for underscores.

    A manual page is called as `man` calls it, such as ``mount(8)``.
    """
    return manual_name(name) or stem(name).replace("_", " ").strip() or name
