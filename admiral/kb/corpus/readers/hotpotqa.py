"""The HotpotQA dumps (HoVer's corpus too): folders of ``.bz2`` files of JSON lines.

The abstracts have `text`, a list of sentences, and `text_with_links`, the same sentences as HTML
with ``<a href="...">``. In the dump of whole articles `text` is a list of paragraphs, each a list
of sentences, with the hyperlinks in place; its first paragraph repeats the title.
"""

from __future__ import annotations

import html
import re
from itertools import chain
from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import wikipedia_title
from admiral.kb.corpus.readers.base import SKIP_REMEDY, same_title, strings, text_field
from admiral.records import Document

# That the tag ends is looked up first: once, not behind every href of a tag that does not.
_HREF = re.compile(
    r"""<a(?=\s[^<>]*>)\s[^<>]*?href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
)
_ANCHOR = re.compile(r"</?a(?:\s[^<>]*)?>", re.IGNORECASE)


def parse_hotpotqa(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page."""
    title = text_field(value, "title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_REMEDY)
    sentences = _flat(value["text"], "text", title, where)
    marked = sentences
    if value.get("text_with_links") is not None:
        marked = _flat(value["text_with_links"], "text_with_links", title, where)
        if len(marked) != len(sentences):
            raise RecordError(
                where,
                "text_with_links",
                f"{len(marked)} sentences where 'text' has {len(sentences)}",
                SKIP_REMEDY,
            )
    elif any(_HREF.search(sentence) for sentence in sentences):
        sentences = [html.unescape(_ANCHOR.sub("", sentence)) for sentence in sentences]
    return Document(title, tuple(sentences), tuple(_targets(sentence) for sentence in marked))


def _flat(value: Any, name: str, title: str, where: str) -> list[str]:
    if not isinstance(value, list) or not value or isinstance(value[0], str):
        return strings(value, name, where)
    paragraphs = [strings(paragraph, name, where) for paragraph in value]
    if len(paragraphs[0]) == 1 and same_title(paragraphs[0][0], title):
        paragraphs = paragraphs[1:]
    return list(chain.from_iterable(paragraphs))


def _targets(marked: str) -> tuple[str, ...]:
    hrefs = (html.unescape(m.group(1) or m.group(2) or "") for m in _HREF.finditer(marked))
    return tuple(title for href in hrefs if (title := wikipedia_title(href)))
