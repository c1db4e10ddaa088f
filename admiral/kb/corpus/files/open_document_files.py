"""Read documents and sheets of OpenDocument (ODT, ODS) as they are shown.

Deleted and hidden text, comments, placeholders and tables of contents are left out. The text of a
note, or of a frame, follows the paragraph that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from zipfile import ZipFile

from admiral.kb.corpus.files import (
    Position,
    TextBuilder,
    UnreadableFileError,
    joined_text,
    one_line,
)
from admiral.kb.corpus.files.delimited_files import (
    EMPTY,
    MOST_COLUMNS,
    GridCell,
    add_grid,
    row_text,
)
from admiral.kb.corpus.files.office_packages import (
    Element,
    attribute,
    child,
    children,
    local_name,
    open_archive,
    parsed,
)
from proofs.logic.words import word_list

_MANIFEST = "META-INF/manifest.xml"
_LEFT_OUT = word_list(
    "tracked-changes annotation forms table-of-content illustration-index table-index object-index "
    "user-index alphabetical-index placeholder note-citation ruby-text title desc shapes"
)
_FRAMES = word_list("frame custom-shape rect ellipse line path polygon connector caption g")
_VALUES = ("string-value", "date-value", "value")
_CHARACTERS = {"tab": "\t", "line-break": "\n", "s": " "}
_MOST_STYLES = 20  # that one is based on


def read_odt(data: bytes, text: TextBuilder) -> None:
    """Read an ODT file."""
    with open_archive(data, (".xml",)) as archive:
        body, styles = _open(archive, "text", text)
    _Reader(styles, text).blocks(body)


def read_ods(data: bytes, text: TextBuilder) -> None:
    """Read an ODS file; each sheet is a document if several have content."""
    with open_archive(data, (".xml",)) as archive:
        body, styles = _open(archive, "spreadsheet", text)
    sheets = [
        sheet
        for sheet in body
        if local_name(sheet) == "table"
        and styles.value("table", attribute(sheet, "style-name"), "display") != "false"
        and any(attribute(each, "value-type") or local_name(each) == "p" for each in sheet.iter())
    ]
    for sheet in sheets:
        name = attribute(sheet, "name") or ""
        part = text.part(name) if len(sheets) > 1 else text
        if part is not text:
            part.propose_title(name)
        part.heading(1, f"sheet {name}", is_title=False)
        reader = _Reader(styles, part)
        add_grid(reader.rows(sheet), part, level=2)


def _open(archive: ZipFile, kind: str, text: TextBuilder) -> tuple[Element, _Styles]:
    manifest = parsed(archive, _MANIFEST, ())
    if any(local_name(each) == "encryption-data" for part in manifest for each in part):
        raise UnreadableFileError("encrypted")
    content = parsed(archive, "content.xml")
    body = child(content, "body", kind)
    if body is None:
        raise ValueError(f"no OpenDocument of the kind {kind!r}")
    for each in children(parsed(archive, "meta.xml", ()), "meta"):
        if local_name(each) == "title":
            text.propose_title(each.text)
    return body, _Styles(content, parsed(archive, "styles.xml", ()))


class _Styles:
    """The styles of a document, by family and name."""

    def __init__(self, *parts: Element) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        for part in parts:
            for group in ("styles", "automatic-styles"):
                for style in children(part, group):
                    key = attribute(style, "family") or "", attribute(style, "name") or ""
                    self._styles.setdefault(key, style)
        self._known: dict[tuple[str, str, str], str] = {}

    def value(self, family: str, name: str | None, wanted: str) -> str:
        if not name:
            return ""
        key = family, name, wanted
        if key not in self._known:
            self._known[key] = self._found(*key)
        return self._known[key]

    def is_title(self, name: str | None) -> bool:
        for _ in range(_MOST_STYLES):
            if not name or name == "Title":
                break
            name = attribute(self._styles.get(("paragraph", name)), "parent-style-name")
        return name == "Title"

    def _found(self, family: str, name: str, wanted: str) -> str:
        for _ in range(_MOST_STYLES):
            style = self._styles.get((family, name))
            for properties in () if style is None else style:
                if (value := attribute(properties, wanted)) is not None:
                    return value
            name = attribute(style, "parent-style-name") or ""
        return ""


class _Reader:
    """Adds the blocks of a document to a text."""

    def __init__(self, styles: _Styles, text: TextBuilder) -> None:
        self._styles, self._text = styles, text
        self._later: list[Element] = []  # notes and frames of the latest paragraph

    def blocks(self, parent: Element, *, in_list: bool = False) -> None:
        for element in parent:
            name = local_name(element)
            if name in ("p", "h"):
                self._paragraph(element, in_list)
            elif name == "table":
                add_grid(self.rows(element), self._text, level=9)
            elif name == "list":
                if not in_list:
                    self._text.begin_list()
                self.blocks(element, in_list=True)
            elif name in _FRAMES:
                self._later.append(element)
            elif name and name not in _LEFT_OUT and not _is_hidden(element):
                self.blocks(element, in_list=in_list)
            while self._later:
                later, self._later = self._later, []
                for each in later:
                    self.blocks(each)

    def rows(self, table: Element) -> Iterator[list[GridCell]]:
        hidden: set[int] = set()
        column = 0
        for each in _within(table, "table-column"):
            times = _number(each, "number-columns-repeated")
            if attribute(each, "visibility") in ("collapse", "filter"):
                hidden.update(range(column, min(column + times, MOST_COLUMNS)))
            column += times
        cells: list[GridCell] = []
        for row in _within(table, "table-row"):
            cells = self._cells(row, cells)
            if attribute(row, "visibility") not in ("collapse", "filter"):
                shown = [cell for column, cell in enumerate(cells) if column not in hidden]
                yield shown
                for _ in range(_number(row, "number-rows-repeated") - 1 if shown else 0):
                    pairs = ((cell.text, len(list(same))) for cell, same in groupby(shown))
                    yield [cell for text, width in pairs for cell in [GridCell(text)] * width]

    def _cells(self, row: Element, above: list[GridCell]) -> list[GridCell]:
        cells: list[GridCell] = []
        empty = 0  # columns after them; a row may end with thousands
        covered = 0  # columns of the latest cell that have cells of their own in the file
        for element in row:
            name = local_name(element)
            times = min(_number(element, "number-columns-repeated"), MOST_COLUMNS)
            if name == "covered-table-cell":
                beside = min(covered, times)
                covered -= beside
                first = len(cells) + empty
                reaching = above[first : first + times - beside]
                cells += [EMPTY] * empty + reaching if reaching else []
                empty = 0 if reaching else empty + times - beside
            elif name == "table-cell":
                lines = list(self._lines(element))
                if not lines:  # written by a program that leaves it to others to show values
                    lines += filter(None, (attribute(element, name) for name in _VALUES))
                written = one_line("; ".join(lines))
                width = min(_number(element, "number-columns-spanned"), MOST_COLUMNS)
                covered = width - 1
                if written:
                    cells += [EMPTY] * empty
                    empty = 0
                    for _ in range(min(times, -(-MOST_COLUMNS // width))):
                        cells += [GridCell(written)] * width
                else:
                    empty += times * width
        return cells

    def _lines(self, parent: Element) -> Iterator[str]:
        for element in parent:
            name = local_name(element)
            if name in ("p", "h"):
                yield from filter(None, [joined_text(self._pieces(element)).strip()])
            elif name == "table":
                yield from map(row_text, self.rows(element))
            elif name and name not in _LEFT_OUT and not _is_hidden(element):
                yield from self._lines(element)

    def _paragraph(self, element: Element, in_list: bool) -> None:
        style = attribute(element, "style-name")
        if any(local_name(e) == "hidden-paragraph" and _is_hidden(e) for e in element.iter()):
            return
        hidden = self._styles.value("paragraph", style, "display") == "none"
        written = joined_text(self._pieces(element, hidden))
        level = attribute(element, "outline-level") or "1"
        if local_name(element) == "h":
            self._text.heading(int(level) if level.isdigit() else 1, written)
        elif self._styles.is_title(style):
            self._text.heading(1, written)
        elif in_list:
            self._text.item(written)
        else:
            self._text.paragraph(written)

    def _pieces(
        self, parent: Element, hidden: bool = False, position: Position = ""
    ) -> Iterator[tuple[str, Position]]:
        if parent.text and not hidden:
            yield parent.text, position
        for element in parent:
            name = local_name(element)
            if name in _CHARACTERS:
                yield _CHARACTERS[name] * min(_number(element, "c"), 100), ""
            elif name == "note":
                self._later += [each for each in element if local_name(each) == "note-body"]
            elif name in _FRAMES:
                self._later.append(element)
            elif name and name not in _LEFT_OUT and not _is_hidden(element):
                style = attribute(element, "style-name") if name in ("span", "a") else None
                shown = self._styles.value("text", style, "display")
                raised = self._styles.value("text", style, "text-position")
                yield from self._pieces(
                    element,
                    shown == "none" if shown else hidden,
                    _position(raised) if raised else position,
                )
            if element.tail and not hidden:
                yield element.tail, position


def _position(value: str) -> Position:
    first = value.split(" ")[0]
    if first.startswith(("sub", "-")):
        return "lowered"
    return "raised" if first.strip("0%.") else ""


def _is_hidden(element: Element) -> bool:
    return attribute(element, "is-hidden") == "true" or attribute(element, "display") == "none"


def _within(table: Element, wanted: str) -> Iterator[Element]:
    for element in table:
        name = local_name(element)
        if name == wanted:
            yield element
        elif name.startswith("table-") and name != "table-cell":
            yield from _within(element, wanted)


def _number(element: Element, name: str) -> int:
    value = attribute(element, name) or ""
    return max(int(value[:8]), 1) if value.isdigit() else 1
