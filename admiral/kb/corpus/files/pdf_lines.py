"""The lines of a page of a PDF file with their fonts, from pypdf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from admiral.kb.corpus.files.raised_text import Position, joined_text

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
_SMALLER = 0.85  # of the size of its line: a raised or lowered character
_RAISED = 0.12  # of the size of its line, by which the base line is moved
# Of the size of its line: a base line that is moved by less, down or up, is in the same line.
_DOWN, _UP = 0.35, 0.6


class Line(NamedTuple):
    """A line, the size of its largest letters, and whether all of it is bold."""

    text: str
    size: float = 0.0
    bold: bool = False


class _Piece(NamedTuple):
    text: str
    size: float
    height: float  # of the base line
    bold: bool


def page_lines(page: Any) -> list[Line]:
    """Return the lines of a page that are not empty, in the order of its text."""
    pieces: list[_Piece] = []

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float | None) -> None:
        if text:
            scale = abs(tm[3] or tm[1]) * abs(cm[3] or cm[1])
            name = str((font or {}).get("/BaseFont", "")).lower()
            height = tm[5] * cm[3] + cm[5]
            pieces.append(_Piece(text, (size or 0.0) * scale, height, "bold" in name))

    whole = page.extract_text(visitor_text=visit)
    if "".join(piece.text for piece in pieces).split() != whole.split():
        # Forms within forms are visited out of order.
        pieces = [_Piece(whole, 0.0, 0.0, False)]
    lines = (_line(line) for line in _split(pieces))
    return [line for line in lines if line.text.strip()]


def _split(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each line; raised characters stay with their line."""
    line: list[_Piece] = []
    for piece in pieces:
        first, *others = piece.text.split("\n")
        if first.strip() and line and line[-1].text.endswith("\n"):
            if _is_moved(line, piece):
                line[-1] = line[-1]._replace(text=line[-1].text[:-1])
            else:
                yield line
                line = []
        if not others:
            line.append(piece)
            continue
        line.append(piece._replace(text=first + "\n"))
        for text in others[:-1]:
            yield line
            line = [piece._replace(text=text + "\n")]
        if others[-1]:
            yield line
            line = [piece._replace(text=others[-1])]
    if line:
        yield line


def _is_moved(line: list[_Piece], piece: _Piece) -> bool:
    """Return whether a piece after a line end is a raised one, or follows one, in the same line."""
    shown = [each for each in line if each.text.strip()]
    if not shown:
        return False
    largest = max(shown, key=lambda each: each.size)
    last = shown[-1]
    if min(piece.size, last.size) >= _SMALLER * max(piece.size, last.size):
        return False
    if piece.height == largest.height:
        return last.height != largest.height
    return -_DOWN < (piece.height - largest.height) / largest.size < _UP


def _line(pieces: list[_Piece]) -> Line:
    shown = [piece for piece in pieces if piece.text.strip()]
    if not shown:
        return Line("")
    size = max(piece.size for piece in shown)
    base = next(piece.height for piece in shown if piece.size == size)
    text, parts = "", []
    for piece in pieces:
        parts.append((piece.text.replace("\n", ""), _position(piece, size, base, text)))
        text += piece.text
    bold = all(piece.bold for piece in shown)
    return Line(joined_text(parts).translate(_LIGATURES).rstrip(), round(size, 1), bold)


def _position(piece: _Piece, size: float, base: float, before: str) -> Position:
    """Return where a piece stands; pypdf does not tell of a base line that ``Ts`` moves."""
    if not piece.text.strip() or piece.size >= _SMALLER * size:
        return ""
    moved = piece.height - base
    if abs(moved) < _RAISED * size:
        follows = before[-1:].isdigit() or before[-1:] in '.,;!?)”"'
        return "raised" if follows and piece.text[:1] in "0123456789-−–+n" else ""
    return "raised" if moved > 0 else "lowered"
