"""The lines of Sphere (Piktus et al., 2021): passages, those of a page one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from admiral.errors import RecordError

_EXAMPLE = '{"url": "https://...", "title": "...", "raw": "a passage"}'

#: A record with the number of its line, or what is wrong with a line.
NumberedLine = tuple[int, dict[str, Any]] | RecordError


def joined_passages(lines: Iterable[NumberedLine], name: str) -> Iterator[NumberedLine]:
    """Yield the pages of which lines of Sphere are passages, as records with `text`.

    Consecutive lines of one URL are one page, whose record has the number of the first. Other
    records stay as they are. `name`: of the file, for messages.
    """
    page: tuple[int, dict[str, Any]] | None = None
    for line in lines:
        passage = None if isinstance(line, RecordError) else _passage(line[1])
        if page is not None and passage is not None and passage["url"] == page[1]["url"]:
            page[1]["text"] += "\n" + passage["text"]
            continue
        if page is not None:
            yield page
            page = None
        if passage is not None:
            assert not isinstance(line, RecordError)  # it has a passage
            page = line[0], passage
        elif not isinstance(line, RecordError) and "raw" in line[1]:
            yield RecordError(f"{name}:{line[0]}", "raw", "or url is no text", f"Write {_EXAMPLE}")
        else:
            yield line
    if page is not None:
        yield page


def _passage(record: dict[str, Any]) -> dict[str, Any] | None:
    raw, url = record.get("raw"), record.get("url")
    if not isinstance(raw, str) or not isinstance(url, str):
        return None
    return {"url": url, "title": record.get("title"), "text": raw}
