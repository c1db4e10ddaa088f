"""Read a page of MediaWiki in HTML, of its old parser or of Parsoid, as marked blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from lxml import etree, html

from admiral.citations.citation_records import Kind
from admiral.citations.extract.html_references import HtmlReferences, classes_of, note_id, text_of
from admiral.citations.extract.marked_blocks import MarkedPage
from admiral.citations.extract.names import names_of, tag_of
from admiral.citations.extract.page_builder import PageBuilder

_REFERENCES = frozenset({"reference", "mw-ref"})  # classes of marks
_BLOCKS, _LEFT_OUT, _LEFT_OUT_CLASSES, _SILENT_CLASSES, _BOXES, _CAPTIONS = (
    frozenset(names_of("html", key))
    for key in ("blocks", "left_out", "left_out_classes", "silent_classes", "boxes", "captions")
)
_DEEPEST = 8  # tables in tables that are read
_ITEMS = frozenset({"li", "dd", "dt"})
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_PAGE_NAME = re.compile(r"\s+[-–—]\s+[^-–—]*(wiki|pedia)[^-–—]*$", re.IGNORECASE)
_INLINE_TAGS = frozenset({"Inline-Template", "Template-Fact", "inline-template"})
# A mark that contains no other; of two attributes of one name, the first counts.
_MARK = re.compile(r"<sup\b(?:(?!<sup\b).)*?</sup\s*>", re.IGNORECASE | re.DOTALL)
_PLACE = "data-place"
_IGNORED_PARTS = re.compile(r"[\[\]⁠\u200b]")


def read_html(text: str, title: str = "") -> MarkedPage:
    """Return a page in HTML as marked blocks.

    Of tables, infoboxes, captions, headings and explanatory notes, what carries marks is kept.
    Hidden text, navigation and lists of references, which are read as such, are left out. `title`:
    title of the page; by default that which the page states.
    """
    place = _PLACE
    while place in text.lower():  # the page has no say in where its marks stand
        place += "-"
    root = _parsed(_MARK.sub(partial(_placed, place), text))
    if root is None:
        return MarkedPage(title)
    reader = _Reader(HtmlReferences(root), place)
    bodies = root.xpath("//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]")
    reader.read(bodies[0] if len(bodies) == 1 else root)
    reader.read_notes()
    references = reader.references.resolved(reader.numbers)
    return MarkedPage(title or _title(root), tuple(reader.blocks), references)


def _placed(name: str, match: re.Match[str]) -> str:
    """Return an element of a mark with its place in the page as an attribute."""
    element = match[0]
    return f'{element[:4]} {name}="{match.start()}-{match.end()}"{element[4:]}'


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


class _Reader(PageBuilder):
    """Walks through the elements in the order of the document."""

    def __init__(self, references: HtmlReferences, place: str) -> None:
        super().__init__()
        self.references = references
        self.numbers: dict[str, str] = {}  # note -> what its marks show
        self._place = place  # the attribute that says where a mark stands

    def read(self, root: html.HtmlElement) -> None:
        """Read all that an element contains."""
        kinds: list[Kind] = ["sentence"]
        skipped: html.HtmlElement | None = None
        walk = etree.iterwalk(root, events=("start", "end", "comment"))
        for event, element in walk:
            if event == "start" and element is not root and self._is_read(element):
                walk.skip_subtree()
                skipped = element
                continue
            is_block, is_skipped = element.tag in _BLOCKS, element is skipped
            if event == "start":
                if is_block:
                    kinds.append("list" if element.tag in _ITEMS else kinds[-1])
                    self.end_block(kinds[-1])
                self.text.add_text(" " if element.tag == "br" else "")
                self.text.add_text(element.text or "")
                continue
            if event == "end" and is_block and not is_skipped:
                kinds.pop()
            if event == "end" and (is_block or (is_skipped and element.tag in _LEFT_OUT)):
                self.end_block(kinds[-1])
            if element is not root:
                self.text.add_text(element.tail or "")
        self.end_block()

    def _is_read(self, element: html.HtmlElement) -> bool:
        """Handle an element whose content is no prose: a mark, a heading, or left out."""
        tag, classes = element.tag, classes_of(element)
        if tag == "sup" and self._add_marks(element, classes):
            return True
        if classes & _INLINE_TAGS:
            shown = _IGNORED_PARTS.sub("", text_of(element)).strip()
            for part in re.split(r"[,;]| and ", shown):
                if name := tag_of(part):
                    self.text.add_mark(tag=name, place=self._place_of(element))
            return True
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._add_heading(element, int(tag[1]))
            return True
        if tag in _LEFT_OUT or classes & _LEFT_OUT_CLASSES:
            if self.depth < _DEEPEST and not classes & _SILENT_CLASSES and _marks_in(element):
                self._add_apart(element)
            return True
        return (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or "noprint" in classes
            or element.get("role") in ("navigation", "presentation", "note")
            or bool(_HIDDEN.search(element.get("style") or ""))
        )

    def _place_of(self, element: html.HtmlElement) -> tuple[int, int] | None:
        start, _, end = (element.get(self._place) or "").partition("-")
        return (int(start), int(end)) if end else None

    def _add_marks(self, element: html.HtmlElement, classes: frozenset[str]) -> bool:
        """Add the marks of ``<sup>[1]</sup>``; return whether it is one."""
        if not classes & _REFERENCES and element.get("rel") != "dc:references":
            return False
        for link in element.iter("a"):
            if note := note_id(link):
                shown = _IGNORED_PARTS.sub("", text_of(link)).strip()
                group = link.get("data-mw-group") or ""
                if group and not shown.startswith(group):
                    shown = f"{group} {shown}"
                self.numbers.setdefault(note, shown)
                self.text.add_mark(note, place=self._place_of(element))
        return True

    def _add_apart(self, element: html.HtmlElement) -> None:
        """Add what carries marks in a table, or in the captions of pictures."""
        self.end_block()
        if element.tag == "table":
            is_box = bool(classes_of(element) & _BOXES)
            self.add_table(_table_parts(element), self.read, is_box=is_box)
            return
        captions = [each for each in element.iter() if _is_caption(each)]
        for caption in captions or [element]:
            if caption is element or not any(e in captions for e in caption.iterancestors()):
                self.add(self.apart(self.read, caption), "caption")

    def read_notes(self) -> None:
        """Read the explanatory notes, which may have references themselves."""
        self.begin_notes()
        for element in self.references.explanatory(self.numbers):
            if _marks_in(element):
                self.add(self.apart(self.read, element), "note")

    def _add_heading(self, element: html.HtmlElement, level: int) -> None:
        self.end_block()
        if element.get("id") == "firstHeading":
            return
        skipped = [e for e in element.iter() if classes_of(e) & {"mw-editsection", *_REFERENCES}]
        text = text_of(element, skipped)
        for mark in _marks_in(element):
            self.text.add_text(f"{text} " if self.text.is_empty else "")
            self._add_marks(mark, classes_of(mark))
        if block := self.text.build():
            self.add(block, "heading")
        self.begin_section(level, text)


def _marks_in(element: html.HtmlElement) -> list[html.HtmlElement]:
    """Return the marks that an element contains."""
    return [each for each in element.iter("sup", "span") if classes_of(each) & _REFERENCES]


def _is_caption(element: html.HtmlElement) -> bool:
    is_element = isinstance(element.tag, str)
    return element.tag == "figcaption" or (is_element and bool(classes_of(element) & _CAPTIONS))


def _table_parts(
    table: html.HtmlElement,
) -> Iterator[tuple[str, Mapping[str, str], html.HtmlElement]]:
    """Yield the caption, rows and cells of a table, not those of tables in it."""
    for part in table.iterchildren("caption", "tr", "thead", "tbody", "tfoot"):
        rows = part.iterchildren("tr") if part.tag.startswith("t") and part.tag != "tr" else [part]
        for row in rows:
            yield row.tag, row.attrib, row
            for cell in row.iterchildren("td", "th") if row.tag == "tr" else ():
                yield cell.tag, cell.attrib, cell
