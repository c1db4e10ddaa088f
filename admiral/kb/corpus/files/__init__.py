"""The text of a file without markup: headings, paragraphs, list items and rows of tables.

The rules are the same for every format:

- A heading is no sentence. It names the section of the sentences after it.
- Code, formulas, images and text without a letter or digit are left out.
- Items of a list of short items are joined with the line before the list into one sentence.
- A row of a table becomes a sentence: ``Name: curl; Licence: MIT.``
- White space becomes single spaces.
- Superscripts and subscripts are written on the line, so that digits never join: readers put marks
  around them, and `on_one_line` replaces the marks where the text around is known: ``10^6``,
  ``m^2``, ``1st``, ``H2O``. Marks of notes are left out.

Each family of formats has a module whose function takes the bytes of a file and fills a
`TextBuilder`. To add one, write such a function and list it in `file_types`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from typing import Literal, NamedTuple

from admiral.io.sentence_splitter import LONGEST_SENTENCE, sentence_spans
from proofs.logic.words import word_list

#: Where a piece of text stands.
Position = Literal["", "raised", "lowered"]

# Noncharacters of Unicode, which no text has for itself.
RAISED, RAISED_END, LOWERED, LOWERED_END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
#: What marks the text of the elements of HTML.
SCRIPT_MARKS = {"sup": (RAISED, RAISED_END), "sub": (LOWERED, LOWERED_END)}
_ANY = re.compile("[\ufdd0-\ufdd3]")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\ufdd0-\ufdd3]+(?=\d)")
_SCRIPT = re.compile("([\ufdd0\ufdd2])([^\ufdd0-\ufdd3]*)[\ufdd1\ufdd3]")
_FRACTION = re.compile(
    r"(?:(?<=(\d))\s*)?\ufdd0\s*(\d+)\s*\ufdd1\s*[/\u2044\u2215]\s*\ufdd2\s*(\d+)\s*\ufdd3"
)
_MARKS_OF_NOTES = re.compile(r"\[[^\[\]]*\]|\(\d{1,3}\)|[*†‡§¶#‖]+")
_LINKED_MARK = re.compile(
    r"[\[(]?\s*(?:(?:notes?|nb|fn|lower-alpha|n|cit\.?)\s*\.?\s*)?"
    r"(?:\d{1,4}|[a-z]{1,2}|[ivxlc]{1,6}|[*†‡§¶#‖]{1,3})(?:\s*[,;–-]\s*\d{1,4})*\s*[\])]?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*|[a-z]")
_SIGN = {"tm": "™", "sm": "℠", "(r)": "®"}
_UNIT = re.compile(
    r"(?:met(?:er|re)|kilomet(?:er|re)|centimet(?:er|re)|millimet(?:er|re)|mile|inche?|yard|second|"
    r"hectomet(?:er|re))s?|feet|foot",
    re.IGNORECASE,
)
# Short words that are no symbols or units.
_WORDS = word_list("a an as at be by do go he i if in is it me my no of on or so to up us we")
_QUANTITY_BEFORE = re.compile(r"\d\s?[^\W\d_]+\Z")
_WORD_BEFORE = re.compile(r"[^\W\d_]+\Z")
# A year in a sentence is not raised to a power.
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|by|from|during|year|after|before|around|about|circa|and|or|to|of|"
    r"January|February|March|April|May|June|July|August|September|October|November|December),?\s+"
    r"|[–/-])(?:1[1-9]|20)\d\d\Z"
)
_BEFORE = 30  # characters
_DEEPEST = 10  # scripts of scripts


def on_one_line(text: str) -> str:
    """Return a text with `RAISED` and `LOWERED` parts written on the line."""
    if not _ANY.search(text):
        return text
    text = _FRACTION.sub(lambda m: f"{' ' if m[1] else ''}{m[2]}/{m[3]}", text)
    for _ in range(_DEEPEST):  # the innermost first
        if not _SCRIPT.search(text):
            break
        text = _without_innermost(text)
    # A mark without its end, as in a paragraph that ends within it.
    return _ANY.sub("", _BETWEEN_DIGITS.sub("^", text))


def joined_text(pieces: Iterable[tuple[str, Position]]) -> str:
    """Return pieces of text on one line; pieces of one position that adjoin are one."""
    marked = (
        _marked("".join(text for text, _ in group), position)
        for position, group in groupby(pieces, lambda piece: piece[1])
    )
    return on_one_line("".join(marked))


def written(before: str, piece: str, position: Position) -> str:
    """Return a piece of text as it is written after another one."""
    if not position:
        return piece
    near = before[-_BEFORE:]
    # What follows is not known; a letter makes a number at the beginning of a word a part of it.
    return on_one_line(f"{near}{_marked(piece, position)}x")[len(near) : -1]


def _marked(text: str, position: Position) -> str:
    if not position:
        return text
    begin, end = (RAISED, RAISED_END) if position == "raised" else (LOWERED, LOWERED_END)
    return f"{begin}{text}{end}"


def is_note_mark(text: str) -> bool:
    """Return whether a text is the mark of a note, such as ``[2]``, ``12``, ``b`` or ``*``."""
    return bool(_LINKED_MARK.fullmatch(text.strip()))


def _without_innermost(text: str) -> str:
    parts: list[str] = []
    before = ""
    position = 0
    for match in _SCRIPT.finditer(text):
        plain = text[position : match.start()]
        before = (before + _ANY.sub("", plain))[-_BEFORE:]
        after = text[match.end() : match.end() + 1]
        write = _raised if match[1] == RAISED else _lowered
        script = write(" ".join(match[2].split()), before, after)
        if script[-1:].isdigit() and after.isdigit():
            script += " "
        before = (before + script)[-_BEFORE:]
        parts += (plain, script)
        position = match.end()
    return "".join((*parts, text[position:]))


def _raised(text: str, before: str, after: str) -> str:
    last = before[-1:]
    if text.lower() in _SIGN:
        return _SIGN[text.lower()]
    if _MARKS_OF_NOTES.fullmatch(text):
        return ""
    if _NUMBERS.fullmatch(text):
        if not last or last.isspace():
            # An isotope, or the number before a note.
            return text if after.isalpha() and text.isdecimal() else ""
        word = _WORD_BEFORE.search(before)
        is_word = word is not None and (
            (len(word[0]) > 3 and not _UNIT.fullmatch(word[0]))
            or (word[0] in _WORDS and not _QUANTITY_BEFORE.search(before))
        )
        is_year = text[0].isdigit() and _YEAR_BEFORE.search(before)
        if is_word or is_year or last in ".,;:!?…”’\"'»":
            return ""
        if text == "o" and last.isdigit():
            return "°"
        return f"^{text}"
    if not last or last.isspace() or not any(map(str.isalnum, text)):
        return text  # signs: Na+
    if len(text) > 1 and text.isalpha():
        return text  # 1st, Mme
    if " " in text:
        return f" {text}" if text.replace(" ", "").isalpha() else f"^({text})"
    return f"^{text}" if re.fullmatch(r"[+−–-]?[\w.,]+[+−–-]?", text) else f"^({text})"


def _lowered(text: str, before: str, after: str) -> str:
    last = before[-1:]
    if not last or last.isspace() or not text:
        return text
    if text[0].isdigit() and not last.isdigit():
        return text  # as chemists write
    return f" {text}" if " " in text else f"_{text}"


# A longer text is not read, so that no single file fills the memory.
LONGEST_TEXT = 32 * 2**20  # characters
TOO_LONG = "too long"
_SHORT_ITEM = 8  # words
_SOFT_HYPHEN = "\u00ad"
_LONGEST_RECORD = 500  # characters; in a longer one, each sentence of a value is one
_LONGEST_HEADING = 200  # characters; longer ones are paragraphs in the markup of a heading


class UnreadableFileError(Exception):
    """A file that cannot be read; the message says why in a few words, for counting."""


class DamagedFileError(Exception):
    """A file that is not what its name says, or is damaged; the message says why."""


class Block(NamedTuple):
    """A paragraph, an item of a list, or a row of a table."""

    text: str  # on one line
    section: tuple[str, ...]  # the headings above it, outermost first
    list_number: int = 0  # number of the list that it is an item of; 0 for other blocks
    is_sentence: bool = False  # whether it is not divided, although full stops may stand in it


class LocatedSentence(NamedTuple):
    """A sentence, the headings above it, and the position of its first character."""

    text: str
    section: tuple[str, ...]
    offset: int


class TextBuilder:
    """Collect the text of one file.

    Attributes
    ----------
    titles
        Possible titles of the file, best first; the first heading is one.
    notes
        What its reader had to assume, or what the file lacks, such as a chapter that its list of
        chapters names.
    left_out
        How many elements with text were left out, by reason.
    parts
        The documents within the file, such as the sheets of a workbook, by their names.
    """

    def __init__(self, whole: TextBuilder | None = None) -> None:
        self.titles: list[str] = []
        self.notes: list[str] = whole.notes if whole is not None else []
        self.left_out: Counter[str] = whole.left_out if whole is not None else Counter()
        self.parts: dict[str, TextBuilder] = {}
        self._whole = whole
        self._headings: list[tuple[int, str]] = []
        self._blocks: list[Block] = []
        self._size = self._lists = 0

    def propose_title(self, title: object) -> None:
        """Add a possible title, unless it is empty or no text."""
        if isinstance(title, str) and (text := one_line(title)):
            self.titles.append(text)

    def part(self, name: str) -> TextBuilder:
        """Begin a document within the file, and return its text."""
        part = TextBuilder(self)
        self.add_part(name, part)
        return part

    def add_part(self, name: str, part: TextBuilder) -> None:
        """Add a document within the file; a name that another one has is numbered."""
        name = one_line(name)
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        self.parts[next(one for one in numbered if one not in self.parts)] = part

    def heading(self, level: int, text: str, *, is_title: bool = True) -> None:
        """Begin a section.

        - `level`: counts from 1 for the outermost.
        - `is_title`: whether it may be the title of the file if it is the first, unlike a number of
          a page.
        """
        text = one_line(text)
        if not has_content(text):
            return
        if len(text) > _LONGEST_HEADING:
            self.paragraph(text)
            return
        if is_title and not self._headings and not self._blocks:
            self.titles.append(text)
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, text))

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self._add(text)

    @property
    def lacks_text(self) -> bool:
        """Whether nothing has been added since the latest heading."""
        return not self._blocks or self._blocks[-1].section != self._section

    def begin_list(self) -> None:
        """Begin a list; items from here on are not joined with earlier ones."""
        self._lists += 1

    def item(self, text: str) -> None:
        """Add an item of the latest list."""
        self._add(text, self._lists)

    def definition(self, term: str, text: str) -> None:
        """Add a term and its description as one paragraph."""
        parts = (one_line(term).rstrip(" :"), one_line(text))
        self._add(": ".join(filter(None, parts)))

    def row(self, cells: Sequence[str], header: Sequence[str] = ()) -> None:
        """Add a row of a table as a sentence, with the heads of the columns if there are any."""
        values = [one_line(cell) for cell in cells]
        if len(header) == len(values):
            names = [one_line(name).rstrip(":") for name in header]
            values = [
                f"{name}: {value}" if name and value else value
                for name, value in zip(names, values, strict=True)
            ]
        self._add(closed("; ".join(filter(has_content, values))))

    def paragraphs(self) -> Iterator[Block]:
        """Yield the paragraphs in order; the items of a list of short ones are one."""
        return _with_joined_items(self._blocks)

    def record(self, text: str) -> None:
        """Add a row of data, whose values belong together: one sentence unless it is long."""
        self._add(closed(one_line(text)), is_sentence=len(text) <= _LONGEST_RECORD)

    def sentences(self) -> Iterator[LocatedSentence]:
        """Yield the sentences in order.

        Offsets count the characters of the extracted text, in which paragraphs are separated by a
        blank line.
        """
        offset = 0
        for block in self.paragraphs():
            whole = [(0, len(block.text))]
            for start, end in whole if block.is_sentence else sentence_spans(block.text):
                yield LocatedSentence(block.text[start:end], block.section, offset + start)
            offset += len(block.text) + 2

    def _add(self, text: str, list_number: int = 0, *, is_sentence: bool = False) -> None:
        text = one_line(text)
        if not has_content(text):
            return
        self._count(len(text))
        self._blocks.append(Block(text, self._section, list_number, is_sentence))

    @property
    def _section(self) -> tuple[str, ...]:
        return tuple(heading for _, heading in self._headings)

    def _count(self, characters: int) -> None:
        self._size += characters
        if self._size > LONGEST_TEXT:
            raise UnreadableFileError(TOO_LONG)
        if self._whole is not None:
            self._whole._count(characters)


def one_line(text: str) -> str:
    """Return a text with single spaces for white space, and without soft hyphens."""
    return " ".join(text.replace(_SOFT_HYPHEN, "").split())


def has_content(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


def closed(text: str) -> str:
    """Return a text with a full stop, unless it ends a sentence already."""
    return text if not text or text.endswith((".", "!", "?", "…")) else text + "."


def _with_joined_items(blocks: Sequence[Block]) -> Iterator[Block]:
    position = 0
    while position < len(blocks):
        first = position
        leads = not blocks[first].list_number and blocks[first].text.endswith(":")
        position += leads
        end = position
        while end < len(blocks) and _same_list(blocks[position], blocks[end]):
            end += 1
        items = [block.text.rstrip(" ;,.") for block in blocks[position:end]]
        lead = blocks[first].text + " " if leads else ""
        text = lead + closed("; ".join(items))
        short = all(item.count(" ") < _SHORT_ITEM for item in items)
        if items and short and len(items) + leads > 1 and len(text) <= LONGEST_SENTENCE:
            yield Block(text, blocks[first].section)
        else:
            end = max(end, first + 1)
            yield from blocks[first:end]
        position = end


def _same_list(first: Block, block: Block) -> bool:
    return bool(block.list_number) and first[1:] == block[1:]
