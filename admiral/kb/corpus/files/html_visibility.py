"""Tell what a reader of a page sees: no scripts, hidden or deleted text, or marks of notes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from admiral.kb.corpus.files.raised_text import is_note_mark
from proofs.logic.words import word_list

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

Attributes = Mapping[str, str | None]

# `s` and `strike` hold what is no longer so, like `del`. Of `math`, the formula is read.
_UNSEEN = word_list(
    "audio canvas datalist del embed head iframe input meter noembed noframes noscript object "
    "progress rp rtc s script select strike style svg template textarea title video"
)
_UNSEEN_ROLES = word_list("navigation search doc-pagebreak doc-backlink doc-noteref")
# Around the content of a page; within it, they belong to it.
_FURNITURE = word_list("header footer aside")
_FURNITURE_ROLES = word_list("banner contentinfo complementary")
_UNSEEN_CLASSES = word_list(
    # signs for authors
    "headerlink mw-editsection srclink viewcode-link anchorjs-link "
    # read out only
    "sr-only visually-hidden visuallyhidden screen-reader-text "
    # the shown half of formulas, whose other half is read
    "katex-html MathJax MathJax_Preview MathJax_SVG MathJax_CHTML "
    # numbers of printed pages
    "pagenum pageno pagebreak "
    # marks of notes and the way back from these
    "footnote-ref footnote-reference footnoteref footnoteRef noteref footnote-backref "
    "footnote-back reversefootnote"
)
_UNSEEN_EPUB_TYPES = word_list("pagebreak noteref backlink")
_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|"
    r"text-decoration(?:-line)?\s*:[^;]*line-through)\b",
    re.IGNORECASE,
)
# Wikipedia hides the source of a formula and shows its picture.
_FORMULA = re.compile(r"\bmwe-math-mathml")
_NOTE = re.compile(r"\b(?:fn\b|fn[-:_]?\d|cite_note|footnote|endnote)")
_TO_NOTE = re.compile(r"#_?(?:fn|ftn|footnote|note|cite|endnote|edn)[a-z_:.-]*\d", re.IGNORECASE)
_BRACKETED_MARK = re.compile(r"\s*(?:\[[^\[\]]{1,12}\]|[*†‡§¶‖]+)\s*")


def is_unseen(node: LexborNode, tag: str, attributes: Attributes) -> bool:
    """Return whether an element has no text for the reader of a page."""
    if tag in _UNSEEN or tag == "nav":
        return True
    if not attributes:
        return tag == "dialog" or (tag == "sup" and _is_mark(node, tag, attributes))
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    if (role := attributes.get("role")) and role in _UNSEEN_ROLES:
        return True
    classes = attributes.get("class")
    if classes and not _UNSEEN_CLASSES.isdisjoint(classes.split()):
        return True
    style = attributes.get("style")
    if style and _HIDING_STYLE.search(style) and not (classes and _FORMULA.search(classes)):
        return True
    kinds = attributes.get("data-epub-type") or attributes.get("epub:type")
    if kinds and not _UNSEEN_EPUB_TYPES.isdisjoint(kinds.split()):
        return True
    if tag == "dialog":
        return "open" not in attributes
    return tag in ("sup", "a") and _is_mark(node, tag, attributes)


def unseen_kind(tag: str, attributes: Attributes) -> str:
    """Return what a reader may miss in an element that `is_unseen`, for counting; "" for nothing.

    Nobody misses scripts, marks of notes and the like.
    """
    style = attributes.get("style") or ""
    if tag in ("del", "s", "strike") or "line-through" in style:
        return "deleted text"
    if tag == "nav" or attributes.get("role") in ("navigation", "search"):
        return "navigation"
    if tag == "dialog" or "hidden" in attributes or _HIDING_STYLE.search(style):
        return "hidden text"
    return ""


def is_furniture(tag: str, attributes: Attributes) -> bool:
    """Return whether an element outside the content is around it: a header, footer or sidebar."""
    return tag in _FURNITURE or attributes.get("role") in _FURNITURE_ROLES


def is_note(attributes: Attributes) -> bool:
    """Return whether an item of a list is a note of the page, which is no short item."""
    return bool(_NOTE.search(f"{attributes.get('id')} {attributes.get('class')}")) or (
        attributes.get("role") == "doc-endnote"
    )


def joins_digits(node: LexborNode, attributes: Attributes, before: str) -> bool:
    """Return whether a link is the number of a note right after a word: ``1932<a href=#n>1``."""
    return (
        "#" in (attributes.get("href") or "")
        and before[-1:].strip() != ""
        and before[-1:] not in "(-–/"
        and node.text().strip().isdecimal()
    )


def _is_mark(node: LexborNode, tag: str, attributes: Attributes) -> bool:
    if tag == "a":
        address = attributes.get("href") or ""
        if "#" not in address:
            return False
        text = node.text()
        # The sign after a heading that links to the heading itself, or after a note that leads
        # back, such as "#", "¶" or "↩".
        if not any(map(str.isalnum, text)):
            return True
        is_one = _BRACKETED_MARK.fullmatch(text) or _TO_NOTE.search(address)
        return bool(is_one) and is_note_mark(text)
    if "reference" in (attributes.get("class") or "").split():
        return True
    if not is_note_mark(node.text()):
        return False
    parent = node.parent
    if parent is not None and parent.tag == "a":
        return "#" in (parent.attributes.get("href") or "")
    return node.css_first("a[href*='#']") is not None
