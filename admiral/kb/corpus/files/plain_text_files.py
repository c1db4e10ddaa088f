"""Read plain text: paragraphs, underlined headings and list items; rendered manual pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from admiral.io.text_cleaning import decode_text
from admiral.kb.corpus.files import TextBuilder

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
    before = len(paragraph[-1]) - len(paragraph[-1].lstrip())
    return indent < before and indent <= _MARGIN


def _add_paragraph(lines: Sequence[str], text: TextBuilder) -> None:
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
    return line[:1] != " " and len(re.findall(r"\s{3,}", line)) >= 2


def _name_in(lines: Sequence[str], name: str) -> str:
    for line in lines:
        for word in re.findall(r"[\w.+:@-]+", line):
            if word.lower() == name and not word.isupper():
                return str(word)
    return name


_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,}|~{3,}|\*{3,}|#{3,})\s*")
_ITEM = re.compile(r"\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])\s+(?=\S)")
_NEXT_ITEM = 20  # lines within which the item after a first one must begin
_LONGEST_HEADING = 100  # characters


def read_plain_text(data: bytes, text: TextBuilder) -> None:
    """Read a text file in UTF-8, UTF-16 or windows-1252."""
    add_plain_text(decode_text(data, text.notes), text)


def add_plain_text(source: str, text: TextBuilder) -> None:
    """Add a plain text."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if is_rendered_manual(lines):
        add_rendered_manual(lines, text)
        return
    paragraph: list[str] = []
    is_item = in_list = False
    number = 0  # of the latest item
    for position, line in enumerate([*lines, ""]):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        starts_item = _ITEM.match(line)
        if starts_item and starts_item["number"]:
            ahead = lines[position + 1 : position + _NEXT_ITEM]
            if paragraph and _is_wrapped(int(starts_item["number"]), number, paragraph[-1], ahead):
                starts_item = None
            else:
                number = int(starts_item["number"])
        if line.strip() and not starts_item and not _ends_paragraph(line, following):
            if not _UNDERLINE.fullmatch(line):
                paragraph.append(line)
            continue
        if paragraph:
            (text.item if is_item else text.paragraph)("\n".join(paragraph))
            in_list = is_item
        paragraph, is_item = [], False
        if starts_item:
            if not in_list:
                text.begin_list()
            paragraph, is_item, in_list = [line[starts_item.end() :]], True, True
        elif line.strip():
            text.heading(1, line)
            in_list = False


def _is_wrapped(number: int, latest: int, before: str, ahead: Sequence[str]) -> bool:
    """Return whether a line begins with the last number of a sentence instead of that of an item.

    - `number`: the number at the beginning of the line.
    - `before`, `ahead`: the line before, and some lines after it.
    """
    if before.rstrip().endswith((".", ":", "!", "?", ";")) or number == latest + 1 > 1:
        return False
    items = filter(None, map(_ITEM.match, ahead))
    return not any(item["number"] == str(number + 1) for item in items)


def _ends_paragraph(line: str, following: str) -> bool:
    return (
        bool(_UNDERLINE.fullmatch(following))
        and not _UNDERLINE.fullmatch(line)
        and len(line.strip()) < _LONGEST_HEADING
        and abs(len(following.strip()) - len(line.strip())) <= 3
    )
