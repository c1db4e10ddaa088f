"""The marked cells of a table as statements, with the heads of their row and their column.

A mark after a number covers that number; after another cell, the cells since the mark before; in
the head of the row, or in a cell of its own, the whole row. A cell that holds sentences is read as
a paragraph, with its heads as headings. Of infoboxes, the names of the
parameters are known, and which of them a footnote is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from admiral.citations.citation_records import Kind
from admiral.citations.extract.marked_blocks import Block, Mark, is_sentence, joined
from admiral.kb.corpus.files.html_parsing import MOST_COLUMNS

_MOST_FACTS = 12  # of a row in a statement
_MOST_ROWS = 1000  # that a cell reaches into
_MOST_HANGING = 50  # cells that reach into a row
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s]*[^\w]*(\w{1,4}\W*)?|[-–—−?]")


@dataclass(frozen=True, slots=True)
class _Cell:
    content: Block
    is_head: bool
    width: int
    height: int  # rows that it reaches into from here on
    column: int = 0
    is_own: bool = True  # false where it reaches into a row from the one above

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def marks(self) -> tuple[Mark, ...]:
        return self.content.marks if self.is_own else ()

    @property
    def plain(self) -> Block:
        return replace(self.content, marks=())


def span_of(value: str | None) -> int:
    """Return the number of rows or columns that ``rowspan`` or ``colspan`` states."""
    digits = (value or "").strip(" \"'")[:6]
    return max(int(digits), 1) if digits.isascii() and digits.isdecimal() else 1


def fact(name: str, content: Block) -> Block:
    """Return a text with its name before it."""
    name = name.rstrip(" :")
    if not name or not content.text:
        return content
    return joined([Block(f"{name}:"), content])


def statement(facts: Iterable[Block], marks: Sequence[Mark] | None = None, **fields: Any) -> Block:
    """Return facts as one statement.

    `marks`: those at its end; by default, each fact keeps its own. `fields`: of the block.
    """
    block = joined([each for each in facts if each.text], joint="; ")
    own = block.marks if marks is None else _at_end(block, marks)
    return replace(block, marks=own, is_whole=True, **{"kind": "sentence", **fields})


def _at_end(block: Block, marks: Sequence[Mark]) -> tuple[Mark, ...]:
    return tuple(replace(mark, offset=len(block.text)) for mark in marks)


class MarkedTable:
    """Collects the cells of a table row by row.

    `section`: headings above it. `kind`: ``table`` or ``infobox``, of whose heads each names the
    cell beside it.
    """

    def __init__(self, section: tuple[str, ...], kind: Kind = "table") -> None:
        self.caption = Block("")
        self._section, self._kind = section, kind
        self._row: list[_Cell] = []
        self._hanging: list[_Cell] = []  # what reaches into the next row
        self._rows: list[list[_Cell]] = []

    def cell(self, content: Block, *, is_head: bool, columns: int = 1, rows: int = 1) -> None:
        """Add a cell to the row, with the number of columns and rows that it spans."""
        if len(self._row) < MOST_COLUMNS:
            size = min(columns, MOST_COLUMNS), min(rows, _MOST_ROWS)
            self._row.append(_Cell(content, is_head, *size))

    def end_row(self) -> None:
        """End the row."""
        if not self._row:
            return
        above = sorted(self._hanging, key=lambda cell: cell.column)
        own, self._row, self._hanging = self._row[::-1], [], []
        cells: list[_Cell] = []
        column = 0
        while above or own:
            if above and (not own or above[0].column <= column):
                cell = replace(above.pop(0), is_own=False)
            else:
                cell = replace(own.pop(), column=column)
            column = max(column, cell.column + cell.width)
            cells.append(cell)
            if cell.height > 1 and len(self._hanging) < _MOST_HANGING:
                self._hanging.append(replace(cell, height=cell.height - 1))
        if self._kind == "infobox" and len(cells) == 2 and not cells[1].is_head:
            cells[0] = replace(cells[0], is_head=True)
        self._rows.append(cells)

    def blocks(self) -> Iterator[Block]:
        """Yield the statements that carry marks, in the order of reading."""
        self.end_row()
        if self.caption.marks:
            yield replace(self.caption, section=self._section, kind="caption")
        if not any(cell.marks for cells in self._rows for cell in cells):
            return
        above = (*self._section, *filter(None, [self.caption.text]))
        for block in self._statements():
            if block.text:
                yield replace(block, section=(*above, *block.section), kind=self._kind)
            else:  # of the sentence before the table
                yield Block("", block.marks, self._section)

    def _statements(self) -> Iterator[Block]:
        heads: list[list[_Cell]] = []
        has_data = False
        has_columns = any(len(cells) > 1 for cells in self._rows)
        for number, cells in enumerate(self._rows):
            if has_columns and len(cells) == 1 and cells[0].is_head:
                if cells[0].marks:
                    yield self._title(number)
            elif all(cell.is_head for cell in cells):
                if has_data:
                    heads, has_data = [], False
                heads.append(cells)
                yield from (statement([each.content]) for each in cells if each.marks and each.text)
            else:
                has_data = True
                yield from _row_statements(cells, _names(heads))

    def _title(self, number: int) -> Block:
        """Return a head over several columns with the rows below it, up to the next one."""
        (title,) = self._rows[number]
        facts = [title.plain]
        for cells in self._rows[number + 1 :]:
            if self._kind != "infobox" or len(cells) == 1 or len(facts) >= _MOST_FACTS:
                break
            facts += [replace(each, marks=()) for _, each in _facts(cells, [])]
        return statement(facts, title.marks)


def _row_statements(cells: Sequence[_Cell], names: Sequence[str]) -> Iterator[Block]:
    facts = _facts(cells, names)
    plain = [replace(each, marks=()) for _, each in facts]
    # The heads that the row begins with, or else its first cell that has a text.
    heads = list(takewhile(lambda cell: cell.is_head, cells))
    heads = heads or [cell for cell in cells if cell.text][:1]
    of_heads = [at for at, (cell, _) in enumerate(facts) if any(cell is each for each in heads)]
    since = 0
    for at, (cell, own) in enumerate(facts):
        if not own.marks:
            continue
        if not cell.text or (at in of_heads and len(facts) > 1):
            row = [each for (one, _), each in zip(facts, plain, strict=True) if one.text]
            yield statement(row[:_MOST_FACTS], own.marks)
        elif is_sentence(cell.text):
            above = [each.text for each in heads if each is not cell]
            yield replace(cell.content, section=(*above, *_over(cell, names)))
        else:
            start = at if _NUMBER.fullmatch(cell.text) else max(since, at - _MOST_FACTS)
            before = [plain[each] for each in of_heads if each < start]
            yield statement([*before[:_MOST_FACTS], *plain[start:at], own])
        since = at + 1


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
            facts.append((cell, replace(block, marks=(*block.marks, *_at_end(block, marks)))))
            name, marks = "", ()
    return facts


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
_LONGEST_KEY = 60  # names of parameters are words


def box_blocks(contents: Mapping[str, Block], section: tuple[str, ...] = ()) -> Iterator[Block]:
    """Yield the statements of a box that carry marks: the values with their names.

    A parameter that holds nothing but marks, as ``population_footnotes``, is about the others that
    begin as it does, or else about the one before it. `contents`: what each parameter shows.
    """
    facts = {key: fact(_label(key, contents), content) for key, content in contents.items()}
    before: Block | None = None
    for key, content in contents.items():
        if not content.marks:
            pass
        elif _CAPTION.fullmatch(key[:_LONGEST_KEY]):
            yield replace(content, section=section, kind="caption")
        elif content.text and is_sentence(content.text):
            yield replace(content, section=(*section, _label(key, contents)), kind="infobox")
        elif content.text:
            yield statement([facts[key]], section=section, kind="infobox")
        else:
            related = _related(key, facts) or ([before] if before else [])
            block = statement(related, content.marks, section=section, kind="infobox")
            # Without a text, of the sentence before the box.
            yield block if block.text else Block("", content.marks, section)
        if content.text:
            before = facts[key]


def _related(key: str, facts: Mapping[str, Block]) -> list[Block]:
    """Return the facts that a footnote is about."""
    match = _FOOTNOTE.fullmatch(key[:_LONGEST_KEY])
    if match is None or not match[1]:
        return []
    others = ((name, each) for name, each in facts.items() if name.startswith(match[1]))
    return [e for name, e in others if e.text and not name.endswith((*_NAMES[:3], "code"))][:4]


def _label(key: str, contents: Mapping[str, Block]) -> str:
    """Return the name of a parameter: what another one says, or its own in plain words."""
    if len(key) > _LONGEST_KEY:
        return ""
    if key.isdigit():  # pairs, as of years and numbers
        pair = contents.get(str(int(key) - 1)) if int(key) % 2 == 0 else None
        return pair.text if pair is not None else ""
    options = [f"{key}{mark}{name}" for mark in "_ " for name in _NAMES]
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
