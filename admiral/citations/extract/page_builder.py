"""The blocks of a page out of what a reader finds in it: texts, marks, headings, tables.

The readers of wikitext and of HTML say what stands where; here it becomes blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from admiral.citations.citation_records import Kind
from admiral.citations.extract.marked_blocks import PROSE, Block, Mark, Place, joined
from admiral.citations.extract.marked_tables import MarkedTable, span_of

T = TypeVar("T")


class BlockBuilder:
    """Collects text and marks piece by piece; white space is collapsed."""

    def __init__(self, section: tuple[str, ...] = (), kind: Kind = "sentence") -> None:
        self.section, self.kind = section, kind
        self._text = ""
        self._marks: list[Mark] = []
        self._gap = False  # something was left out after the last character

    @property
    def tail(self) -> str:
        """The last characters of the text so far."""
        return self._text[-40:]

    @property
    def is_empty(self) -> bool:
        """Whether there is no text so far."""
        return not self._text

    def add_text(self, text: str) -> None:
        """Append text."""
        if self._gap and text.strip():
            text = self._without_remains(text)
        words = " ".join(text.split())
        last = self._text[-1:] or " "
        # A mark is often the only thing between two sentences.
        marked = bool(self._marks) and self._marks[-1].offset == len(self._text)
        parted = text[:1].isspace() or (marked and last in ".!?\"'”’)" and words[:1].isalnum())
        if last != " " and parted:
            words = f" {words}"
        if text[-1:].isspace() and words[-1:] not in ("", " "):
            words += " "
        self._text += words

    def part_digits(self) -> None:
        """Append a space, unless the text so far ends with no digit."""
        if self.tail[-1:].isdigit():
            self._text += " "

    def leave_out(self) -> None:
        """Note that something is left out here, so that punctuation around it is removed."""
        self._gap = True

    def _without_remains(self, text: str) -> str:
        self._gap = False
        before = self._text.rstrip()
        if not before.endswith("("):
            return text
        rest = text.lstrip(" ,;:\n")
        is_marked = bool(self._marks) and self._marks[-1].offset >= len(before)
        if rest.startswith(")") and not is_marked:
            before = before[:-1].rstrip()
            rest = rest[1:]
        self._text = before
        return rest

    def add_mark(self, reference: str = "", tag: str = "", place: Place | None = None) -> None:
        """Append a mark."""
        self._marks.append(Mark(len(self._text), reference, tag, place))

    def build(self) -> Block | None:
        """Return the block, or None if it has neither text nor marks."""
        text = self._text.rstrip()
        if not text and not self._marks:
            return None
        marks = tuple(replace(mark, offset=min(mark.offset, len(text))) for mark in self._marks)
        return Block(text, marks, self.section, self.kind)


class PageBuilder:
    """Collects the blocks of a page in the order of reading."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.text = BlockBuilder()  # the block that is being read
        self.depth = 0  # number of tables, captions and notes around it
        self._headings: list[tuple[int, str]] = []

    @property
    def section(self) -> tuple[str, ...]:
        """The headings above what is being read, outermost first."""
        return tuple(text for _, text in self._headings)

    def end_block(self, kind: Kind = "sentence") -> None:
        """End the block, and begin one of some kind."""
        if block := self.text.build():
            self.blocks.append(block)
        self.text = BlockBuilder(self.section, kind)

    def begin_section(self, level: int, title: str) -> None:
        """Begin the section of a heading."""
        self._headings = [each for each in self._headings if each[0] < level]
        if title:
            self._headings.append((level, title))
        self.text = BlockBuilder(self.section)

    def begin_notes(self) -> None:
        """Begin what stands under no heading."""
        self._headings = []

    def apart(self, read: Callable[[T], object], content: T) -> Block:
        """Read content that stands apart from the text around it, and return it as one block."""
        text, blocks, headings = self.text, self.blocks, self._headings
        self.text, self.blocks = BlockBuilder(self.section), []
        self.depth += 1
        read(content)
        self.end_block()
        self.depth -= 1
        own = [each for each in self.blocks if each.kind in PROSE]
        blocks += [each for each in self.blocks if each.kind not in PROSE]
        self.text, self.blocks, self._headings = text, blocks, headings
        return joined(own, self.section)

    def add(self, block: Block, kind: Kind) -> None:
        """Add a block of some kind, if it has marks; without text, they follow a sentence."""
        if block.marks:
            self.blocks.append(replace(block, kind=kind) if block.text else block)

    def add_table(
        self,
        parts: Iterable[tuple[str, Mapping[str, str], T]],
        read: Callable[[T], object],
        *,
        is_box: bool,
    ) -> None:
        """Add the statements of a table.

        `parts`: its rows as they begin (``tr``), cells (``th``, ``td``) and caption, each with its
        attributes and its content.
        """
        self.end_block()
        table = MarkedTable(self.section, "infobox" if is_box else "table")
        for name, attributes, content in parts:
            if name == "tr":
                table.end_row()
                continue
            block = self.apart(read, content)
            if name == "caption":
                table.caption = block
            else:
                columns, rows = (span_of(attributes.get(f"{of}span")) for of in ("col", "row"))
                table.cell(block, is_head=name == "th", columns=columns, rows=rows)
        self.blocks += table.blocks()
