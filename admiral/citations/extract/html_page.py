"""Read a page of MediaWiki in HTML, of its old parser or of Parsoid, as marked blocks."""

from __future__ import annotations

import re

from lxml import etree, html

from admiral.citations.citation_records import Kind
from admiral.citations.extract.html_references import (
    HtmlReferences,
    classes_of,
    note_id,
    text_of,
)
from admiral.citations.extract.maintenance_tags import tag_of
from admiral.citations.extract.marked_blocks import Block, BlockBuilder, MarkedPage
from proofs.logic.words import word_list

# Elements whose text is not prose of the page, and those that begin a block.
_LEFT_OUT = word_list(
    "table figure style script template noscript head math svg audio video object iframe nav aside "
    "form button select textarea pre title link meta figcaption"
)
_LEFT_OUT_CLASSES = word_list(
    "infobox thumb gallery navbox hatnote mw-editsection metadata reflist references "
    "mw-references-wrap toc sidebar shortdescription navigation-not-searchable printfooter "
    "catlinks mw-empty-elt mw-indicators sistersitebox vertical-navbox portalbox ambox noexcerpt "
    "mwe-math-element "
    "mw-jump-link error mw-cite-backlink reference-accessdate Z3988 mw-ext-cite-error"
)
_BLOCKS = word_list(
    "p div section blockquote ul ol dl li dd dt h1 h2 h3 h4 h5 h6 article main center hr body "
    "header footer poem"
)
_ITEMS = frozenset({"li", "dd", "dt"})
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_PAGE_NAME = re.compile(r"\s+[-–—]\s+[^-–—]*(wiki|pedia)[^-–—]*$", re.IGNORECASE)
_INLINE_TAGS = frozenset({"Inline-Template", "Template-Fact", "inline-template"})
_IGNORED_PARTS = re.compile(r"[\[\]⁠\u200b]")


def read_html(text: str, title: str = "") -> MarkedPage:
    """Return a page in HTML as marked blocks.

    Left out are tables, infoboxes, captions, hidden text, navigation, and lists of references,
    which are read as such.

    Parameters
    ----------
    text
        HTML; any string is allowed.
    title
        Title of the page; by default that which the page states.
    """
    root = _parsed(text)
    if root is None:
        return MarkedPage(title)
    references = HtmlReferences(root)
    reader = _Reader(references)
    bodies = root.xpath("//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]")
    reader.read(bodies[0] if len(bodies) == 1 else root)
    return MarkedPage(
        title or _title(root), tuple(reader.blocks), references.resolved(reader.numbers)
    )


def _parsed(text: str) -> html.HtmlElement | None:
    # NUL ends a string in libxml2; a declared encoding would be an error in a string.
    data = text.replace("\0", " ").encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", remove_pis=True, no_network=True)
    try:
        return html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):  # such as an empty document
        return None


def _title(root: html.HtmlElement) -> str:
    for path in ("//*[@id='firstHeading']", "//head/title"):
        for element in root.xpath(path):
            if found := text_of(element):
                return _PAGE_NAME.sub("", found)
    return ""


class _Reader:
    """Walks through the elements in the order of the document."""

    def __init__(self, references: HtmlReferences) -> None:
        self.blocks: list[Block] = []
        self.numbers: dict[str, str] = {}  # note -> what its marks show
        self._references = references
        self._headings: list[tuple[int, str]] = []
        self._builder = BlockBuilder()

    def read(self, root: html.HtmlElement) -> None:
        """Read all that an element contains."""
        skipped: html.HtmlElement | None = None
        kinds: list[Kind] = ["sentence"]
        for event, element in etree.iterwalk(root, events=("start", "end", "comment")):
            if event == "comment":
                if skipped is None and element.tail:
                    self._builder.add_text(element.tail)
                continue
            tag = element.tag
            if event == "start":
                if skipped is not None:
                    continue
                if self._is_read(element):
                    skipped = element
                    continue
                if tag in _BLOCKS:
                    kinds.append("list" if tag in _ITEMS else kinds[-1])
                    self._end_block(kinds[-1])
                elif tag == "br":
                    self._builder.add_text(" ")
                if element.text:
                    self._builder.add_text(element.text)
                continue
            if skipped is not None:
                if skipped is not element:
                    continue
                skipped = None
                if tag in _LEFT_OUT or tag in _BLOCKS:
                    self._end_block(kinds[-1])
            elif tag in _BLOCKS:
                kinds.pop()
                self._end_block(kinds[-1])
            if element is not root and element.tail:
                self._builder.add_text(element.tail)
        self._end_block("sentence")

    def _is_read(self, element: html.HtmlElement) -> bool:
        """Handle an element whose content is no prose: a mark, a heading, or left out."""
        tag, classes = element.tag, classes_of(element)
        if tag == "sup" and self._add_marks(element, classes):
            return True
        if classes & _INLINE_TAGS:
            shown = _IGNORED_PARTS.sub("", text_of(element)).strip()
            for part in re.split(r"[,;]| and ", shown):
                if name := tag_of(part):
                    self._builder.add_mark(tag=name)
            return True
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._add_heading(element, int(tag[1]))
            return True
        if tag in _LEFT_OUT or classes & _LEFT_OUT_CLASSES:
            return True
        if element.get("hidden") is not None or element.get("aria-hidden") == "true":
            return True
        if "noprint" in classes and not classes & _INLINE_TAGS:
            return True
        if element.get("role") in ("navigation", "presentation", "note"):
            return True
        return bool(_HIDDEN.search(element.get("style") or ""))

    def _add_marks(self, element: html.HtmlElement, classes: frozenset[str]) -> bool:
        """Add the marks of ``<sup>[1]</sup>``; return whether it is one."""
        if not classes & {"reference", "mw-ref"} and element.get("rel") != "dc:references":
            return False
        for link in element.iter("a"):
            if note := note_id(link):
                shown = _IGNORED_PARTS.sub("", text_of(link)).strip()
                group = link.get("data-mw-group") or ""
                if group and not shown.startswith(group):
                    shown = f"{group} {shown}"
                self.numbers.setdefault(note, shown)
                self._builder.add_mark(note)
        return True

    def _add_heading(self, element: html.HtmlElement, level: int) -> None:
        self._end_block("sentence")
        if element.get("id") == "firstHeading":
            return
        skipped = [e for e in element.iter() if "mw-editsection" in classes_of(e)]
        text = text_of(element, skipped)
        self._headings = [each for each in self._headings if each[0] < level]
        if text:
            self._headings.append((level, text))
        self._builder = BlockBuilder(self._section())

    def _section(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._headings)

    def _end_block(self, kind: Kind) -> None:
        if block := self._builder.build():
            self.blocks.append(block)
        self._builder = BlockBuilder(self._section(), kind)
