"""Leave out the page numbers and the running heads of the pages of a PDF file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from admiral.kb.corpus.files.pdf_lines import Line

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
    """Return the first and last lines that many pages share, or share but for the page number."""
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
    """Return whether all numbers that vary between lines grow with the pages, and are no years."""
    columns = zip(*(map(int, re.findall(r"\d+", text)) for _, text in lines), strict=True)
    varying = [numbers for numbers in columns if len(set(numbers)) > 1]
    return all(
        len({number - page for (page, _), number in zip(lines, numbers, strict=True)}) == 1
        and not all(number in _YEARS for number in numbers)
        for numbers in varying
    )


def _key(text: str) -> str:
    return re.sub(r"\d+", "0", " ".join(text.split()))


def numbered_lines(pages: Sequence[list[Line]]) -> Iterator[tuple[int, Line]]:
    """Yield all lines with the numbers of their pages, from 1."""
    for number, lines in enumerate(pages, 1):
        for line in lines:
            yield number, line
