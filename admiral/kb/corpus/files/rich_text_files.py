"""Read Rich Text Format (RTF) as it is shown: headings, paragraphs, lists, tables and notes.

Hidden and deleted text, instructions of fields, tables of contents, comments, headers and footers
are left out. The text of a note, or of a text box, follows the paragraph that it belongs to.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from admiral.kb.corpus.files import Position, TextBuilder, joined_text, one_line
from admiral.kb.corpus.files.delimited_files import GridCell, add_grid
from proofs.logic.words import word_list

_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\'(?P<byte>[0-9A-Fa-f]{2})"
    r"|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)",
    re.DOTALL,
)
_SIGNS = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}
_CHARACTERS = {
    **{"tab": "\t", "line": "\n", "lbr": "\n", "softline": "\n", "emspace": " ", "enspace": " "},
    **{"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•"},
    **{"emdash": "—", "endash": "–"},
}
_CODE_PAGES = {
    **{0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5"},
    **{161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257"},
    **{204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850"},
}
_CHARACTER_SETS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
# Groups whose text is not displayed, in addition to those marked as ignorable (\*).
_LEFT_OUT = word_list(
    "colortbl pict object header headerl headerr headerf footer footerl footerr footerf xe tc tcn "
    "rxe fldinst annotation nonshppict shprslt nonesttables bkmkstart bkmkend template upr"
)
# Groups whose text is shown although that of the one around is not.
_SHOWN = {"ud": "upr", "shptxt": "shpinst", "result": "object"}
_TABLES = ("fonttbl", "stylesheet", "info")
_KEPT = ("", "title", "stylesheet", "fldinst")
_POSITIONS: dict[str, Position] = {
    **dict.fromkeys(("super", "up"), "raised"),
    **dict.fromkeys(("sub", "dn"), "lowered"),
    "nosupersub": "",
}
_HEADING = re.compile(r"heading (\d)")
_NUMBERED = {0: "cp1252", 10000: "mac_roman", 65001: "utf-8"}
_MOST_GROUPS = 1000  # that are open


def read_rtf(data: bytes, text: TextBuilder) -> None:
    """Read an RTF file."""
    source = data.decode("latin-1").lstrip("\ufeff\xef\xbb\xbf \r\n\t")
    if not source.startswith("{\\rtf"):
        raise ValueError("no RTF")
    reader = _Reader()
    blocks = reader.read(source)
    text.propose_title(reader.title)
    in_list = False
    for block in blocks:
        if isinstance(block, list):
            add_grid(block, text, level=9)
        elif block.level:
            text.heading(block.level, block.text)
        elif block.is_item:
            if not in_list:
                text.begin_list()
            text.item(block.text)
        else:
            text.paragraph(block.text)
        in_list = not isinstance(block, list) and block.is_item


class _Block(NamedTuple):
    """A paragraph: a heading if it has a level, or an item of a list."""

    text: str
    level: int = 0
    is_item: bool = False


@dataclass(slots=True)
class _Flow:
    """The text of the body, of a note or of a text box."""

    # Of the open paragraph, with their positions.
    pieces: list[tuple[str, Position]] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)  # of the open row
    # Paragraphs, and tables as their rows.
    blocks: list[_Block | list[list[GridCell]]] = field(default_factory=list)
    # What follows the open paragraph: notes and text boxes.
    later: list[_Flow] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """Formatting state that a group inherits from its parent."""

    flow: _Flow
    destination: str = ""  # "" for text that is shown
    is_hidden: bool = False
    is_deleted: bool = False
    position: Position = ""
    fallback: int = 1  # characters after one of Unicode, for old programs
    encoding: str = ""
    level: int = 0
    is_item: bool = False
    in_table: bool = False


class _Reader:
    """Reads the tokens of a file into blocks."""

    def __init__(self) -> None:
        self.title = ""
        self._body = _Flow()
        self._state = _State(self._body)
        self._states: list[_State] = []
        self._encoding = "cp1252"
        self._bytes = bytearray()  # characters of several bytes are written one by one
        self._skipped = 0
        self._is_first = self._is_starred = False  # in a group
        self._encodings: dict[int, str] = {}  # of fonts
        self._levels: dict[int, int] = {}  # of headings, by style
        self._font = self._style = 0
        self._style_name = self._instruction = ""
        self._columns: list[str] = []  # the word that says how each cell of the row is merged
        self._column = ""

    def read(self, source: str) -> list[_Block | list[list[GridCell]]]:
        position, end = 0, len(source)
        while position < end:
            match = _TOKEN.match(source, position)
            if match is None:  # a backslash at the end
                break
            position = match.end()
            kind = match.lastgroup
            if kind == "byte":
                self._characters(bytes.fromhex(match["byte"]))
                continue
            if kind == "text":
                self._characters(match["text"].encode("latin-1"))
                continue
            self._flush()
            if kind == "brace":
                (self._open if match["brace"] == "{" else self._close)()
            elif kind == "sign":
                self._sign(match["sign"])
            elif kind in ("word", "number"):
                number = match["number"]
                if match["word"] == "bin":
                    position += max(int(number or 0), 0)
                else:
                    self._word(match["word"], None if number is None else int(number))
        self._flush()
        while self._states:  # of a file that is cut off
            self._close()
        self._end_flow(self._state)
        return self._body.blocks

    def _open(self) -> None:
        if len(self._states) > _MOST_GROUPS:
            raise ValueError("too many groups are open")
        self._states.append(self._state)
        self._state = replace(self._state)
        self._is_first, self._is_starred = True, False
        self._skipped = 0

    def _close(self) -> None:
        if not self._states:
            return
        ended, self._state = self._state, self._states.pop()
        if ended.destination == self._state.destination == "stylesheet":
            self._end_style(ended.level)
        if ended.flow is not self._state.flow:
            self._end_flow(ended)
        self._skipped = 0
        self._is_first = False

    def _sign(self, sign: str) -> None:
        if sign == "*" and self._is_first:
            self._is_starred = True
            return
        if sign in "\r\n":
            self._end_paragraph(self._state)
        elif sign in _SIGNS:
            self._add(_SIGNS[sign])
        self._is_first = False

    def _word(self, word: str, number: int | None) -> None:
        is_first, is_starred = self._is_first, self._is_starred
        self._is_first = self._is_starred = False
        if is_first and self._begins_destination(word, is_starred):
            return
        state = self._state
        if word == "u":
            self._add(chr((number or 0) % 0x10000))
            self._skipped = state.fallback
        elif word == "uc":
            state.fallback = max(number or 0, 0)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word == "v":
            state.is_hidden = number != 0
        elif word == "deleted":
            state.is_deleted = number != 0
        elif word in _POSITIONS:
            state.position = "" if number == 0 else _POSITIONS[word]
        elif word == "plain":
            state.is_hidden, state.position, state.encoding = False, "", ""
        elif word == "f":
            self._font = number or 0
            state.encoding = self._encodings.get(self._font, "")
        elif word == "fcharset" and state.destination == "fonttbl":
            self._encodings[self._font] = _CODE_PAGES.get(number or 0, "")
        elif word == "ansicpg":
            self._encoding = _code_page(number or 0)
        elif word in _CHARACTER_SETS:
            self._encoding = _CHARACTER_SETS[word]
        elif not self._style_word(word, number or 0) and not state.destination:
            self._layout_word(word, state.flow)

    def _begins_destination(self, word: str, is_starred: bool) -> bool:
        state = self._state
        if word == "fldrslt":
            if not state.destination and self._instruction.startswith("TOC"):
                state.destination = "contents"
        elif word in _SHOWN:
            if state.destination == _SHOWN[word]:
                state.destination = ""
            if word == "shptxt" and not state.destination:
                self._begin_flow()
        elif word == "footnote":
            if not state.destination:
                self._begin_flow()
        elif word in _TABLES or (word == "title" and state.destination == "info"):
            state.destination = word
        elif word in ("listtext", "pntext"):
            state.destination = state.destination or word
            self._states[-1].is_item = True
        elif word == "fldinst" and not state.destination:
            state.destination, self._instruction = word, ""
        elif word in _LEFT_OUT or (is_starred and state.destination != "stylesheet"):
            state.destination = state.destination or word
        else:
            return False
        return True

    def _style_word(self, word: str, number: int) -> bool:
        state = self._state
        if word == "s" and state.destination == "stylesheet":
            self._style = number
        elif word == "s":
            state.level = self._levels.get(number, 0)
        elif word == "sbasedon":
            state.level = state.level or self._levels.get(number, 0)
        elif word == "outlinelevel":
            state.level = number + 1 if number < 9 else 0
        elif word == "ls":
            state.is_item = bool(number)
        elif word == "pard":
            state.level, state.is_item, state.in_table = 0, False, False
        else:
            return False
        return True

    def _layout_word(self, word: str, flow: _Flow) -> None:
        if word in ("par", "sect"):
            self._end_paragraph(self._state)
        elif word == "intbl":
            self._state.in_table = True
        elif word in ("nestcell", "nestrow"):
            flow.pieces.append(("; ", ""))
        elif word == "cell":
            flow.cells.append(_joined(flow.pieces))
            flow.pieces = []
        elif word == "row":
            self._end_row(flow)
        elif word == "trowd":
            self._columns, self._column = [], ""
        elif word in ("clmrg", "clvmrg"):
            self._column = word
        elif word == "cellx":
            self._columns.append(self._column)
            self._column = ""

    def _characters(self, written: bytes) -> None:
        self._is_first = False
        cut = min(self._skipped, len(written))
        self._skipped -= cut
        if self._state.destination in _KEPT:
            self._bytes += written[cut:]

    def _flush(self) -> None:
        if self._bytes:
            encoding = self._state.encoding or self._encoding
            written = self._bytes.decode(encoding, "replace")
            self._bytes.clear()
            self._add(written)

    def _add(self, written: str) -> None:
        state = self._state
        if state.destination == "title":
            self.title += written
        elif state.destination == "stylesheet":
            self._style_name += written
        elif state.destination == "fldinst":
            self._instruction = (self._instruction + written).lstrip()[:100]
        elif not state.destination and not state.is_hidden and not state.is_deleted:
            state.flow.pieces.append((written, state.position))

    def _end_style(self, level: int) -> None:
        name, self._style_name = one_line(self._style_name).rstrip(";").lower(), ""
        if match := _HEADING.match(name):
            level = int(match[1])
        elif name == "title":
            level = 1
        if level:
            self._levels[self._style] = level
        self._style = 0

    def _begin_flow(self) -> None:
        flow = _Flow()
        self._state.flow.later.append(flow)
        self._state = replace(
            self._state, flow=flow, level=0, is_item=False, in_table=False, position=""
        )

    def _end_paragraph(self, state: _State) -> None:
        flow = state.flow
        if state.in_table and flow.pieces:  # one of several in a cell
            flow.pieces.append(("; ", ""))
            return
        if written := _joined(flow.pieces):
            flow.blocks.append(_Block(written, state.level, state.is_item))
        flow.pieces = []
        if not state.in_table:
            for later in flow.later:
                flow.blocks += later.blocks
            flow.later = []

    def _end_flow(self, state: _State) -> None:
        self._end_row(state.flow)
        state.in_table = False
        self._end_paragraph(state)

    def _end_row(self, flow: _Flow) -> None:
        if not flow.cells:
            return
        table = flow.blocks[-1] if flow.blocks else None
        if not isinstance(table, list):
            table = []
            flow.blocks.append(table)
        above = table[-1] if table else []
        row: list[GridCell] = []
        for column, written in enumerate(flow.cells):
            merged = self._columns[column] if column < len(self._columns) else ""
            if merged == "clmrg" and row:
                row.append(row[-1])
            elif merged == "clvmrg" and column < len(above):
                row.append(above[column])
            else:
                row.append(GridCell(written))
        table.append(row)
        flow.cells = []


def _joined(pieces: list[tuple[str, Position]]) -> str:
    written = one_line(joined_text(pieces)).strip("; ")
    # Characters beyond the first plane are written as two.
    return written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _code_page(number: int) -> str:
    name = _NUMBERED.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
