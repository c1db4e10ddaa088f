"""Read HTML pages: the text that a reader sees in their main part, in order.

Elements become headings, paragraphs, list items and rows of tables. Formulas of MathML become their
TeX source, or else ``a^2 + b_1``. Prose in ``<pre>``, as in mail archives and old standards, is
distinguished from code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from admiral.io.text_cleaning import decode_page
from admiral.kb.corpus.files import (
    SCRIPT_MARKS,
    TextBuilder,
    has_content,
    on_one_line,
    one_line,
)
from admiral.kb.corpus.files.html_parsing import (
    Attributes,
    TableRows,
    is_furniture,
    is_layout,
    is_note,
    is_unseen,
    joins_digits,
    parse_html,
    unseen_kind,
    walk,
)
from proofs.logic.words import word_list

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_DEEPEST = 100
_JOINTS = {"msup": "^", "msub": "_", "mfrac": "/", "mover": "^", "munder": "_", "mroot": "^1/"}
_STYLE = re.compile(r"\{\\(?:display|text)style\s*(.*)\}", re.DOTALL)
_STYLE_ALONE = re.compile(r"\\(?:display|text)style\b\s*")
_SHORT_SCRIPT = re.compile(r"([\^_])\{(\w+)\}")


def formula_text(math: LexborNode) -> str:
    """Return the text of an element ``math``."""
    source = math.css_first("annotation[encoding*=tex i]")
    if source is not None:
        return tex_text(source.text())
    return " ".join(_text(math, 0).split())


def tex_text(source: str) -> str:
    """Return TeX without what only says how it is set."""
    source = source.strip()
    if match := _STYLE.fullmatch(source):
        source = match[1]
    return _SHORT_SCRIPT.sub(r"\1\2", " ".join(_STYLE_ALONE.sub("", source).split()))


def _text(node: LexborNode, depth: int) -> str:
    if depth > _DEEPEST:
        return node.text()
    parts = []
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            parts.append((child.text_content or "").strip())
        elif child.tag not in ("annotation", "annotation-xml"):
            parts.append(_text(child, depth + 1))
    tag = node.tag or ""
    if tag in _JOINTS and len(parts) == 2:
        return _JOINTS[tag].join(map(_grouped, parts))
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        base, low, high = map(_grouped, parts)
        return f"{base}_{low}^{high}"
    if tag == "msqrt":
        return f"√({''.join(parts)})"
    if tag == "mtr":
        return " ".join(parts) + "; "
    # Two numbers side by side are two numbers.
    joined = ""
    for part in parts:
        joined += (" " if joined[-1:].isdigit() and part[:1].isdigit() else "") + part
    return joined


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


_CODE_CLASSES = re.compile(
    r"\b(?:highlight|codehilite|sourcecode|literal-block|programlisting|prettyprint|brush|"
    r"language-|lang-|code\b|syntax|shell|console|terminal|screen\b)",
    re.IGNORECASE,
)
_PARENTS = 3
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_SIGNS = re.compile(r"[{}<>=;|\\$@#_~^`]|\w\(|::|->")
_MANY_SIGNS = 0.02  # of all characters
_ENDS_SENTENCE = re.compile(r"(?:[a-z]{2}|\d)[.!?:][\"”’)]*(?=\s|\Z)")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 4
_WIDE_GAPS = re.compile(r"\S {3,}\S")
_QUOTED_LINE = re.compile(r"^[ \t]*>[> \t]*", re.MULTILINE)


def preformatted_paragraphs(node: LexborNode) -> list[str]:
    """Return the paragraphs of prose in an element ``pre``, of which code has none."""
    if _is_marked_as_code(node):
        return []
    text = _QUOTED_LINE.sub("", node.text().replace("\r\n", "\n"))
    paragraphs = [part for part in _BLANK_LINES.split(text) if part.strip()]
    if not _ENDS_SENTENCE.search(text) or not any(map(_is_prose, paragraphs)):
        return []
    return [paragraph for paragraph in paragraphs if _is_text(paragraph)]


def _is_marked_as_code(node: LexborNode) -> bool:
    if node.css_first("code, samp, kbd, span[class]") is not None:
        return True
    above: LexborNode | None = node
    for _ in range(_PARENTS):
        if above is None:
            return False
        if _CODE_CLASSES.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _is_prose(paragraph: str) -> bool:
    return (
        _is_text(paragraph)
        and bool(_ENDS_SENTENCE.search(paragraph))
        and len(_WORDS.findall(paragraph)) >= _FEWEST_WORDS
    )


def _is_text(paragraph: str) -> bool:
    signs = len(_SIGNS.findall(paragraph))
    lines = paragraph.strip().split("\n")
    gaps = sum(bool(_WIDE_GAPS.search(line)) for line in lines)
    return signs <= 1 + _MANY_SIGNS * len(paragraph) and gaps <= len(lines) // 2


_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = word_list(
    "h1 h2 h3 h4 h5 h6 address article aside blockquote body caption center dd details dialog dir "
    "div dl dt fieldset figcaption figure footer form header hgroup hr legend li main menu ol "
    "optgroup p pre search section shadow-root summary table tbody td tfoot th thead tr ul"
)
# Blocks that say what the words in them are; other blocks are paragraphs of the one around them.
_KINDS = frozenset(
    (*_HEADINGS, "blockquote", "caption", "dd", "dt", "figcaption", "li", "note", "summary")
)
_OF_TABLES = word_list("table thead tbody tfoot tr td th")
_CONTENT = word_list("main article section")
_CONTENT_ROLES = word_list("main article")
# What stands around the text of inline elements until the block is complete.
_BREAK, _CONTROL, _CONTROL_END = "\ufdd4", "\ufdd5", "\ufdd6"
_MARKS = re.compile("[\ufdd0-\ufdd6]")
_CONTROLS = re.compile(f"{_CONTROL}[^{_CONTROL_END}]*{_CONTROL_END}")
_PARAGRAPH_BREAK = re.compile(rf"{_BREAK}(?:\s*{_BREAK})+")
_WRAPPED = SCRIPT_MARKS | {"q": ("“", "”")}


class HtmlPage:
    """Add the blocks of a page to a text in reading order.

    Parameters
    ----------
    title
        Title of the page, which tells its own header from that of its site.
    is_content
        Whether all of the page is content, and no header, footer or sidebar stands around it.

    Attributes
    ----------
    first_heading
        The first heading of the first level, or an empty string.
    """

    def __init__(self, text: TextBuilder, title: str, *, is_content: bool) -> None:
        self.first_heading = ""
        self._text, self._title = text, title
        self._content = int(is_content)  # number of open elements that hold content
        self._words: list[str] = []
        self._blocks: list[_Block] = []  # the open ones
        self._terms: list[_Term] = []  # of the open definition lists
        self._tables: list[_Table | None] = []  # open tables; None for those that only place
        self._data: list[_Table] = []  # the others
        self._readings: list[tuple[int, list[str]]] = []  # of the open ruby annotations

    def add(self, root: LexborNode) -> None:
        """Add the text below a node."""
        walk(root, self._enter, self._leave)
        self._flush()

    def _enter(self, node: LexborNode) -> bool | str:
        tag = node.tag
        if tag == "-text":
            self._words.append(node.text_content or "")
            return False
        if tag is None or tag[0] in "-!":
            return False
        attributes: Attributes = node.attributes
        if is_unseen(node, tag, attributes):
            if tag == "script" and (attributes.get("type") or "").startswith("math/tex"):
                self._words.append(tex_text(node.text()))
            else:
                self._leave_out(node, unseen_kind(tag, attributes))
            return False
        if not self._content and is_furniture(tag, attributes) and not self._heads_page(node):
            self._leave_out(node, "header, footer or sidebar of the page")
            return False
        if attributes and attributes.get("role") == "heading":
            tag = f"h{attributes.get('aria-level') or 2}"
            tag = tag if tag in _HEADINGS else "h6"
        if tag in _BLOCKS:
            return self._open(node, tag, attributes)
        return self._open_inline(node, tag, attributes)

    def _leave_out(self, node: LexborNode, kind: str) -> None:
        if kind and has_content(node.text()):
            self._text.left_out[kind] += 1

    def _leave(self, node: LexborNode, tag: str) -> None:
        if tag in _BLOCKS:
            self._close(node, tag)
        else:
            self._close_inline(tag)

    def _open(self, node: LexborNode, tag: str, attributes: Attributes) -> bool | str:
        if self._words:
            self._flush()
        if tag == "pre":
            paragraphs = preformatted_paragraphs(node)
            if not paragraphs:
                self._leave_out(node, "code")
            for paragraph in paragraphs:
                self._words.append(paragraph)
                self._flush()
            return False
        if tag == "table":
            if is_layout(node, attributes.get("role")):
                self._tables.append(None)
            else:
                self._data.append(_Table(len(self._blocks)))
                self._tables.append(self._data[-1])
        elif tag in ("ul", "ol", "menu", "dir"):
            if self._cell is None:
                self._text.begin_list()
        elif tag == "dl":
            self._terms.append(_Term())
        elif tag == "dt" and self._terms and self._terms[-1].has_descriptions:
            self._end_term()
            self._terms.append(_Term())
        elif tag == "dd" and self._terms:
            self._terms[-1].has_descriptions = self._terms[-1].begins = True
        elif tag in ("td", "th") and self._table is not None:
            self._table.cell = []
        is_content = tag in _CONTENT or attributes.get("role") in _CONTENT_ROLES
        self._content += is_content
        is_note_item = tag == "li" and is_note(attributes)
        name = "note" if is_note_item else tag
        self._blocks.append(_Block(name, is_content, name if name in _KINDS else self._kind))
        return tag

    def _close(self, node: LexborNode, tag: str) -> None:
        if self._words:
            self._flush()
        self._content -= self._blocks.pop().is_content
        if tag == "dl":
            self._end_term()
            return
        if tag not in _OF_TABLES:
            return
        table = self._table
        if tag == "table":
            self._tables.pop()
            if table is not None:
                self._data.pop()
                self._emit([*table.rows.end(), *table.inner], self._data[-1:])
        elif table is None:
            return
        elif tag in ("td", "th"):
            span = node.attributes
            table.rows.cell(
                "".join(table.cell or ()),
                is_head=tag == "th",
                columns=span.get("colspan"),
                rows=span.get("rowspan"),
            )
            table.cell = None
        elif tag == "tr":
            in_head = any(block.name == "thead" for block in self._blocks[table.depth :])
            row = table.rows.end_row(in_head=in_head)
            self._emit([row, *table.inner], self._data[-2:-1])
            table.inner = []
        else:
            table.rows.end_group()

    def _open_inline(self, node: LexborNode, tag: str, attributes: Attributes) -> bool | str:
        words = self._words
        if tag == "br":
            words.append(_BREAK)
        elif tag in _WRAPPED:
            words.append(_WRAPPED[tag][0])
            return tag
        elif tag == "math":
            words.append(formula_text(node))
            return False
        elif tag == "a":
            return not words or not joins_digits(node, attributes, words[-1])
        elif tag == "button":
            if "aria-expanded" in attributes or "aria-controls" in attributes:
                self._flush()  # the head of a part that opens
                return "head"
            words.append("" if self._kind in _HEADINGS else _CONTROL)
            return tag
        elif tag == "ruby":
            self._readings.append((len(words), []))
            return tag
        elif tag == "rt" and self._readings:
            self._readings[-1] = len(words), self._readings[-1][1]
            return tag
        return True

    def _close_inline(self, tag: str) -> None:
        words = self._words
        if tag in _WRAPPED:
            words.append(_WRAPPED[tag][1])
        elif tag == "button":
            words.append(_CONTROL_END)
        elif tag == "head":
            self._flush()
        elif tag == "rt" and self._readings:
            start, readings = self._readings[-1]
            readings.append("".join(words[start:]).strip())
            del words[start:]
        elif tag == "ruby" and self._readings:
            reading = "".join(self._readings.pop()[1])
            words.append(f" ({reading})" if reading else "")

    @property
    def _table(self) -> _Table | None:
        return self._tables[-1] if self._tables else None

    @property
    def _cell(self) -> list[str] | None:
        return self._data[-1].cell if self._data else None

    @property
    def _kind(self) -> str:
        return self._blocks[-1].kind if self._blocks else ""

    def _heads_page(self, node: LexborNode) -> bool:
        heading = node.css_first("h1") if node.tag == "header" else None
        text = one_line(heading.text()) if heading is not None else ""
        return bool(text) and self._title.startswith(text) and node.css_first("p") is not None

    def _emit(self, rows: list[str], outer: list[_Table]) -> None:
        for row in filter(None, rows):
            if outer and outer[-1].cell is not None:
                outer[-1].inner.append(row)
            else:
                self._text.row((row,))

    def _flush(self) -> None:
        if not self._words:
            return
        words, self._words = "".join(self._words), []
        self._readings = [(0, readings) for _, readings in self._readings]
        if not words.strip():
            return
        if not _MARKS.search(words):
            self._add(words, self._kind)
            return
        words = on_one_line(words)
        if _CONTROL in words and not has_content(_CONTROLS.sub("", words)):
            return
        words = words.replace(_CONTROL, "").replace(_CONTROL_END, "")
        kind = self._kind
        parts = [words] if kind in _HEADINGS else _PARAGRAPH_BREAK.split(words)
        for part in parts:
            if (part := part.replace(_BREAK, "\n")).strip():
                self._add(part, kind)

    def _end_term(self) -> None:
        term = self._terms.pop()
        if not term.is_described:
            self._text.paragraph(term.text)

    def _add(self, words: str, kind: str) -> None:
        cell = self._cell
        if cell is not None:
            if cell:
                cell.append(", " if kind == "li" else " ")
            cell.append(words.strip() + (":" if kind == "dt" else ""))
        elif kind in _HEADINGS:
            level = _HEADINGS[kind]
            if level == 1 and not self.first_heading:
                self.first_heading = one_line(words)
            self._text.heading(level, words)
        elif kind == "dt" and self._terms:
            term = self._terms[-1]
            term.text = f"{term.text}, {one_line(words)}" if term.text else one_line(words)
        elif kind == "dd" and self._terms and self._terms[-1].begins:
            term = self._terms[-1]
            self._text.definition(term.text, words)
            term.begins, term.is_described = False, True
        elif kind == "li":
            self._text.item(words)
        else:
            self._text.paragraph(words)


class _Block(NamedTuple):
    name: str
    is_content: bool
    kind: str  # what the words in it are: one of _KINDS, or "" for a paragraph


@dataclass(slots=True)
class _Term:
    """A term of a definition list, and what has been read of its descriptions."""

    text: str = ""
    has_descriptions: bool = False
    is_described: bool = False  # by text
    begins: bool = False  # a description, of which nothing has been read


class _Table:
    """An open table: its rows, the texts of the open cell, and rows of tables within its cells."""

    def __init__(self, depth: int) -> None:
        self.depth = depth  # number of blocks around it
        self.rows = TableRows()
        self.cell: list[str] | None = None
        self.inner: list[str] = []


def read_html(data: bytes, text: TextBuilder) -> None:
    """Read an HTML or XHTML page in the encoding that it declares."""
    add_html(decode_page(data, notes=text.notes), text)


def add_html(source: str, text: TextBuilder, *, is_xml: bool = False) -> None:
    """Add the text of a page, without what stands around its content.

    All of a chapter of a book, which `is_xml`, is content.
    """
    tree = parse_html(source, is_xml=is_xml)
    element = tree.css_first("head > title")
    title = one_line(element.text()) if element is not None else ""
    earlier = len(text.titles)
    first_heading = ""
    for root in _roots(tree):
        page = HtmlPage(text, title, is_content=is_xml or root.tag != "body")
        page.add(root)
        first_heading = first_heading or page.first_heading
    if first_heading:
        text.titles.insert(earlier, first_heading)
    text.propose_title(title)


def add_fragment(source: str, text: TextBuilder) -> None:
    """Add the text of a piece of HTML, all of which is content, as in a Markdown file."""
    body = parse_html(source).body
    if body is not None:
        HtmlPage(text, "", is_content=True).add(body)


def _roots(tree: LexborHTMLParser) -> list[LexborNode]:
    roots: list[LexborNode] = []
    inside: set[int] = set()
    for node in tree.css("main, [role=main]"):
        above: LexborNode | None = node
        while above is not None and above.mem_id not in inside:
            tag = above.tag or "-"
            if tag[0] != "-" and is_unseen(above, tag, above.attributes):
                break
            above = above.parent
        inside.add(node.mem_id)
        if above is None and has_content(node.text()):
            roots.append(node)
    if not roots and tree.body is not None:
        return [tree.body]
    return roots
