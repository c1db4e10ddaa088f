"""Read PDF files: their text page by page, joined into paragraphs.

Page numbers and running heads are left out. Words that were cut at the ends of lines are joined.
"""

from __future__ import annotations

import io
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from admiral.kb.corpus.files import (
    TOO_LONG,
    Position,
    TextBuilder,
    UnreadableFileError,
    has_content,
    joined_text,
)

_CUT = re.compile(r"([^\W\d_]+)[-‐]$")
_FIRST_PART = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_SOFT_HYPHEN = "\u00ad"
_VOCABULARY = Path(__file__).parents[3] / "data/mini/tokenizer.json"
_SHORTEST = 3  # letters of a part of a compound


class LineJoiner:
    """Joins lines of one text.

    A hyphen at a line end belongs to a compound if the text has that compound elsewhere, or if both
    parts are common words and the whole is none.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: set[str] = set()
        for line in lines:
            # The first and the last word may be parts of words.
            self._words.update(word.lower() for word in _WORD.findall(line)[1:-1])

    def join(self, before: str, line: str) -> str:
        """Return two adjoining lines as one."""
        if before.endswith(_SOFT_HYPHEN):
            return before[:-1] + line.lstrip()
        line = line.strip() if before else line
        if before[-1:] not in ("-", "‐") or not before[-2:-1].isalnum():
            return f"{before} {line}".strip()
        cut, rest = _CUT.search(before), _FIRST_PART.match(line)
        if cut is None or rest is None or not line[0].islower():
            return before + line
        return before + line if self._is_compound(cut[1].lower(), rest[0]) else before[:-1] + line

    def _is_compound(self, first: str, second: str) -> bool:
        if first + second in self._words:
            return False
        if f"{first}-{second}" in self._words:
            return True
        words = common_words()
        return (
            first + second not in words
            and min(len(first), len(second)) >= _SHORTEST
            and {first, second} <= words
        )


@cache
def common_words() -> frozenset[str]:
    """Return about 20,000 common English words: the vocabulary of the bundled model."""
    return frozenset(json.loads(_VOCABULARY.read_bytes())["model"]["vocab"])


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
    if not piece.text.strip() or piece.size >= _SMALLER * size:
        return ""
    moved = piece.height - base
    if abs(moved) < _RAISED * size:
        follows = before[-1:].isdigit() or before[-1:] in '.,;!?)”"'
        return "raised" if follows and piece.text[:1] in "0123456789-−–+n" else ""
    return "raised" if moved > 0 else "lowered"


_NUMBER = re.compile(r"\W*(?:page\s*)?(\d{1,5})(?:\s*(?:of|/)\s*\d{1,5})?\W*", re.IGNORECASE)
_DECORATED = re.compile(r"\s*(?:page\b|\W+\d+\W+$|\d+\s*(?:of|/)\s*\d+)", re.IGNORECASE)
ENDS_SENTENCE = re.compile(r"[.!?:…][\"'”’)\]]*$")
# A line at the top or bottom of as many pages as this share is a running head.
_RUNNING_SHARE = 0.5
_CERTAIN = 3  # pages with the same first or last line
_LINES_OF_HEADS = 3  # at the top, and at the bottom
_YEARS = range(1500, 2200)


def body_lines(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Return the lines of each page without its number and its running heads."""
    bodies = [list(page) for page in pages]
    for _ in range(_LINES_OF_HEADS):
        numbers = _page_numbers(bodies)
        for page, position in numbers:
            bodies[page][position] = Line("")
        bodies = [[line for line in lines if line.text] for lines in bodies]
        running = _running_heads(bodies)
        for lines in bodies:
            for position in (-1, 0):
                if lines and lines[position].text in running:
                    del lines[position]
        if not numbers and not running:
            break
    return bodies


def _page_numbers(pages: Sequence[list[Line]]) -> list[tuple[int, int]]:
    """Return the page and the position of each line that is a page number.

    It stands at the top or bottom, and counts as the others do, or is written as one. Another
    number belongs to the text, unless the last sentence of the page ends before it.
    """
    found = []
    for page, lines in enumerate(pages):
        for position in {0, len(lines) - 1} if lines else ():
            if match := _NUMBER.fullmatch(lines[position].text):
                found.append((page, position, int(match[1])))
    shifts = Counter(number - page for page, _, number in found)
    return [
        (page, position)
        for page, position, number in found
        if shifts[number - page] > 1
        or number == page + 1
        or _DECORATED.match(pages[page][position].text)
        or (position > 0 and ENDS_SENTENCE.search(pages[page][position - 1].text))
    ]


def _running_heads(pages: Sequence[list[Line]]) -> set[str]:
    ends = [{line.text for line in (*page[:1], *page[-1:])} for page in pages]
    same = Counter(text for texts in ends for text in texts)
    heads = {text for text, count in same.items() if _is_common(count, len(pages))}
    if len(pages) == 2:
        heads.update(text for text in ends[0] & ends[1] if not ENDS_SENTENCE.search(text))
    similar = Counter(key for texts in ends for key in {_key(text) for text in texts})
    shared = {key for key, count in similar.items() if _is_common(count, len(pages))}
    varied = {key: [t for t in same if _key(t) == key] for key in shared}
    for key, texts in varied.items():
        numbered = [
            (n, text) for n, of_page in enumerate(ends) for text in texts if text in of_page
        ]
        if "0" in key and not ENDS_SENTENCE.search(key) and _count_pages(numbered):
            heads.update(texts)
    return heads


def _is_common(count: int, pages: int) -> bool:
    return count >= _CERTAIN and (count > _RUNNING_SHARE * pages or count > _CERTAIN)


def _count_pages(lines: Sequence[tuple[int, str]]) -> bool:
    columns = zip(*(map(int, re.findall(r"\d+", text)) for _, text in lines), strict=True)
    varying = [numbers for numbers in columns if len(set(numbers)) > 1]
    return all(
        len({number - page for (page, _), number in zip(lines, numbers, strict=True)}) == 1
        and not all(number in _YEARS for number in numbers)
        for numbers in varying
    )


def _key(text: str) -> str:
    return re.sub(r"\d+", "0", " ".join(text.split()))


MOST_PAGES = 5000
_BULLET = re.compile(r"\s*[•‣◦▪●○■–]\s+")
_SECTION = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|[IVX]{1,4}\.)\s+[^\W\d_a-z]")
_LARGER = 1.15  # times the size of the text: a heading
_SHORT_LINE = 0.75  # of the longest line; a shorter one that ends a sentence ends a paragraph
_HEADING_LINES = 3
_LONGEST_TITLE = 200  # characters
_PAGES_NAMED = 10


def read_pdf(data: bytes, text: TextBuilder) -> None:
    """Read a PDF file. The section of a sentence is its page, and the heading above it."""
    import pypdf
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file
    reader = pypdf.PdfReader(io.BytesIO(data))
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFileError("encrypted")
    except DependencyError:  # AES without the package cryptography
        raise UnreadableFileError("encrypted") from None
    if len(reader.pages) > MOST_PAGES:
        raise UnreadableFileError(TOO_LONG)
    if reader.metadata is not None:
        text.propose_title(reader.metadata.title)
    pages = [page_lines(page) for page in reader.pages]
    size = _body_size(pages)
    if pages and pages[0]:
        text.propose_title(_first_heading(pages[0], size))
    bodies = body_lines(pages)
    _note_left_out(pages, bodies, text)
    page = 0
    for block in _paragraphs(bodies, size):
        if block.page != page:
            page = block.page
            text.heading(1, f"page {page}")
        if block.is_heading:
            text.heading(2, block.text)
        elif match := _BULLET.match(block.text):
            text.item(block.text[match.end() :])
        else:
            text.paragraph(block.text)


def _note_left_out(
    pages: Sequence[Sequence[Line]], bodies: Sequence[Sequence[Line]], text: TextBuilder
) -> None:
    counts = [
        sum(has_content(line.text) for page in each for line in page) for each in (pages, bodies)
    ]
    text.left_out["page numbers and running heads"] += counts[0] - counts[1]
    empty = [str(number) for number, page in enumerate(pages, 1) if not page]
    if empty:
        more = ", ..." if len(empty) > _PAGES_NAMED else ""
        text.notes.append(
            f"{len(empty):,} of {len(pages):,} pages have no text, as scanned ones have none: "
            f"{', '.join(empty[:_PAGES_NAMED])}{more}"
        )


class _Paragraph(NamedTuple):
    """A paragraph or a heading, and the page on which it begins."""

    text: str
    page: int
    is_heading: bool = False


def _body_size(pages: Sequence[Sequence[Line]]) -> float:
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    return max(sizes, key=sizes.__getitem__, default=0.0)


def _first_heading(lines: Sequence[Line], size: float) -> str:
    first = lines[0]
    title = first.text
    if _is_heading(first, size):
        joiner = LineJoiner(())
        for line in lines[1:_HEADING_LINES]:
            if line[1:] != first[1:] or len(title) + len(line.text) > _LONGEST_TITLE:
                break
            title = joiner.join(title, line.text)
    return title


def _is_heading(line: Line, size: float) -> bool:
    return line.size > _LARGER * size > 0 or (
        line.bold and line.size >= size and not ENDS_SENTENCE.search(line.text)
    )


def _paragraphs(pages: Sequence[list[Line]], size: float) -> Iterator[_Paragraph]:
    """Join lines, also over the ends of pages.

    A paragraph ends at a short line that ends a sentence, before a bullet, and before and after a
    heading. It ends with its page, unless a sentence continues on the next one.
    """
    lines = [(number, line) for number, page in enumerate(pages, 1) for line in page]
    joiner = LineJoiner(line.text for _, line in lines)
    longest = {
        number: max((len(line.text) for line in page), default=0)
        for number, page in enumerate(pages, 1)
    }
    current, began, font = "", 0, None
    for position, (number, line) in enumerate(lines):
        page_before, before = lines[position - 1] if position else (number, Line(""))
        heads = _is_heading(line, size)
        ends = (
            (font is None) == heads
            or (heads and line[1:] != font)
            or bool(_BULLET.match(line.text))
            or _starts_section(line, longest[number])
            or (page_before != number and not _goes_on(before, line, longest[page_before]))
        )
        if current and ends:
            yield _Paragraph(current, began, font is not None)
            current = ""
        if not current:
            began = number
        current = joiner.join(current, line.text)
        font = (line.size, line.bold) if heads else None
        is_short = len(line.text) < _SHORT_LINE * longest[number]
        ends_block = ENDS_SENTENCE.search(line.text) or _starts_section(line, longest[number])
        if font is None and is_short and ends_block:
            yield _Paragraph(current, began)
            current = ""
    if current:
        yield _Paragraph(current, began, font is not None)


def _starts_section(line: Line, longest: int) -> bool:
    return (
        bool(_SECTION.match(line.text))
        and len(line.text) < _SHORT_LINE * longest
        and not ENDS_SENTENCE.search(line.text)
    )


def _goes_on(before: Line, line: Line, longest: int) -> bool:
    if ENDS_SENTENCE.search(before.text) or before.size != line.size:
        return False
    return line.text[:1].islower() or (
        len(before.text) > _SHORT_LINE / 1.5 * longest and not _starts_section(line, longest)
    )
