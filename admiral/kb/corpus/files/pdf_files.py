"""Read PDF files: their text page by page, joined into paragraphs."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence

from admiral.kb.corpus.files.extraction import TOO_LONG, TextBuilder, UnreadableFileError

MOST_PAGES = 5000
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
_PAGE_NUMBER = re.compile(r"\W*(?:page\s*)?\d{1,5}(?:\s*(?:of|/)\s*\d{1,5})?\W*", re.IGNORECASE)
_BULLET = re.compile(r"\s*[•‣◦▪●○■–]\s+")
_ENDS_SENTENCE = re.compile(r"[.!?:…][\"'”’)\]]*$")
_SHORT_LINE = 0.75  # of the longest line; a shorter one that ends a sentence ends a paragraph
# A line at the top or bottom of as many pages as this share is a running head.
_RUNNING_SHARE = 0.5


def read_pdf(data: bytes, text: TextBuilder) -> None:
    """Read a PDF file. The section of a sentence is its page."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableFileError("encrypted")
    if len(reader.pages) > MOST_PAGES:
        raise UnreadableFileError(TOO_LONG)
    if reader.metadata is not None:
        text.propose_title(reader.metadata.title)
    pages = [_lines(page.extract_text()) for page in reader.pages]
    if pages and pages[0]:
        text.propose_title(pages[0][0])
    running = _running_heads(pages)
    for number, lines in enumerate(pages, 1):
        text.heading(1, f"page {number}")
        for paragraph in _paragraphs([line for line in lines if _key(line) not in running]):
            if match := _BULLET.match(paragraph):
                text.item(paragraph[match.end() :])
            else:
                text.paragraph(paragraph)


def _lines(page: str) -> list[str]:
    lines = (line.rstrip() for line in page.translate(_LIGATURES).splitlines())
    return [line for line in lines if line.strip() and not _PAGE_NUMBER.fullmatch(line)]


def _key(line: str) -> str:
    return re.sub(r"\d+", "0", " ".join(line.split()))


def _running_heads(pages: Sequence[Sequence[str]]) -> set[str]:
    """Return the first and last lines that are the same on most pages, but for numbers."""
    if len(pages) < 4:
        return set()
    lines = Counter(key for page in pages for key in {_key(line) for line in _ends(page)})
    return {line for line, count in lines.items() if count > _RUNNING_SHARE * len(pages)}


def _ends(page: Sequence[str]) -> list[str]:
    return [page[0], page[-1]] if page else []


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Join lines; a paragraph ends at a short line that ends a sentence, or before a bullet."""
    paragraphs: list[str] = []
    longest = max(map(len, lines), default=0)
    current = ""
    for line in lines:
        if current and _BULLET.match(line):
            paragraphs.append(current)
            current = ""
        if current.endswith("-") and line[:1].islower():
            current = current[:-1] + line  # a hyphenated word
        else:
            current = f"{current} {line}".strip()
        if len(line) < _SHORT_LINE * longest and _ENDS_SENTENCE.search(line):
            paragraphs.append(current)
            current = ""
    return [*paragraphs, current] if current else paragraphs
