"""Parse the HotpotQA dumps, also HoVer's corpus: folders of ``.bz2`` files of JSON Lines.

In the dump of abstracts, `text` is a list of sentences, and `text_with_links` the same sentences as
HTML with ``<a href="...">``. In the dump of whole articles, `text` is a list of paragraphs, each a
list of sentences that contain the hyperlinks; the first paragraph repeats the title.
"""

from __future__ import annotations

import html
import re
from itertools import chain
from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import wikipedia_title
from admiral.kb.corpus.readers.corpus_records import (
    SKIP_BAD_REMEDY,
    same_title,
    string_field,
    string_list,
)
from admiral.records import Document

# The lookahead finds the end of the tag first. Otherwise an unclosed tag takes quadratic time,
# because its end is searched after every href.
_HREF = re.compile(
    r"""<a(?=\s[^<>]*>)\s[^<>]*?href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
)
_ANCHOR = re.compile(r"</?a(?:\s[^<>]*)?>", re.IGNORECASE)


def parse_hotpotqa(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page."""
    title = string_field(value, "title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_BAD_REMEDY)
    sentences = _flatten(value["text"], "text", title, where)
    with_links = sentences
    if value.get("text_with_links") is not None:
        with_links = _flatten(value["text_with_links"], "text_with_links", title, where)
        if len(with_links) != len(sentences):
            raise RecordError(
                where,
                "text_with_links",
                f"{len(with_links)} sentences where 'text' has {len(sentences)}",
                SKIP_BAD_REMEDY,
            )
    elif any(_HREF.search(sentence) for sentence in sentences):
        sentences = [html.unescape(_ANCHOR.sub("", sentence)) for sentence in sentences]
    return Document(title, tuple(sentences), tuple(_targets(sentence) for sentence in with_links))


def _flatten(value: Any, name: str, title: str, where: str) -> list[str]:
    """Return all sentences of a list of sentences or of paragraphs."""
    if not isinstance(value, list) or not value or isinstance(value[0], str):
        return string_list(value, name, where)
    paragraphs = [string_list(paragraph, name, where) for paragraph in value]
    if len(paragraphs[0]) == 1 and same_title(paragraphs[0][0], title):
        paragraphs = paragraphs[1:]
    return list(chain.from_iterable(paragraphs))


def _targets(sentence: str) -> tuple[str, ...]:
    """Return the titles that the hyperlinks of a sentence point to."""
    hrefs = (html.unescape(m.group(1) or m.group(2) or "") for m in _HREF.finditer(sentence))
    return tuple(title for href in hrefs if (title := wikipedia_title(href)))
