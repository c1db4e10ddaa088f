"""Write superscripts and subscripts on the line, so that digits never join.

Readers put marks around raised and lowered text, and `on_one_line` replaces them where the text
around is known: ``10^6``, ``m^2``, ``1st``, ``H2O``. Marks of notes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Literal

from proofs.logic.words import word_list

#: Where a piece of text stands.
Position = Literal["", "raised", "lowered"]

# Noncharacters of Unicode, which no text has for itself.
RAISED, RAISED_END, LOWERED, LOWERED_END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
#: What marks the text of the elements of HTML.
SCRIPT_MARKS = {"sup": (RAISED, RAISED_END), "sub": (LOWERED, LOWERED_END)}
_ANY = re.compile("[\ufdd0-\ufdd3]")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\ufdd0-\ufdd3]+(?=\d)")
_SCRIPT = re.compile("([\ufdd0\ufdd2])([^\ufdd0-\ufdd3]*)[\ufdd1\ufdd3]")
_FRACTION = re.compile(
    r"(?:(?<=(\d))\s*)?\ufdd0\s*(\d+)\s*\ufdd1\s*[/\u2044\u2215]\s*\ufdd2\s*(\d+)\s*\ufdd3"
)
_MARKS_OF_NOTES = re.compile(r"\[[^\[\]]*\]|\(\d{1,3}\)|[*†‡§¶#‖]+")
_LINKED_MARK = re.compile(
    r"[\[(]?\s*(?:(?:notes?|nb|fn|lower-alpha|n|cit\.?)\s*\.?\s*)?"
    r"(?:\d{1,4}|[a-z]{1,2}|[ivxlc]{1,6}|[*†‡§¶#‖]{1,3})(?:\s*[,;–-]\s*\d{1,4})*\s*[\])]?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*|[a-z]")
_SIGN = {"tm": "™", "sm": "℠", "(r)": "®"}
_UNIT = re.compile(
    r"(?:met(?:er|re)|kilomet(?:er|re)|centimet(?:er|re)|millimet(?:er|re)|mile|inche?|yard|second|"
    r"hectomet(?:er|re))s?|feet|foot",
    re.IGNORECASE,
)
# Short words that are no symbols or units.
_WORDS = word_list("a an as at be by do go he i if in is it me my no of on or so to up us we")
_QUANTITY_BEFORE = re.compile(r"\d\s?[^\W\d_]+\Z")
_WORD_BEFORE = re.compile(r"[^\W\d_]+\Z")
# A year in a sentence is not raised to a power.
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|by|from|during|year|after|before|around|about|circa|and|or|to|of|"
    r"January|February|March|April|May|June|July|August|September|October|November|December),?\s+"
    r"|[–/-])(?:1[1-9]|20)\d\d\Z"
)
_BEFORE = 30  # characters
_DEEPEST = 10  # scripts of scripts


def on_one_line(text: str) -> str:
    """Return a text with `RAISED` and `LOWERED` parts written on the line."""
    if not _ANY.search(text):
        return text
    text = _FRACTION.sub(lambda m: f"{' ' if m[1] else ''}{m[2]}/{m[3]}", text)
    for _ in range(_DEEPEST):  # the innermost first
        if not _SCRIPT.search(text):
            break
        text = _without_innermost(text)
    # A mark without its end, as in a paragraph that ends within it.
    return _ANY.sub("", _BETWEEN_DIGITS.sub("^", text))


def joined_text(pieces: Iterable[tuple[str, Position]]) -> str:
    """Return pieces of text on one line; pieces of one position that adjoin are one."""
    marked = (
        _marked("".join(text for text, _ in group), position)
        for position, group in groupby(pieces, lambda piece: piece[1])
    )
    return on_one_line("".join(marked))


def written(before: str, piece: str, position: Position) -> str:
    """Return a piece of text as it is written after another one."""
    if not position:
        return piece
    near = before[-_BEFORE:]
    # What follows is not known; a letter makes a number at the beginning of a word a part of it.
    return on_one_line(f"{near}{_marked(piece, position)}x")[len(near) : -1]


def _marked(text: str, position: Position) -> str:
    if not position:
        return text
    begin, end = (RAISED, RAISED_END) if position == "raised" else (LOWERED, LOWERED_END)
    return f"{begin}{text}{end}"


def is_note_mark(text: str) -> bool:
    """Return whether a text is the mark of a note, such as ``[2]``, ``12``, ``b`` or ``*``."""
    return bool(_LINKED_MARK.fullmatch(text.strip()))


def _without_innermost(text: str) -> str:
    parts: list[str] = []
    before = ""
    position = 0
    for match in _SCRIPT.finditer(text):
        plain = text[position : match.start()]
        before = (before + _ANY.sub("", plain))[-_BEFORE:]
        after = text[match.end() : match.end() + 1]
        write = _raised if match[1] == RAISED else _lowered
        script = write(" ".join(match[2].split()), before, after)
        if script[-1:].isdigit() and after.isdigit():
            script += " "
        before = (before + script)[-_BEFORE:]
        parts += (plain, script)
        position = match.end()
    return "".join((*parts, text[position:]))


def _raised(text: str, before: str, after: str) -> str:
    last = before[-1:]
    if text.lower() in _SIGN:
        return _SIGN[text.lower()]
    if _MARKS_OF_NOTES.fullmatch(text):
        return ""
    if _NUMBERS.fullmatch(text):
        if not last or last.isspace():
            # An isotope, or the number before a note.
            return text if after.isalpha() and text.isdecimal() else ""
        word = _WORD_BEFORE.search(before)
        is_word = word is not None and (
            (len(word[0]) > 3 and not _UNIT.fullmatch(word[0]))
            or (word[0] in _WORDS and not _QUANTITY_BEFORE.search(before))
        )
        is_year = text[0].isdigit() and _YEAR_BEFORE.search(before)
        if is_word or is_year or last in ".,;:!?…”’\"'»":
            return ""
        if text == "o" and last.isdigit():
            return "°"
        return f"^{text}"
    if not last or last.isspace() or not any(map(str.isalnum, text)):
        return text  # signs: Na+
    if len(text) > 1 and text.isalpha():
        return text  # 1st, Mme
    if " " in text:
        return f" {text}" if text.replace(" ", "").isalpha() else f"^({text})"
    return f"^{text}" if re.fullmatch(r"[+−–-]?[\w.,]+[+−–-]?", text) else f"^({text})"


def _lowered(text: str, before: str, after: str) -> str:
    last = before[-1:]
    if not last or last.isspace() or not text:
        return text
    if text[0].isdigit() and not last.isdigit():
        return text  # as chemists write
    return f" {text}" if " " in text else f"_{text}"
