"""Read workbooks (XLSX): the rows of each visible sheet, with the values that its cells show.

A formula has the value that was stored with it. Hidden sheets, rows and columns are left out, and
so are comments. A merged cell is repeated in each of its rows. Numbers are written by their
number formats, but whole dates as in ISO 8601, whatever the order of their parts in the format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple
from zipfile import ZipFile

from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
from openpyxl.utils.cell import column_index_from_string, range_boundaries
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel
from openpyxl.utils.escape import unescape

from admiral.kb.corpus.files import Position, TextBuilder, joined_text
from admiral.kb.corpus.files.delimited_files import (
    EMPTY,
    MOST_COLUMNS,
    GridCell,
    add_grid,
)
from admiral.kb.corpus.files.office_packages import (
    Element,
    attribute,
    child,
    children,
    core_title,
    elements,
    local_name,
    main_part,
    open_archive,
    parsed,
    raised_or_lowered,
    relationships,
)

_MOST_DIGITS = 15  # that a workbook stores
_MOST_DECIMALS = 30
_LONGEST_FORMAT = 255  # characters, as in Excel
_BETWEEN_SECTIONS = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
# Text, signs of currencies, and what only changes the look: colours, and spaces as wide as a sign.
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].')
_DIGITS = re.compile(r"[#0?](?:[#0?,]*[#0?])?(,*)(?:\.([#0?]*))?(,*)(E[+-]0+)?")
_CONDITION = re.compile(r"\[[<>=]")
_TIME_OF_DAY = re.compile(r"am/pm|a/p")
_MINUTES = re.compile(r"(?<=h)([^a-z]*)m+|m+(?=[^a-z]*s)")
_DAY = re.compile(r"(?<!d)dd?(?!d)")


def shown_number(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a cell shows it; a number without a format has all its digits.

    - `value`: the number; of a date, its days since the beginning of 1900 or 1904.
    - `code`: the number format, such as ``#,##0.00 "EUR"``.
    - `since_1904`: whether the workbook counts days from 1904 on.
    """
    if len(code) > _LONGEST_FORMAT or _CONDITION.search(code):
        return _plain(value)
    if is_date_format(code):
        try:
            return _shown_date(value, code, since_1904) or _plain(value)
        except (ValueError, OverflowError):  # no date that there is
            return _plain(value)
    sections = _BETWEEN_SECTIONS.split(code)
    if value < 0 and len(sections) > 1:
        return _writer(sections[1])(-value)
    return _writer(sections[2 if not value and len(sections) > 2 else 0])(value)


@lru_cache(maxsize=1024)
def _writer(code: str) -> Callable[[float], str]:
    """Return what writes numbers by a section of a format: that of positive ones, say."""
    literals: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        literals.append(next(filter(None, match.groups()), ""))
        return chr(0xE000 + len(literals) - 1)

    def literal(text: str) -> str:
        return re.sub("[\ue000-\ue0ff]", lambda m: literals[ord(m[0]) - 0xE000], text)

    marked = _LITERAL.sub(hidden, re.sub("[\ue000-\ue0ff]", "", code))
    digits = _DIGITS.search(marked)
    if general := re.search("general|@", marked, re.IGNORECASE):
        before, after = literal(marked[: general.start()]), literal(marked[general.end() :])
        return lambda value: f"{before}{_plain(value)}{after}".strip()
    if digits is None:
        return lambda value: literal(marked).strip()
    before, after = literal(marked[: digits.start()]), literal(marked[digits.end() :])
    whole, decimals = digits[0].partition(".")[0], digits[2] or ""
    # A fraction, or a number with signs between its digits.
    if re.search("[#0?]", marked[digits.end() :]) or len(decimals) > _MOST_DECIMALS:
        return _plain
    places = len(decimals)
    width = max(whole.count("0") + places + bool(places), 1)
    form = "," if "," in whole.rstrip(",") else f"0{width}"
    power = 2 * ("%" in marked) - 3 * (len(digits[1]) + len(digits[3]))  # of ten

    def written(value: float) -> str:
        number = Decimal(repr(value)).scaleb(power)
        if digits[4]:
            shown = f"{abs(number):.{places}E}"
        else:
            try:
                number = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
            except InvalidOperation:  # too many digits
                return _plain(value)
            shown = f"{abs(number):{form}f}"
            for _ in range(places - decimals.count("0")):
                shown = shown.removesuffix("0")
            shown = shown.removesuffix(".")
        return f"{'-' if number < 0 else ''}{before}{shown}{after}".strip()

    return written


def _plain(value: float) -> str:
    written = f"{value:.{_MOST_DIGITS}g}"
    if "e" not in written:
        return written
    number = Decimal(written)
    return f"{number:f}" if abs(number.adjusted()) < 2 * _MOST_DIGITS else written.upper()


def _shown_date(value: float, code: str, since_1904: bool) -> str:
    epoch = MAC_EPOCH if since_1904 else WINDOWS_EPOCH
    if is_timedelta_format(code):
        minutes = round(timedelta(value).total_seconds() / 60)
        return f"{'-' if minutes < 0 else ''}{abs(minutes) // 60}:{abs(minutes) % 60:02}"
    if value < 0:
        return ""
    moment = from_excel(value, epoch)
    parts = _TIME_OF_DAY.sub("", _LITERAL.sub("", code.partition(";")[0]).lower())
    clock = ""
    if "h" in parts or "s" in parts:
        clock = f"{moment:%H:%M:%S}" if "s" in parts else f"{moment:%H:%M}"
    if isinstance(moment, time):
        return clock
    assert isinstance(moment, datetime)
    has_day, has_month, has_year = _DAY.search(parts), "m" in _MINUTES.sub("", parts), "y" in parts
    if has_day and has_month and has_year:
        return f"{moment:%Y-%m-%d} {clock}".strip()
    shown = (
        f"{moment:%A}" if "ddd" in parts else "",
        str(moment.day) if has_day else "",
        f"{moment:%B}" if has_month else "",
        f"{moment:%Y}" if has_year else "",
        clock,
    )
    return " ".join(filter(None, shown))


_ON = ("1", "true")
_MIDNIGHT = re.compile(r"T00:00(?::00)?(?:\.0*)?Z?$")
_HIDES_ALL = ";;;"  # a number format


def read_xlsx(data: bytes, text: TextBuilder) -> None:
    """Read an XLSX or XLSM file; each sheet is a document if several have content."""
    with open_archive(data, (".xml", ".rels")) as archive:
        book = _Workbook.open(archive)
        text.propose_title(core_title(archive))
        sheets = [
            (name, path, layout)
            for name, path in book.sheets
            if (layout := _Layout.read(archive, path)).has_cells
        ]
        for name, path, layout in sheets:
            part = text.part(name) if len(sheets) > 1 else text
            if part is not text:
                part.propose_title(name)
            part.heading(1, f"sheet {name}", is_title=False)
            sheet = _Sheet(book, layout)
            add_grid(sheet.rows(elements(archive, path, "row")), part, level=2)
            if sheet.unknown:
                part.notes.append(
                    f"{sheet.unknown} formulas on sheet {name} have no stored value; save the file "
                    "in a spreadsheet program"
                )


class _Workbook(NamedTuple):
    """Data shared by the sheets of a workbook."""

    sheets: list[tuple[str, str]]  # name and path of each visible sheet
    strings: list[str]  # the texts that cells refer to by numbers
    formats: list[str]  # the number format of each style of cells
    since_1904: bool  # whether days are counted from 1904 on

    @classmethod
    def open(cls, archive: ZipFile) -> _Workbook:
        main = main_part(archive, "xl/workbook.xml")
        root = parsed(archive, main)
        if local_name(root) != "workbook":
            raise ValueError("no workbook of Excel")
        parts = list(relationships(archive, main))
        paths = {part.id: part.path for part in parts if part.kind == "worksheet"}
        sheets = [
            (attribute(sheet, "name") or "", paths[key])
            for sheet in children(root, "sheets")
            if (key := attribute(sheet, "id")) in paths
            and attribute(sheet, "state") in (None, "visible")
        ]
        kinds = {part.kind: part.path for part in parts}
        names = archive.namelist()
        strings = []
        if (path := kinds.get("sharedStrings", "")) in names:
            strings = [_string(each) for each in elements(archive, path, "si")]
        properties = child(root, "workbookPr")
        return cls(
            sheets,
            strings,
            _formats(parsed(archive, kinds.get("styles", ""), ())),
            attribute(properties, "date1904") in _ON,
        )


class _Layout(NamedTuple):
    """Hidden columns and merged cells of a sheet."""

    hidden: set[int]  # the hidden columns, from 1
    # Last row and last column of merged cells, by their first row and column.
    merged: dict[tuple[int, int], tuple[int, int]]
    has_cells: bool

    @classmethod
    def read(cls, archive: ZipFile, path: str) -> _Layout:
        hidden: set[int] = set()
        merged = {}
        has_cells = False
        for element in elements(archive, path, "row", "col", "mergeCell"):
            name = local_name(element)
            if name == "row":
                has_cells = has_cells or any(len(cell) for cell in element)
            elif name == "mergeCell":
                first, top, last, bottom = range_boundaries(element.get("ref", ""))
                merged[top, first] = bottom, last
            elif element.get("hidden") in _ON or float(element.get("width") or 1) == 0:
                last = min(int(element.get("max", "0")), MOST_COLUMNS)
                hidden.update(range(int(element.get("min", "1")), last + 1))
        return cls(hidden, merged, has_cells)


class _Sheet:
    """Turns the rows of a sheet into those of a grid; `unknown` counts formulas without value."""

    def __init__(self, book: _Workbook, layout: _Layout) -> None:
        self.unknown = 0
        self._book, self._layout = book, layout
        # Merged cells that reach down, by their first column, with their last row and column.
        self._hanging: dict[int, tuple[int, int, GridCell]] = {}

    def rows(self, rows: Iterator[Element]) -> Iterator[list[GridCell]]:
        number = 0
        for row in rows:
            before, number = number, int(row.get("r") or number + 1)
            if number > before + 1:
                yield []
            cells = self._cells(row, number)
            if row.get("hidden") not in _ON:
                yield cells

    def _cells(self, row: Element, number: int) -> list[GridCell]:
        cells: dict[int, GridCell] = {}
        column = 0
        for element in row:
            if place := element.get("r"):
                column = column_index_from_string(place.rstrip("0123456789"))
            else:
                column += 1
            if shown := self._shown(element):
                cells[column] = GridCell(shown)
        for column, (bottom, last, cell) in list(self._hanging.items()):
            if bottom < number:
                del self._hanging[column]
            else:
                cells |= dict.fromkeys(range(column, last + 1), cell)
        for column, cell in list(cells.items()):
            if (number, column) in self._layout.merged:
                bottom, last = self._layout.merged[number, column]
                cells |= dict.fromkeys(range(column, last + 1), cell)
                self._hanging[column] = bottom, last, cell
        columns = range(1, max(cells, default=0) + 1)
        return [cells.get(c, EMPTY) for c in columns if c not in self._layout.hidden]

    def _shown(self, cell: Element) -> str:
        book, kind = self._book, cell.get("t", "n")
        style = int(cell.get("s") or 0)
        code = book.formats[style] if style < len(book.formats) else "General"
        value = child(cell, "v")
        written = (value.text if value is not None else None) or ""
        if code == _HIDES_ALL:
            return ""
        if kind == "inlineStr":
            inline = child(cell, "is")
            return "" if inline is None else _string(inline)
        if not written:
            if kind != "str" and child(cell, "f") is not None:
                self.unknown += 1
            return ""
        if kind == "s":
            return book.strings[int(written)]
        if kind == "b":
            return "TRUE" if written in _ON else "FALSE"
        if kind == "d":
            return _MIDNIGHT.sub("", written).replace("T", " ")
        if kind != "n":
            return str(unescape(written))
        number = float(written)
        if not math.isfinite(number):
            raise ValueError(f"the number {written}")
        return shown_number(number, code, since_1904=book.since_1904)


def _formats(styles: Element) -> list[str]:
    own = {
        int(attribute(each, "numFmtId") or 0): attribute(each, "formatCode") or ""
        for each in children(styles, "numFmts")
    }
    ids = (int(attribute(each, "numFmtId") or 0) for each in children(styles, "cellXfs"))
    return [own.get(id) or BUILTIN_FORMATS.get(id, "General") for id in ids]


def _string(element: Element) -> str:
    pieces: list[tuple[str, Position]] = []
    for each in element:
        name = local_name(each)
        if name == "t":
            pieces.append((each.text or "", ""))
        elif name == "r":
            written = child(each, "t")
            shown = (written.text if written is not None else "") or ""
            pieces.append((shown, raised_or_lowered(child(each, "rPr")) or ""))
    return str(unescape(joined_text(pieces)))
