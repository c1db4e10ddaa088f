"""Parse the KILT knowledge source: `wikipedia_title`, `text` (a list of paragraphs), `anchors`.

The first paragraph repeats the title, ``Section::::`` starts a heading and ``BULLET::::`` a list
item. An anchor gives its paragraph, its character offsets and the page that it links to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import wikipedia_title
from admiral.kb.corpus.readers.corpus_records import (
    SKIP_BAD_REMEDY,
    same_title,
    string_field,
    string_list,
)
from admiral.kb.corpus.sentence_splitter import sentence_spans
from admiral.records import Document

_BULLET = re.compile(r"\s*BULLET::::[-–\s]*")


def parse_kilt(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page, with its paragraphs split into sentences."""
    title = string_field(value, "wikipedia_title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_BAD_REMEDY)
    paragraphs = string_list(value["text"], "text", where)
    anchors = _anchors(value, where)
    sentences: list[str] = []
    links: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(paragraphs):
        if number == 0 and same_title(paragraph, title):
            continue
        if paragraph.lstrip().startswith("Section::::"):
            continue
        bullet = _BULLET.match(paragraph)
        text_start = 0 if bullet is None else bullet.end()
        for start, end in sentence_spans(paragraph[text_start:]):
            start, end = start + text_start, end + text_start
            sentences.append(paragraph[start:end])
            in_paragraph = anchors.get(number, ())
            links.append(tuple(t for offset, t in in_paragraph if start <= offset < end))
    return Document(title, tuple(sentences), tuple(links))


def _anchors(value: dict[str, Any], where: str) -> dict[int, list[tuple[int, str]]]:
    """Return the (start offset, linked title) of the anchors of each paragraph."""
    anchors = value.get("anchors") or []
    if not isinstance(anchors, list):
        raise RecordError(where, "anchors", "not a list", SKIP_BAD_REMEDY)
    by_paragraph: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for anchor in anchors:
        if not isinstance(anchor, dict):
            raise RecordError(where, "anchors", "a member is not an object", SKIP_BAD_REMEDY)
        paragraph, start = anchor.get("paragraph_id"), anchor.get("start")
        if not isinstance(paragraph, int) or not isinstance(start, int):
            raise RecordError(
                where, "anchors", "a member without paragraph_id and start", SKIP_BAD_REMEDY
            )
        title = anchor.get("wikipedia_title") or wikipedia_title(str(anchor.get("href") or ""))
        if isinstance(title, str) and title:
            by_paragraph[paragraph].append((start, title))
    return by_paragraph
