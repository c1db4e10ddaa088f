"""Read CSV and TSV files, and write the rows of any grid as sentences with their column heads.

Nothing in a grid, such as a sheet, says which of its rows are heads, or where a table ends. A row
is one of heads if it holds words where the rows below hold numbers, or if it is the first and holds
words alone.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

from admiral.io.text_cleaning import decode_text
from admiral.kb.corpus.files import LONGEST_TEXT, TextBuilder, one_line
from admiral.kb.corpus.files.html_parsing import TableRows

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


class GridCell:
    """A cell, with its text as it is shown."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


#: The cell of each column. One that spans columns occurs in each, and in the rows it reaches into.
Row = Sequence[GridCell]
EMPTY = GridCell("")


def row_text(row: Row) -> str:
    """Return the texts of the cells of a row."""
    return "; ".join(cell.text for cell, _ in groupby(row) if cell.text)


def add_grid(rows: Iterable[Row], text: TextBuilder, level: int = 1) -> None:
    """Add the rows of a grid, which may hold several tables with empty rows between them.

    `level`: level of the headings that lines above tables become.
    """
    grid = _Grid(text, level)
    for is_empty, block in groupby(_own_rows(rows), lambda row: not _filled(row)):
        if not is_empty:
            grid.add(block)
    grid.end()


def _own_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows but for those into which cells reach from above, and no others."""
    above: Row = ()
    for row in rows:
        filled = list(_filled(row))
        if not filled or any(above[c : c + 1] != row[c : c + 1] for c in filled):
            yield row
        above = row


def _filled(row: Row) -> dict[int, str]:
    """Return the texts of cells by their first columns."""
    texts = {}
    before = None
    for column, cell in enumerate(row):
        if cell is not before and (text := one_line(cell.text)):
            texts[column] = text
        before = cell
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
        if self._held:
            self._add(self._held, iter(()))
        self._end_table(of_table=False)

    def _end_table(self, *, of_table: bool) -> None:
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
        for cell, same in groupby(row):
            width = len(list(same))
            names = self._names is not None and cell is row[self._names]
            table.cell(cell.text, is_head=is_head or names, columns=str(width), rows=None)
        if not is_head:  # so that not all cells are names
            table.cell("", is_head=False, columns=None, rows=None)
        if sentence := table.end_row(in_head=is_head):
            self._text.record(sentence)


def _line(row: Row) -> str:
    return next(iter(_filled(row).values()))


def _may_be_title(line: str) -> bool:
    return not _VALUE.fullmatch(line) and not line.endswith((".", ":", ";", ","))


def _holds_words(row: Row, below: Sequence[Row]) -> bool:
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
    for column in _filled(row):
        values = [of_row[column] for each in below if column in (of_row := _filled(each))]
        if values and all(map(_VALUE.fullmatch, values)):
            return True
    return False


def _is_second_head(row: Row, second: Row, below: Sequence[Row]) -> bool:
    spanned = {
        place
        for column in _filled(row)
        for place in range(column, len(row))
        if row[place] is row[column] and row.count(row[column]) > 1
    }
    own = {c for c in _filled(second) if row[c : c + 1] != second[c : c + 1]}
    return bool(own) and own <= spanned and _holds_words(second, below)


def _column_of_names(rows: Sequence[Row]) -> int | None:
    texts = [_filled(row) for row in rows]
    columns = sorted(set(chain.from_iterable(texts)))
    if len(columns) != 2 or len(texts[0]) != 2:
        return None
    first, second = columns
    states_facts = (
        not _VALUE.fullmatch(texts[0][first]) and bool(_VALUE.fullmatch(texts[0][second]))
    ) or all(each.get(first, ":").endswith(":") for each in texts)
    return first if states_facts else None


_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)  # for Excel, before the first row
_SAMPLE = 1 << 16  # characters
_SAMPLED_ROWS = 100
_LINES_CUT_OFF = 20  # of a value at the end of a file that is cut off
_DECIMAL_COMMAS = re.compile(r"(?:[^,]|(?<=\d),(?=\d))*")


def read_csv(data: bytes, text: TextBuilder) -> None:
    """Read a file of values that are delimited by commas, semicolons, tabs or bars."""
    source = _decoded(data)
    if declared := _DECLARED.match(source):
        _add(source[declared.end() :], declared[1], text)
    else:
        _add(source, _delimiter(source), text)


def read_tsv(data: bytes, text: TextBuilder) -> None:
    """Read a file of values that are delimited by tabs."""
    source = _decoded(data)
    _add(source, "\t" if "\t" in source[:_SAMPLE] else _delimiter(source), text)


def _decoded(data: bytes) -> str:
    # The limit of a value is one of the whole module.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
    return decode_text(data)


def _add(source: str, delimiter: str, text: TextBuilder) -> None:
    lines = io.StringIO(source, newline="")
    if _is_quoted(source, delimiter):
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    else:
        rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    add_grid(([GridCell(value) for value in row] for row in rows), text)


def _is_quoted(source: str, delimiter: str) -> bool:
    """Return whether quotation marks enclose values.

    Not if one that nothing closes, such as an inch sign, would hide the rows after it in a value.
    """
    rows = csv.reader(
        io.StringIO(source, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    line = 0
    try:
        for _ in rows:
            line = rows.line_num
    except csv.Error as error:
        return "end of data" not in str(error) or rows.line_num - line < _LINES_CUT_OFF
    return True


def _delimiter(source: str) -> str:
    sample = source[:_SAMPLE]
    if len(source) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample

    def regularity(delimiter: str) -> tuple[float, int]:
        rows = islice(
            csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), _SAMPLED_ROWS
        )
        widths = [len(row) for row in rows if any(row)]
        (width, count), *_ = Counter(widths).most_common(1) or [(1, 1)]
        return (count / len(widths), width) if width > 1 else (0.0, 1)

    scores = {delimiter: regularity(delimiter) for delimiter in _DELIMITERS}
    if scores[";"][0] and _DECIMAL_COMMAS.fullmatch(sample):
        del scores[","]
    return max(scores, key=lambda delimiter: scores[delimiter])
