"""The KILT knowledge source: `wikipedia_title`, `text` (a list of paragraphs), `anchors`.

The first paragraph repeats the title, ``Section::::`` paragraphs are headings and ``BULLET::::``
marks list items. An anchor names its paragraph, its characters and the page that it links to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import wikipedia_title
from admiral.kb.corpus.readers.base import SKIP_REMEDY, same_title, strings, text_field
from admiral.kb.corpus.sentence_splitter import sentence_spans
from admiral.records import Document

_BULLET = re.compile(r"\s*BULLET::::[-–\s]*")


def parse_kilt(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page, all its paragraphs split into sentences."""
    title = text_field(value, "wikipedia_title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_REMEDY)
    paragraphs = strings(value["text"], "text", where)
    anchors = _anchors(value, where)
    sentences: list[str] = []
    links: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(paragraphs):
        if number == 0 and same_title(paragraph, title):
            continue
        if paragraph.lstrip().startswith("Section::::"):
            continue
        bullet = _BULLET.match(paragraph)
        shift = 0 if bullet is None else bullet.end()
        for start, end in sentence_spans(paragraph[shift:]):
            start, end = start + shift, end + shift
            sentences.append(paragraph[start:end])
            links.append(tuple(t for at, t in anchors.get(number, ()) if start <= at < end))
    return Document(title, tuple(sentences), tuple(links))


def _anchors(value: dict[str, Any], where: str) -> dict[int, list[tuple[int, str]]]:
    """Return, for each paragraph, the (first character, linked title) of its anchors."""
    anchors = value.get("anchors") or []
    if not isinstance(anchors, list):
        raise RecordError(where, "anchors", "not a list", SKIP_REMEDY)
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for anchor in anchors:
        if not isinstance(anchor, dict):
            raise RecordError(where, "anchors", "a member is not an object", SKIP_REMEDY)
        paragraph, start = anchor.get("paragraph_id"), anchor.get("start")
        if not isinstance(paragraph, int) or not isinstance(start, int):
            raise RecordError(
                where, "anchors", "a member without paragraph_id and start", SKIP_REMEDY
            )
        title = anchor.get("wikipedia_title") or wikipedia_title(str(anchor.get("href") or ""))
        if isinstance(title, str) and title:
            found[paragraph].append((start, title))
    return found
