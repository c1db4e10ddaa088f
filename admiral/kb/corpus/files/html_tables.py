"""Write the rows of HTML tables as sentences with the heads of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from admiral.kb.corpus.files.extraction import has_content, one_line

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MOST_COLUMNS = 1000  # as in the HTML standard
_MOST_ROWS = 65_534
_ROWS_LOOKED_AT = 50
_BLOCKS_OF_LAYOUTS = "table, h1, h2, h3, h4, h5, h6, article, section, form, hr, p ~ p"


class _Cell(NamedTuple):
    text: str
    is_head: bool
    column: int
    width: int


class TableRows:
    """The rows of one table, with cells that span rows and columns."""

    def __init__(self) -> None:
        self._row: list[tuple[str, bool, int, int]] = []
        self._hanging: list[tuple[_Cell, int]] = []  # cells that reach into the next rows
        self._head_rows: list[list[_Cell]] = []
        self._heads: list[str] = []
        self._has_data = False

    def cell(self, text: str, *, is_head: bool, columns: str | None, rows: str | None) -> None:
        """Add a cell to the row, with its attributes ``colspan`` and ``rowspan``."""
        width = min(_span(columns), MOST_COLUMNS)
        height = _MOST_ROWS if rows == "0" else min(_span(rows), _MOST_ROWS)
        self._row.append((one_line(text), is_head, width, height))

    def end_row(self, *, in_head: bool) -> str:
        """Return the sentence of the row, which is empty for heads of columns."""
        if not self._row and not self._hanging:
            return ""
        has_own = bool(self._row)
        cells = self._placed()
        if not has_own:
            return ""
        if not in_head and not all(cell.is_head for cell in cells):
            self._has_data = True
            return self._sentence(cells)
        if len(cells) == 1 and cells[0].width > 1:
            return cells[0].text  # a title over several columns
        if self._has_data:
            self._head_rows, self._has_data = [], False
        self._head_rows.append(cells)
        self._heads = _heads(self._head_rows)
        return ""

    def end_group(self) -> None:
        """End a group of rows, beyond which no cell reaches."""
        self._hanging = []

    def end(self) -> Iterator[str]:
        """Yield what stands in heads without rows below them."""
        if not self._has_data:
            for cells in self._head_rows:
                yield "; ".join(cell.text for cell in cells if has_content(cell.text))

    def _placed(self) -> list[_Cell]:
        """Return the cells of the row, with those of earlier rows that reach into it."""
        cells: list[_Cell] = []
        taken = sorted(self._hanging, key=lambda pair: pair[0].column)
        self._hanging = []
        column = 0
        row, self._row = self._row, []
        own = iter(row)
        while True:
            if taken and taken[0][0].column <= column:
                cell, height = taken.pop(0)
                column = max(column, cell.column + cell.width)
            elif (given := next(own, None)) is not None:
                text, is_head, width, height = given
                if taken:  # cells do not overlap
                    width = max(1, min(width, taken[0][0].column - column))
                cell = _Cell(text, is_head, column, width)
                column += width
            elif taken:
                cell, height = taken.pop(0)
                column = cell.column + cell.width
            else:
                return cells
            cells.append(cell)
            if height > 1:
                self._hanging.append((cell, height - 1))

    def _sentence(self, cells: Sequence[_Cell]) -> str:
        if not self._heads:
            return "; ".join(_facts(cells))
        values = []
        for cell in cells:
            name = self._name(cell)
            values.append(f"{name}: {cell.text}" if name and cell.text else cell.text)
        return "; ".join(filter(has_content, values))  # "Open: –" says something

    def _name(self, cell: _Cell) -> str:
        if cell.column == 0 and cell.width > 1 and cell.width >= len(self._heads):
            return ""  # a remark on all columns
        names = self._heads[cell.column : cell.column + cell.width]
        return ", ".join(dict.fromkeys(filter(None, names)))


def is_layout(table: LexborNode, role: str | None) -> bool:
    """Return whether a table only places parts of a page: it has no heads, but other blocks."""
    if role in ("presentation", "none"):
        return True
    if _has_heads(table):
        return False
    # Not from the table itself, which would be found.
    return any(part.css_first(_BLOCKS_OF_LAYOUTS) is not None for part in table.iter())


def _has_heads(table: LexborNode) -> bool:
    seen = 0
    for part in table.iter():
        if part.tag in ("thead", "caption"):
            return True
        for row in (part,) if part.tag == "tr" else part.iter():
            if any(cell.tag == "th" for cell in row.iter()):
                return True
            seen += 1
            if seen == _ROWS_LOOKED_AT:
                return False
    return False


def _facts(cells: Sequence[_Cell]) -> Iterator[str]:
    """Yield the cells of a row without heads of columns; a head in it names the cell after it."""
    name = ""
    for cell in cells:
        if not has_content(cell.text):
            continue
        if cell.is_head:
            if name:
                yield name
            name = cell.text.rstrip(" :")
            continue
        yield f"{name}: {cell.text}" if name else cell.text
        name = ""
    if name:
        yield name


def _heads(rows: Sequence[Sequence[_Cell]]) -> list[str]:
    """Return the name of each column: the heads above it from the top, each once."""
    width = min(max(cell.column + cell.width for row in rows for cell in row), MOST_COLUMNS)
    names: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        for cell in row:
            text = cell.text.rstrip(" :")
            for name in names[cell.column : cell.column + cell.width]:
                if text and text not in name:
                    name.append(text)
    return [" ".join(name) for name in names]


def _span(value: str | None) -> int:
    if not value:
        return 1
    value = value.strip()
    return max(int(value[:6]), 1) if value[:6].isascii() and value[:6].isdecimal() else 1
