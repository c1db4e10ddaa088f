"""Write the rows of grids, such as sheets and CSV files, as sentences with their column heads.

Nothing in a grid says which of its rows are heads, or where a table ends. A row is one of heads if
it holds words where the rows below hold numbers, or if it is the first and holds words alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import NamedTuple

from admiral.kb.corpus.files.extraction import TextBuilder, one_line
from admiral.kb.corpus.files.html_tables import TableRows

MOST_COLUMNS = 16_384  # of a sheet; a wider cell is damaged
_ROWS_LOOKED_AT = 20
_MOST_LINES = 3  # above a table: its title and remarks
_LONGEST_HEAD = 100  # characters
_SENTENCE = re.compile(r"(?:\S+\s+){3,}.*[.!?]")
_VALUE = re.compile(
    r"[(\[]?[-−+<>~≈±]*\s?(?:[$€£¥₹]|[A-Z]{2,3}\s)?\s?\d(?:[\d\s.,'’/:–-]*\d)?"
    r"\s?(?:%|‰|°[CF]?|[$€£¥₹]|[A-Za-zµ²³/]{1,4})?[)\]]?"
    r"|\d{1,2}\.?\s[^\W\d_]{3,9}\.?\s\d{4}|(?i:true|false|yes|no|n/?a|none)|[\W_]+"
)
_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")


class GridCell(NamedTuple):
    """A cell of a row.

    Attributes
    ----------
    text
        As it is shown.
    width
        How many columns it spans.
    is_repeated
        Whether it reaches down from a row above.
    """

    text: str
    width: int = 1
    is_repeated: bool = False


Row = Sequence[GridCell]


class Span(NamedTuple):
    """Cells that are one, from a first to a last column, and whether they reach down to a row."""

    first: int
    last: int
    text: str
    is_repeated: bool = False


def visible_cells(spans: Iterable[Span], hidden: Sequence[int]) -> list[GridCell]:
    """Return the cells of a row.

    Parameters
    ----------
    spans
        The cells with text in order of their columns; columns count from 1.
    hidden
        The hidden columns, in order.
    """
    cells: list[GridCell] = []
    written = 0
    for span in spans:
        before = span.first - 1
        start, end = (column - bisect_right(hidden, column) for column in (before, span.last))
        if end > start >= written:
            if start > written:
                cells.append(GridCell("", start - written))
            cells.append(GridCell(span.text, end - start, span.is_repeated))
            written = end
    return cells


def add_grid(rows: Iterable[Row], text: TextBuilder, level: int = 1) -> None:
    """Add the rows of a grid, which may hold several tables with empty rows between them.

    Parameters
    ----------
    rows
        The cells of each row from the first column on.
    level
        Level of the headings that lines above tables become.
    """
    grid = _Grid(text, level)
    own = (row for row in rows if not row or not _is_continued(row))
    for is_empty, block in groupby(own, lambda row: not _filled(row)):
        if not is_empty:
            grid.add(block)
    grid.end()


def _is_continued(row: Row) -> bool:
    """Return whether all there is in a row reaches down from rows above."""
    return any(cell.is_repeated for cell in row) and not any(
        one_line(cell.text) and not cell.is_repeated for cell in row
    )


def _filled(row: Row) -> dict[int, str]:
    """Return the texts of the cells that are not empty by their columns."""
    texts = {}
    column = 0
    for cell in row:
        if text := one_line(cell.text):
            texts[column] = text
        column += cell.width
    return texts


class _Grid:
    """The tables of a grid."""

    def __init__(self, text: TextBuilder, level: int) -> None:
        self._text, self._level = text, level
        self._table: TableRows | None = None
        self._width = 0  # columns of the table
        self._names: int | None = None  # the column of the names of facts
        self._lines: list[str] = []  # that may belong to the next table
        self._held: list[Row] = []  # a row alone, which may be heads of what comes after it

    def add(self, block: Iterator[Row]) -> None:
        """Add rows without an empty one between them."""
        block = chain(self._held, block)
        self._held = []
        first = list(islice(block, _ROWS_LOOKED_AT))
        if len(first) == 1 and len(_filled(first[0])) > 1 and self._table is None:
            self._held = first
        else:
            self._add(first, block)

    def _add(self, first: list[Row], block: Iterator[Row]) -> None:
        lines = 0
        while lines < len(first) and len(_filled(first[lines])) == 1:
            lines += 1
        if lines == len(first) <= _MOST_LINES:
            self._lines += map(_line, first)
            return
        heads = self._heads(first[lines:]) if lines <= _MOST_LINES else 0
        if heads or (self._table is None and 0 < lines <= _MOST_LINES):
            self._lines += map(_line, first[:lines])
            first = first[lines:]
        widths = [max(_filled(row), default=0) + 1 for row in first]
        if self._table is None or heads or max(widths) > self._width:
            self._end_table(of_table=bool(heads))
            self._table, self._width = TableRows(), max(widths)
            self._names = None if heads else _column_of_names(first)
        else:
            self._write_lines(of_table=False)
        for number, row in enumerate(chain(first, block)):
            self._add_row(row, is_head=number < heads)

    def end(self) -> None:
        """End the grid."""
        if self._held:
            self._add(self._held, iter(()))
        self._end_table(of_table=False)

    def _end_table(self, *, of_table: bool) -> None:
        """End a table; the lines after it belong to the next one if that has heads."""
        if self._table is not None:
            for sentence in self._table.end():
                self._text.record(sentence)
        self._write_lines(of_table=of_table)
        self._table = None

    def _write_lines(self, *, of_table: bool) -> None:
        titles = [line for line in self._lines if of_table and _may_be_title(line)]
        # Lines before a later table may be remarks on the one before.
        title = titles[0 if self._table is None else -1] if titles else None
        for line in self._lines:
            if line == title:
                self._text.heading(self._level, line)
                title = None
            else:
                self._text.paragraph(line)
        self._lines = []

    def _heads(self, rows: Sequence[Row]) -> int:
        """Return how many rows at the beginning of a block are heads of columns."""
        if len(rows) < 2 or not _holds_words(rows[0], rows[1:]):
            return 0
        if self._table is None:
            if _column_of_names(rows) is not None:
                return 0
        elif max(_filled(rows[0])) < self._width and not _differs(rows[0], rows[1:]):
            return 0
        return 2 if len(rows) > 2 and _is_second_head(rows[0], rows[1], rows[2:]) else 1

    def _add_row(self, row: Row, *, is_head: bool) -> None:
        table = self._table
        assert table is not None
        width = 0
        for cell in row:
            names = width <= self._names < width + cell.width if self._names is not None else False
            table.cell(cell.text, is_head=is_head or names, columns=str(cell.width), rows=None)
            width += cell.width
        if not is_head:  # so that not all cells are names
            table.cell("", is_head=False, columns=None, rows=None)
        if sentence := table.end_row(in_head=is_head):
            self._text.record(sentence)


def _line(row: Row) -> str:
    return next(iter(_filled(row).values()))


def _may_be_title(line: str) -> bool:
    return not _VALUE.fullmatch(line) and not line.endswith((".", ":", ";", ","))


def _holds_words(row: Row, below: Sequence[Row]) -> bool:
    """Return whether a row may be one of heads: words, or years above what are no years."""
    texts = _filled(row)
    if len(texts) < 2:
        return False
    for column, text in texts.items():
        if len(text) > _LONGEST_HEAD or _SENTENCE.fullmatch(text):
            return False
        values = [of_row[column] for each in below if column in (of_row := _filled(each))]
        if _VALUE.fullmatch(text) and (
            not _YEAR.fullmatch(text) or all(map(_YEAR.fullmatch, values))
        ):
            return False
    is_corner_empty = 0 not in texts and any(0 in _filled(each) for each in below)
    return is_corner_empty or not all(map(_YEAR.fullmatch, texts.values()))


def _differs(row: Row, below: Sequence[Row]) -> bool:
    """Return whether a row has words, or years, above values."""
    for column in _filled(row):
        values = [of_row[column] for each in below if column in (of_row := _filled(each))]
        if values and all(map(_VALUE.fullmatch, values)):
            return True
    return False


def _is_second_head(row: Row, second: Row, below: Sequence[Row]) -> bool:
    """Return whether a row has the heads of columns below a head that spans them."""
    spanned: set[int] = set()
    column = 0
    for cell in row:
        if cell.width > 1 and one_line(cell.text):
            spanned.update(range(column, column + cell.width))
        column += cell.width
    own = set()
    column = 0
    for cell in second:
        if one_line(cell.text) and not cell.is_repeated:
            own.add(column)
        column += cell.width
    return bool(own) and own <= spanned and _holds_words(second, below)


def _column_of_names(rows: Sequence[Row]) -> int | None:
    """Return the column of names if rows have a name and a value each, instead of heads."""
    texts = [_filled(row) for row in rows]
    columns = sorted(set(chain.from_iterable(texts)))
    if len(columns) != 2 or len(texts[0]) != 2:
        return None
    first, second = columns
    states_facts = (
        not _VALUE.fullmatch(texts[0][first]) and bool(_VALUE.fullmatch(texts[0][second]))
    ) or all(each.get(first, ":").endswith(":") for each in texts)
    return first if states_facts else None
