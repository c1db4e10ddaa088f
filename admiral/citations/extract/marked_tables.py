"""The marked cells of a table as statements, with the heads of their row and their column.

A mark after a number covers that number; after another cell, the cells since the mark before; in
the head of the row, or in a cell of its own, the whole row. A cell that holds sentences is read as
a paragraph, with its heads as headings. The lines of a table of wikitext are cut into its caption,
rows and cells. Of infoboxes, the names of the parameters are known, and which of them a footnote is
about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from admiral.citations.citation_records import Kind
from admiral.citations.extract.marked_blocks import Block, Mark, is_sentence
from admiral.kb.corpus.files.html_parsing import MOST_COLUMNS

_MOST_FACTS = 12  # of a row in a statement
_MOST_ROWS = 1000  # that a cell reaches into
_MOST_HANGING = 50  # cells that reach into a row
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s]*[^\w]*(\w{1,4}\W*)?|[-–—−?]")


@dataclass(frozen=True, slots=True)
class _Cell:
    content: Block
    is_head: bool
    column: int = 0
    width: int = 1
    is_own: bool = True  # false where it reaches into a row from the one above

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def marks(self) -> tuple[Mark, ...]:
        return self.content.marks if self.is_own else ()


def span_of(value: str | None) -> int:
    """Return the number of rows or columns that ``rowspan`` or ``colspan`` states."""
    digits = (value or "").strip(" \"'")[:6]
    return max(int(digits), 1) if digits.isascii() and digits.isdecimal() else 1


def fact(name: str, content: Block) -> Block:
    """Return a text with its name before it."""
    name = name.rstrip(" :")
    if not name or not content.text:
        return content
    before = f"{name}: "
    marks = tuple(replace(mark, offset=len(before) + mark.offset) for mark in content.marks)
    return replace(content, text=before + content.text, marks=marks)


def statement(facts: Sequence[Block], marks: Sequence[Mark] = (), **fields: object) -> Block:
    """Return facts as one statement.

    `marks`: those at its end; by default, each fact keeps its own. `fields`: of the block.
    """
    text, own = "", []
    for each in [each for each in facts if each.text]:
        if text:
            text += "; "
        own += [replace(mark, offset=len(text) + mark.offset) for mark in each.marks]
        text += each.text
    ends = [replace(mark, offset=len(text)) for mark in marks]
    return Block(text, tuple(ends or own), is_whole=True, **fields)  # type: ignore[arg-type]


class MarkedTable:
    """Collects the cells of a table row by row.

    `section`: headings above it. `kind`: ``table`` or ``infobox``, of whose heads each names the
    cell beside it.
    """

    def __init__(self, section: tuple[str, ...], kind: Kind = "table") -> None:
        self._section, self._kind = section, kind
        self._row: list[tuple[Block, bool, int, int]] = []
        self._hanging: list[tuple[_Cell, int]] = []
        self._rows: list[list[_Cell]] = []
        self._caption = Block("")

    def caption(self, content: Block) -> None:
        """Set the caption."""
        self._caption = content

    def cell(self, content: Block, *, is_head: bool, columns: int = 1, rows: int = 1) -> None:
        """Add a cell to the row, with the number of columns and rows that it spans."""
        if len(self._row) < MOST_COLUMNS:
            self._row.append((content, is_head, min(columns, MOST_COLUMNS), min(rows, _MOST_ROWS)))

    def end_row(self) -> None:
        """End the row."""
        if not self._row:
            return
        taken = sorted(self._hanging, key=lambda pair: pair[0].column)
        self._hanging, cells, column = [], [], 0
        own = iter(self._row)
        self._row = []
        while True:
            if taken and taken[0][0].column <= column:
                cell, height = taken.pop(0)
                cell = replace(cell, is_own=False)
            elif (given := next(own, None)) is not None:
                content, is_head, width, height = given
                cell = _Cell(content, is_head, column, width)
            elif taken:
                cell, height = taken.pop(0)
                cell = replace(cell, is_own=False)
            else:
                break
            column = max(column, cell.column + cell.width)
            cells.append(cell)
            if height > 1 and len(self._hanging) < _MOST_HANGING:
                self._hanging.append((cell, height - 1))
        if self._kind == "infobox" and len(cells) == 2 and not cells[1].is_head:
            cells[0] = replace(cells[0], is_head=True)
        self._rows.append(cells)

    def blocks(self) -> Iterator[Block]:
        """Yield the statements that carry marks, in the order of reading."""
        self.end_row()
        if self._caption.marks:
            yield replace(self._caption, section=self._section, kind="caption")
        if not any(cell.marks for cells in self._rows for cell in cells):
            return
        section = (*self._section, *filter(None, [self._caption.text]))
        heads: list[list[_Cell]] = []
        has_data = False
        has_columns = any(len(cells) > 1 for cells in self._rows)
        for number, cells in enumerate(self._rows):
            if has_columns and len(cells) == 1 and cells[0].is_head:
                if cells[0].marks:
                    yield self._title(number, section)
            elif all(cell.is_head for cell in cells):
                if has_data:
                    heads, has_data = [], False
                heads.append(cells)
                for cell in cells:
                    if cell.marks and cell.text:
                        yield statement([cell.content], section=section, kind=self._kind)
            else:
                has_data = True
                yield from self._row_blocks(cells, _names(heads), section)

    def _title(self, number: int, section: tuple[str, ...]) -> Block:
        """Return a head over several columns with the rows below it, up to the next one."""
        (title,) = self._rows[number]
        facts = [replace(title.content, marks=())]
        for cells in self._rows[number + 1 :]:
            if self._kind != "infobox" or len(cells) == 1 or len(facts) >= _MOST_FACTS:
                break
            facts += [replace(each, marks=()) for _, each in _facts(cells, [])]
        return statement(facts, title.marks, section=section, kind=self._kind)

    def _row_blocks(
        self, cells: Sequence[_Cell], names: Sequence[str], section: tuple[str, ...]
    ) -> Iterator[Block]:
        facts = _facts(cells, names)
        plain = [replace(each, marks=()) for _, each in facts]
        heads = _row_heads(cells)
        of_heads = [at for at, (cell, _) in enumerate(facts) if any(cell is each for each in heads)]
        row = [each for (cell, _), each in zip(facts, plain, strict=True) if cell.text]
        since = 0
        for at, (cell, own) in enumerate(facts):
            if not own.marks:
                continue
            if not cell.text or (at in of_heads and len(facts) > 1):
                block = statement(row[:_MOST_FACTS], own.marks)
            elif is_sentence(cell.text):
                above = [each.text for each in heads if each is not cell]
                block = replace(cell.content, section=(*above, *_over(cell, names)))
            else:
                start = at if _NUMBER.fullmatch(cell.text) else max(since, at - _MOST_FACTS)
                before = [plain[each] for each in of_heads if each < start]
                block = statement([*before[:_MOST_FACTS], *plain[start:at], own])
            since = at + 1
            if block.text:
                yield replace(block, section=(*section, *block.section), kind=self._kind)
            else:  # of the sentence before the table
                yield Block("", own.marks, self._section)


def _facts(cells: Sequence[_Cell], names: Sequence[str]) -> list[tuple[_Cell, Block]]:
    """Return the cells of a row with their names: the heads of their columns.

    Without these, a head names the cell after it, which gets its marks, too.
    """
    facts: list[tuple[_Cell, Block]] = []
    name, marks = "", tuple[Mark, ...]()
    for cell in cells:
        own = replace(cell.content, marks=cell.marks)
        if names:
            facts.append((cell, fact(", ".join(_over(cell, names)), own)))
        elif cell.is_head and cell is not cells[-1]:
            name = ", ".join(filter(None, [name, cell.text]))
            marks = (*marks, *cell.marks)
        else:
            block = fact(name, own)
            ends = [replace(mark, offset=len(block.text)) for mark in marks]
            facts.append((cell, replace(block, marks=(*block.marks, *ends))))
            name, marks = "", ()
    return facts


def _row_heads(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return the heads that a row begins with, or else its first cell that has a text."""
    heads = list(takewhile(lambda cell: cell.is_head, cells))
    return heads or [cell for cell in cells if cell.text][:1]


def _over(cell: _Cell, names: Sequence[str]) -> list[str]:
    """Return the names of the columns of a cell."""
    return [*dict.fromkeys(filter(None, names[cell.column : cell.column + cell.width]))]


def _names(heads: Sequence[Sequence[_Cell]]) -> list[str]:
    """Return the name of each column: the heads above it from the top, each once."""
    width = max((cell.column + cell.width for cells in heads for cell in cells), default=0)
    names: list[list[str]] = [[] for _ in range(min(width, MOST_COLUMNS))]
    for cells in heads:
        for cell in cells:
            for name in names[cell.column : cell.column + cell.width]:
                if cell.text and cell.text not in name:
                    name.append(cell.text)
    return [" ".join(name) for name in names]


_CAPTION = re.compile(r".*(caption|legend|légende|bildtext|beschriftung|bildbeschreibung).*")
# established_date2 is named by established_title2, data3 by label3.
_VALUE = re.compile(r"(.*?)[ _-]?(date|name|info|data|value|score|blank|text)([ _]?\d*)")
_NAMES = ("title", "label", "header", "type", "name", "term")
_FOOTNOTE = re.compile(
    r"(.*?)[ _-]*(foot ?notes?|refs?|references?|sources?|notes?|citation|quellen?|beleg|nachweis"
    r"|références?|réf|fuente|fonte|fn)[ _]?(\d*)"
)
_MOST_RELATED = 4
_LONGEST_KEY = 60  # names of parameters are words


def box_blocks(contents: Mapping[str, Block], section: tuple[str, ...] = ()) -> Iterator[Block]:
    """Yield the statements of a box that carry marks: the values with their names.

    A parameter that holds nothing but marks, as ``population_footnotes``, is about the others that
    begin as it does, or else about the one before it. `contents`: what each parameter shows.
    """
    facts = {key: _named(key, contents) for key in contents}
    before: Block | None = None
    for key, content in contents.items():
        if not content.marks:
            pass
        elif _CAPTION.fullmatch(key[:_LONGEST_KEY]):
            yield Block(content.text, content.marks, section, "caption")
        elif content.text and is_sentence(content.text):
            above = (*section, _label(key, contents))
            yield Block(content.text, content.marks, above, "infobox")
        elif content.text:
            yield statement([facts[key]], section=section, kind="infobox")
        else:
            yield _footnoted(key, content.marks, facts, before, section)
        if content.text:
            before = facts[key]


def _footnoted(
    key: str,
    marks: tuple[Mark, ...],
    facts: Mapping[str, Block],
    before: Block | None,
    section: tuple[str, ...],
) -> Block:
    related: list[Block] = []
    if match := _FOOTNOTE.fullmatch(key[:_LONGEST_KEY]):
        stem = match[1]
        related = [
            one
            for name, one in facts.items()
            if stem
            and one.text
            and name.startswith(stem)
            and not name.endswith((*_NAMES[:3], "code"))
        ]
    if not related and before is not None:
        related = [before]
    plain = [Block(one.text) for one in related[:_MOST_RELATED]]
    if not plain:
        return Block("", marks, section)  # of the sentence before the box
    return statement(plain, marks, section=section, kind="infobox")


def _named(key: str, contents: Mapping[str, Block]) -> Block:
    return fact(_label(key, contents), contents[key])


def _label(key: str, contents: Mapping[str, Block]) -> str:
    """Return the name of a parameter: what another one says, or its own in plain words."""
    if len(key) > _LONGEST_KEY:
        return ""
    if key.isdigit():  # pairs, as of years and numbers
        pair = contents.get(str(int(key) - 1)) if int(key) % 2 == 0 else None
        return pair.text if pair is not None else ""
    options = [f"{key}_{name}" for name in _NAMES] + [f"{key} {name}" for name in _NAMES]
    if match := _VALUE.fullmatch(key):
        stem, value, number = match.groups()
        names = [name for name in _NAMES if name != value]
        options += [f"{stem}{mark}{name}{number}" for name in names for mark in ("_", " ", "")]
        options.append(f"{stem}{number}")  # rev1score of rev1
    for option in options:
        if (found := contents.get(option)) is not None and found.text and not found.marks:
            return found.text
    words = re.sub(r"[_\s]+|(?<=[^\W\d])(?=\d+$)", " ", key).strip()
    return words[:1].upper() + words[1:]
