"""Read Word documents (DOCX) as they are shown: headings, paragraphs, lists, tables and notes.

Inserted and moved text, content controls, results of fields and text boxes are text; deleted and
hidden text, instructions of fields, placeholders and tables of contents are not. The text of a note
follows the paragraph with its mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from admiral.kb.corpus.files import (
    Position,
    TextBuilder,
    has_content,
    joined_text,
)
from admiral.kb.corpus.files.delimited_files import GridCell, add_grid, row_text
from admiral.kb.corpus.files.office_packages import (
    Element,
    Style,
    WordPackage,
    attribute,
    child,
    is_numbered,
    is_on,
    local_name,
    open_archive,
    outline_level,
    raised_or_lowered,
)
from proofs.logic.words import word_list

# Their content is a part of the text around them.
_TRANSPARENT = word_list("ins moveTo hyperlink smartTag customXml fldSimple dir bdo rubyBase")
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_CONTENTS = re.compile(r"toc \d|table of figures", re.IGNORECASE)
# Signs of the font Symbol that say something in a text.
_SYMBOLS = {
    **dict(zip(b"abgdelmnprstfwDSW", "αβγδελμνπρστφωΔΣΩ", strict=True)),
    **{0xB0: "°", 0xB1: "±", 0xB4: "×", 0xB8: "÷", 0xA3: "≤", 0xB3: "≥", 0xB9: "≠", 0xBB: "≈"},
    **{0xAE: "→", 0xA5: "∞", 0xD6: "√", 0x2D: "−", 0x2B: "+", 0x3D: "=", 0x3C: "<", 0x3E: ">"},
}
_MOST_COLUMNS = 200  # a wider cell is damaged


def read_docx(data: bytes, text: TextBuilder) -> None:
    """Read a DOCX file."""
    with open_archive(data, (".xml", ".rels")) as archive:
        package = WordPackage.open(archive)
    text.propose_title(package.title)
    _Reader(package, text).blocks(package.body)


class _Reader:
    """Adds the blocks of a document to a text."""

    def __init__(self, package: WordPackage, text: TextBuilder) -> None:
        self._package, self._text = package, text
        self._in_list = False
        self._fields: list[bool] = []  # of each open field, whether its result has begun
        self._carried: list[tuple[str, Position]] = []  # before a deleted end of a paragraph
        self._boxes: list[Element] = []
        self._notes: list[Element] = []

    def blocks(self, parent: Element) -> None:
        for element in _blocks(parent):
            if local_name(element) == "p":
                self._paragraph(element)
            else:
                add_grid(self._rows(element), self._text, level=9)
                self._in_list = False
            self._add_noted()

    def _paragraph(self, element: Element) -> None:
        properties = child(element, "pPr")
        style = self._style_of(element)
        pieces = [*self._carried, *self._pieces(element, style.is_hidden)]
        mark = child(properties, "rPr")
        if child(mark, "del") is not None or child(mark, "moveFrom") is not None:
            self._carried = pieces
            return
        self._carried = []
        written = joined_text(pieces)
        if _CONTENTS.fullmatch(style.name):
            self._text.left_out["table of contents"] += has_content(written)
            return
        level, numbered = outline_level(properties), is_numbered(properties)
        level = style.level if level is None else level
        is_item = not level and (style.is_item if numbered is None else numbered)
        if is_item and not self._in_list:
            self._text.begin_list()
        self._in_list = is_item
        if level:
            self._text.heading(level, written)
        elif is_item:
            self._text.item(written)
        else:
            self._text.paragraph(written)

    def _leave_out(self, kind: str, element: Element) -> None:
        texts = (each.text or "" for each in element.iter() if local_name(each) in ("t", "delText"))
        self._text.left_out[kind] += any(map(has_content, texts))

    def _style_of(self, paragraph: Element) -> Style:
        key = attribute(child(paragraph, "pPr", "pStyle"))
        return self._package.style(key, of_paragraph=True)

    def _add_noted(self) -> None:
        while self._notes or self._boxes:
            self._in_list = False
            self.blocks((self._boxes or self._notes).pop(0))

    def _pieces(self, parent: Element, hidden: bool | None) -> Iterator[tuple[str, Position]]:
        for element in parent:
            name = local_name(element)
            if name == "r":
                yield from self._run(element, hidden)
            elif name in _TRANSPARENT:
                yield from self._pieces(element, hidden)
            elif name == "del":
                self._leave_out("deleted text", element)
            elif name == "sdt":
                if (content := _shown_content(element)) is not None:
                    yield from self._pieces(content, hidden)
            elif name in ("oMath", "oMathPara"):
                yield _formula(element), ""
            elif name == "AlternateContent":
                yield from self._pieces(_alternative(element), hidden)

    def _run(self, run: Element, hidden: bool | None) -> Iterator[tuple[str, Position]]:
        properties = child(run, "rPr")
        style = self._package.style(attribute(child(properties, "rStyle")))
        own = is_on(properties, "vanish")
        if own or (own is None and (style.is_hidden or (style.is_hidden is None and hidden))):
            self._leave_out("hidden text", run)
            return
        position = raised_or_lowered(properties)
        position = (style.position or "") if position is None else position
        for element in run:
            name = local_name(element)
            if name == "fldChar":
                self._field_mark(attribute(element, "fldCharType"))
            elif not all(self._fields):  # an instruction
                continue
            elif name == "t":
                yield element.text or "", position
            elif name in _CHARACTERS:
                yield _CHARACTERS[name], position
            elif name == "sym":
                yield _symbol(element), position
            elif name == "ruby":
                yield from self._pieces(element, hidden)
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._package.notes.pop((name, attribute(element, "id") or ""), None)
                if note is not None:
                    self._notes.append(note)
            elif name in ("drawing", "pict", "object", "AlternateContent"):
                self._boxes.extend(_text_boxes(element))

    def _field_mark(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _rows(self, table: Element) -> Iterator[list[GridCell]]:
        above: list[GridCell] = []
        for row in _within(table, "tr"):
            if child(row, "trPr", "del") is not None:
                self._leave_out("deleted text", row)
                continue
            cells: list[GridCell] = []
            for element in _within(row, "tc"):
                properties = child(element, "tcPr")
                merged = child(properties, "vMerge")
                reaches_down = merged is not None and attribute(merged) != "restart"
                if reaches_down and len(cells) < len(above):
                    cell = above[len(cells)]
                else:
                    cell = GridCell("; ".join(filter(None, self._lines(element))))
                span = attribute(child(properties, "gridSpan")) or ""
                width = min(max(int(span), 1), _MOST_COLUMNS) if span.isdigit() else 1
                cells += [cell] * width
            above = cells
            yield cells

    def _lines(self, cell: Element) -> Iterator[str]:
        for block in _blocks(cell):
            if local_name(block) == "p":
                yield joined_text(self._pieces(block, self._style_of(block).is_hidden)).strip()
            else:
                yield from map(row_text, self._rows(block))


def _within(parent: Element, wanted: str) -> Iterator[Element]:
    for element in parent:
        name = local_name(element)
        if name == wanted:
            yield element
        elif name in _TRANSPARENT:
            yield from _within(element, wanted)
        elif name == "sdt" and (content := _shown_content(element)) is not None:
            yield from _within(content, wanted)


def _blocks(parent: Element) -> Iterator[Element]:
    for element in parent:
        name = local_name(element)
        if name in ("p", "tbl"):
            yield element
        elif name in _TRANSPARENT:
            yield from _blocks(element)
        elif name == "AlternateContent":
            yield from _blocks(_alternative(element))
        elif name == "sdt" and (content := _shown_content(element)) is not None:
            yield from _blocks(content)


def _shown_content(control: Element) -> Element | None:
    properties = child(control, "sdtPr")
    gallery = attribute(child(properties, "docPartObj", "docPartGallery")) or ""
    if is_on(properties, "showingPlcHdr") or gallery == "Table of Contents":
        return None
    return child(control, "sdtContent")


def _alternative(element: Element) -> Element:
    return next((each for each in element if local_name(each) in ("Choice", "Fallback")), [])


def _text_boxes(element: Element) -> Iterator[Element]:
    if local_name(element) == "AlternateContent":
        element = _alternative(element)
    for each in element:
        if local_name(each) == "txbxContent":
            yield each
        else:
            yield from _text_boxes(each)


def _symbol(element: Element) -> str:
    code = attribute(element, "char") or ""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    if attribute(element, "font") == "Symbol":
        return _SYMBOLS.get(number & 0xFF, "")
    # Codes of other fonts with characters of their own are in the private area.
    return "" if 0xE000 <= number <= 0xF8FF or not 0 < number < 0xD800 else chr(number)


def _formula(element: Element) -> str:
    name = local_name(element)
    if name == "t":
        return element.text or ""
    parts = {local_name(each): _formula(each) for each in element}
    if name == "sSup":
        return f"{parts.get('e', '')}^{parts.get('sup', '')}"
    if name == "f":
        return f"{parts.get('num', '')}/{parts.get('den', '')}"
    return "".join(_formula(each) for each in element)
