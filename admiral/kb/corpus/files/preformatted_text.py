"""Tell prose in ``<pre>``, as in mail archives and old standards, from code, and read it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CODE_CLASSES = re.compile(
    r"\b(?:highlight|codehilite|sourcecode|literal-block|programlisting|prettyprint|brush|"
    r"language-|lang-|code\b|syntax|shell|console|terminal|screen\b)",
    re.IGNORECASE,
)
_PARENTS = 3
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_SIGNS = re.compile(r"[{}<>=;|\\$@#_~^`]|\w\(|::|->")
_MANY_SIGNS = 0.02  # of all characters
_ENDS_SENTENCE = re.compile(r"(?:[a-z]{2}|\d)[.!?:][\"”’)]*(?=\s|\Z)")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 4
_WIDE_GAPS = re.compile(r"\S {3,}\S")
_QUOTED_LINE = re.compile(r"^[ \t]*>[> \t]*", re.MULTILINE)


def preformatted_paragraphs(node: LexborNode) -> list[str]:
    """Return the paragraphs of prose in an element ``pre``, of which code has none."""
    if _is_marked_as_code(node):
        return []
    text = _QUOTED_LINE.sub("", node.text().replace("\r\n", "\n"))
    paragraphs = [part for part in _BLANK_LINES.split(text) if part.strip()]
    if not _ENDS_SENTENCE.search(text) or not any(map(_is_prose, paragraphs)):
        return []
    return [paragraph for paragraph in paragraphs if _is_text(paragraph)]


def _is_marked_as_code(node: LexborNode) -> bool:
    if node.css_first("code, samp, kbd, span[class]") is not None:
        return True
    above: LexborNode | None = node
    for _ in range(_PARENTS):
        if above is None:
            return False
        if _CODE_CLASSES.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is sentences."""
    return (
        _is_text(paragraph)
        and bool(_ENDS_SENTENCE.search(paragraph))
        and len(_WORDS.findall(paragraph)) >= _FEWEST_WORDS
    )


def _is_text(paragraph: str) -> bool:
    """Return whether a paragraph of a page with prose is text rather than code or a drawing."""
    signs = len(_SIGNS.findall(paragraph))
    lines = paragraph.strip().split("\n")
    gaps = sum(bool(_WIDE_GAPS.search(line)) for line in lines)
    return signs <= 1 + _MANY_SIGNS * len(paragraph) and gaps <= len(lines) // 2
