"""Read manual pages as ``man`` prints them, with or without backspaces for bold type."""

from __future__ import annotations

import re
from collections.abc import Sequence

from admiral.kb.corpus.files.extraction import TextBuilder

_OVERSTRIKE = re.compile(r".\x08")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_PAGE = re.compile(r"([\w.+:@-]{1,80}\([0-9n]\w{0,5}\))\s.*\s\1", re.IGNORECASE)
_FIRST_LINES = 10
_SUBHEADING, _MARGIN = 3, 7  # columns
_TAG = re.compile(r"-{1,2}\w|[A-Z_]{2,}$|/\w")  # begins an option, a variable or a path


def is_rendered_manual(lines: Sequence[str]) -> bool:
    """Return whether a text begins with the head of a manual page: ``LS(1)  ...  LS(1)``."""
    return any(_PAGE.fullmatch(_plain(line).strip()) for line in lines[:_FIRST_LINES])


def add_rendered_manual(lines: Sequence[str], text: TextBuilder) -> None:
    """Add a manual page that a terminal or a file shows.

    Flush-left lines are headings, lines indented by three columns are headings of the second level.
    The head and foot of the page are left out.
    """
    plain = [_plain(line) for line in lines]
    head = next(match for line in plain if (match := _PAGE.fullmatch(line.strip())))
    name, section = head.group(1).lower().rstrip(")").split("(")
    title = _name_in(plain, name)
    text.propose_title(f"{title}({section})")
    paragraph: list[str] = []
    for line in [*plain, ""]:
        indent = len(line) - len(line.lstrip())
        stripped = line.strip()
        is_break = not stripped or indent == 0 or indent == _SUBHEADING
        if is_break or (paragraph and _begins_new(paragraph, indent)):
            if paragraph:
                _add_paragraph(paragraph, text)
            paragraph = []
        if not stripped or _PAGE.fullmatch(stripped) or _is_foot(line):
            continue
        if indent == 0:
            text.heading(1, stripped)
        elif indent == _SUBHEADING:
            text.heading(2, stripped)
        else:
            paragraph.append(line)


def _begins_new(paragraph: Sequence[str], indent: int) -> bool:
    """Return whether a line that is indented less than the one before begins a paragraph."""
    before = len(paragraph[-1]) - len(paragraph[-1].lstrip())
    return indent < before and indent <= _MARGIN


def _add_paragraph(lines: Sequence[str], text: TextBuilder) -> None:
    """Add a paragraph; a first line that is indented less than the others is a term."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    first = lines[0].strip()
    gap = re.search(r"(?<=\S)\s{2,}(?=\S)", first)
    if _TAG.match(first) and gap:
        text.definition(first[: gap.start()], _joined([first[gap.end() :], *lines[1:]]))
    elif _TAG.match(first) and len(lines) > 1 and indents[0] < indents[1]:
        text.definition(first, _joined(lines[1:]))
    else:
        text.paragraph(_joined(lines))


def _joined(lines: Sequence[str]) -> str:
    """Join lines, and words that were hyphenated at their ends."""
    joined = ""
    for line in map(str.strip, lines):
        if joined.endswith("‐") and line[:1].islower():
            joined = joined[:-1] + line
        else:
            joined = f"{joined} {line}"
    return joined.replace("‐", "-").replace("−", "-")


def _plain(line: str) -> str:
    return _ESCAPE.sub("", _OVERSTRIKE.sub("", line)).expandtabs().rstrip()


def _is_foot(line: str) -> bool:
    """Return whether a flush-left line is the foot: source, date and name, far apart."""
    return line[:1] != " " and len(re.findall(r"\s{3,}", line)) >= 2


def _name_in(lines: Sequence[str], name: str) -> str:
    """Return the name as the section NAME spells it: the head may be in capitals."""
    for line in lines:
        for word in re.findall(r"[\w.+:@-]+", line):
            if word.lower() == name and not word.isupper():
                return str(word)
    return name
