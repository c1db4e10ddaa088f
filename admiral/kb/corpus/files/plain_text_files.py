"""Read plain text: paragraphs, underlined headings and list items."""

from __future__ import annotations

import re
from collections.abc import Sequence

from admiral.io.text_cleaning import decode_text
from admiral.kb.corpus.files import TextBuilder

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
