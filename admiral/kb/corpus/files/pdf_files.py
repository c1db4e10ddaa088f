"""Read PDF files: their text page by page, joined into paragraphs."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from admiral.kb.corpus.files.extraction import (
    TOO_LONG,
    TextBuilder,
    UnreadableFileError,
    has_content,
)
from admiral.kb.corpus.files.line_ends import LineJoiner
from admiral.kb.corpus.files.pdf_lines import Line, page_lines
from admiral.kb.corpus.files.pdf_pages import ENDS_SENTENCE, body_lines, numbered_lines

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
    """Return the size of most characters."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    return max(sizes, key=sizes.__getitem__, default=0.0)


def _first_heading(lines: Sequence[Line], size: float) -> str:
    """Return the first line, with the lines of the same font below it if it is a heading."""
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
    """Return whether a line has the font of a heading."""
    return line.size > _LARGER * size > 0 or (
        line.bold and line.size >= size and not ENDS_SENTENCE.search(line.text)
    )


def _paragraphs(pages: Sequence[list[Line]], size: float) -> Iterator[_Paragraph]:
    """Join lines, also over the ends of pages.

    A paragraph ends at a short line that ends a sentence, before a bullet, and before and after a
    heading. It ends with its page, unless a sentence continues on the next one.
    """
    lines = list(numbered_lines(pages))
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
        if font is None and is_short and _ends_block(line, longest[number]):
            yield _Paragraph(current, began)
            current = ""
    if current:
        yield _Paragraph(current, began, font is not None)


def _ends_block(line: Line, longest: int) -> bool:
    """Return whether a short line ends its paragraph."""
    return bool(ENDS_SENTENCE.search(line.text)) or _starts_section(line, longest)


def _starts_section(line: Line, longest: int) -> bool:
    """Return whether a line is a numbered heading in the font of the text."""
    return (
        bool(_SECTION.match(line.text))
        and len(line.text) < _SHORT_LINE * longest
        and not ENDS_SENTENCE.search(line.text)
    )


def _goes_on(before: Line, line: Line, longest: int) -> bool:
    """Return whether a sentence continues on the next page."""
    if ENDS_SENTENCE.search(before.text) or before.size != line.size:
        return False
    return line.text[:1].islower() or (
        len(before.text) > _SHORT_LINE / 1.5 * longest and not _starts_section(line, longest)
    )
