"""Write raised and lowered text on one line, so that no digit joins another number.

An exponent follows ``^``: ``10^6``, ``m^2``. A raised number after a word, a year or a punctuation
mark is the mark of a note, and is left out. All else joins the text: ``1st``, ``CO2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from admiral.kb.corpus.files.extraction import word_set

Position = Literal["", "raised", "lowered"]

_NUMBER = re.compile(r"[-−–+]?\d{1,4}(?:[.,/;–-]\s?\d{1,4})*[-−+]?")
_NOTE = re.compile(r"\[[^\]]{1,8}\]|[*†‡§]+")
_BASE = re.compile(r"(\d[\d.,]*|[^\W\d_]+|[)\]])$")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_AFTER_QUANTITY = re.compile(r"\d\s?[^\W\d_]{1,4}$")
# Longer words have no exponent, but for units: a number after them is that of a note.
_LONGEST_SYMBOL = 2
_UNITS = word_set("mol rad min yr yrs sec hr deg")
_WORDS = word_set("a an as at be by do go he i if in is it me my no of on or so to up us we")
# What is left of a raised and a lowered number with a bar: "5^1/2" is five and a half.
_FRACTION = re.compile(r"(?<=\d)\^(\d+)([/⁄])(\d+)")


def joined_text(pieces: Iterable[tuple[str, Position]]) -> str:
    """Return pieces of text on one line; pieces of one position that adjoin are one."""
    text = kept = ""
    last: Position = ""
    for piece, position in pieces:
        if position != last:
            text, kept, last = text + written(text, kept, last), "", position
        kept += piece
    return _FRACTION.sub(r" \1\2\3", text + written(text, kept, last))


def written(before: str, piece: str, position: Position) -> str:
    """Return a piece of text as it is written after another one."""
    if position == "lowered":
        return f"_{piece}" if before[-1:].isdigit() and piece[:1].isdigit() else piece
    if position == "raised":
        return _raised(before, piece.strip())
    return piece


def _raised(before: str, piece: str) -> str:
    if _NOTE.fullmatch(piece):
        return ""
    base = _BASE.search(before)
    if not _NUMBER.fullmatch(piece):
        is_letter = len(piece) == 1 and piece.isalpha() and before[-1:].isdigit()
        return f"^{piece}" if is_letter else piece
    if base is None:  # after a punctuation mark; at the beginning of a word, a part of it: 14C
        return piece if not before or before[-1].isspace() else ""
    word = base[1]
    if piece[0] in "-−–+" or word[0] in ")]" or _AFTER_QUANTITY.search(before):
        return f"^{piece}"
    if word[0].isdigit():
        return "" if _YEAR.fullmatch(word) else f"^{piece}"
    is_symbol = len(word) <= _LONGEST_SYMBOL and word.lower() not in _WORDS
    return f"^{piece}" if is_symbol or word in _UNITS else ""
