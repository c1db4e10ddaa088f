"""Parse HTML and XHTML into one kind of tree: what a reader of the page sees, and its tables.

Not seen are scripts, hidden or deleted text, and marks of notes. Rows of tables become sentences
with the heads of their columns.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from admiral.kb.corpus.files import (
    UnreadableFileError,
    has_content,
    is_note_mark,
    one_line,
)
from proofs.logic.words import word_list

# Elements that end only with a tag. Parsing takes quadratic time in the depth of elements.
_NESTING = re.compile(
    r"<(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|source|td|th|tr|"
    r"wbr)\b)[a-z]",
    re.IGNORECASE,
)
_DEEPEST = 20_000
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_XHTML = re.compile(
    r"\s*(?:<\?xml\b|(?:<!DOCTYPE[^>]*>\s*)?<html\b[^>]*\bxmlns\s*=)", re.IGNORECASE
)
_XHTML_CHARACTERS = 4096
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*>", re.IGNORECASE)
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>"
)
_PREFIXED = re.compile(r"""xmlns:\w+\s*=\s*["']http://www\.w3\.org/1999/xhtml""")
_OPS = "{http://www.idpf.org/2007/ops}"
_TEMPLATE = re.compile(r"<(/?)template\b([^<>]*)>", re.IGNORECASE)
_SHADOW = re.compile(r"\bshadowroot(?:mode)?\s*=", re.IGNORECASE)


def parse_html(source: str, *, is_xml: bool = False) -> LexborHTMLParser:
    """Return the tree of a page.

    XHTML is parsed as XML, where ``<title/>`` is a whole element, or else as HTML. `is_xml` says so
    even if the page does not, as in EPUB books.
    """
    head = source[:_XHTML_CHARACTERS]
    is_xml = is_xml or bool(_XHTML.match(_COMMENT.sub("", head)))
    # Without these, both parsers find the same, and that of HTML is faster.
    if is_xml and ("<![CDATA[" in source or _SELF_CLOSED.search(source) or _PREFIXED.search(head)):
        source = _xhtml_as_html(source)
    # Most pages have so few tags that these need not be told apart.
    ends = source.count("</")
    many = source.count("<") - 2 * ends > _DEEPEST
    if many and len(_NESTING.findall(source)) - ends > _DEEPEST:
        raise UnreadableFileError("nested too deeply")
    if "shadowroot" in source:
        source = _with_shadow_roots(source)
    return LexborHTMLParser(source)


def walk(
    root: LexborNode,
    enter: Callable[[LexborNode], bool | str],
    leave: Callable[[LexborNode, str], None],
) -> None:
    """Visit the nodes below a root in order, without recursion, for pages nested deeply.

    - `enter`: called before what is in a node, with the node. It returns False to pass over that,
      and otherwise what to give to `leave`, or True if that is not needed.
    - `leave`: called after what is in a node, with the node and what `enter` returned.
    """
    node = root.child
    entered: list[bool | str] = []
    while node is not None:
        name = enter(node)
        if name:
            child = node.child
            if child is not None:
                entered.append(name)
                node = child
                continue
            if name is not True:
                leave(node, name)
        following = node.next
        while following is None and entered:
            node = node.parent
            if node is None:
                return
            name = entered.pop()
            if name and name is not True:
                leave(node, name)
            following = node.next
        node = following


def _xhtml_as_html(source: str) -> str:
    from lxml import etree

    source = _DECLARATION.sub("", source, count=1)
    try:
        if "<!ENTITY" in source:  # could grow without bound; no page needs its own
            raise ValueError("declares entities")
        # The names of HTML's entities are in a document type that is not read.
        plain = _ENTITY.sub(lambda m: html.unescape(m[0]), _DOCTYPE.sub("", source, count=1))
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(plain.strip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return _SELF_CLOSED.sub(r"<\1\2></\1>", source)
    for element in root.iter(etree.Element):
        name = element.tag.rpartition("}")[2]
        element.tag = name
        if name in ("script", "style") and not element.get("type", "").startswith("math/"):
            element.text = None  # is not escaped in HTML
        if (kind := element.get(f"{_OPS}type")) is not None:
            del element.attrib[f"{_OPS}type"]
            element.set("data-epub-type", kind)
    return str(etree.tostring(root, method="html", encoding="unicode"))


def _with_shadow_roots(source: str) -> str:
    shown: list[bool] = []

    def renamed(match: re.Match[str]) -> str:
        if not match[1]:
            shown.append(bool(_SHADOW.search(match[2])))
            return "<shadow-root>" if shown[-1] else match[0]
        return "</shadow-root>" if shown and shown.pop() else match[0]

    return _TEMPLATE.sub(renamed, source)


Attributes = Mapping[str, str | None]

# `s` and `strike` hold what is no longer so, like `del`. Of `math`, the formula is read.
_UNSEEN = word_list(
    "audio canvas datalist del embed head iframe input meter noembed noframes noscript object "
    "progress rp rtc s script select strike style svg template textarea title video"
)
_UNSEEN_ROLES = word_list("navigation search doc-pagebreak doc-backlink doc-noteref")
# Around the content of a page; within it, they belong to it.
_FURNITURE = word_list("header footer aside")
_FURNITURE_ROLES = word_list("banner contentinfo complementary")
_UNSEEN_CLASSES = word_list(
    # signs for authors
    "headerlink mw-editsection srclink viewcode-link anchorjs-link "
    # read out only
    "sr-only visually-hidden visuallyhidden screen-reader-text "
    # the shown half of formulas, whose other half is read
    "katex-html MathJax MathJax_Preview MathJax_SVG MathJax_CHTML "
    # numbers of printed pages
    "pagenum pageno pagebreak "
    # marks of notes and the way back from these
    "footnote-ref footnote-reference footnoteref footnoteRef noteref footnote-backref "
    "footnote-back reversefootnote"
)
_UNSEEN_EPUB_TYPES = word_list("pagebreak noteref backlink")
_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|"
    r"text-decoration(?:-line)?\s*:[^;]*line-through)\b",
    re.IGNORECASE,
)
# Wikipedia hides the source of a formula and shows its picture.
_FORMULA = re.compile(r"\bmwe-math-mathml")
_NOTE = re.compile(r"\b(?:fn\b|fn[-:_]?\d|cite_note|footnote|endnote)")
_TO_NOTE = re.compile(r"#_?(?:fn|ftn|footnote|note|cite|endnote|edn)[a-z_:.-]*\d", re.IGNORECASE)
_BRACKETED_MARK = re.compile(r"\s*(?:\[[^\[\]]{1,12}\]|[*†‡§¶‖]+)\s*")


def is_unseen(node: LexborNode, tag: str, attributes: Attributes) -> bool:
    """Return whether an element has no text for the reader of a page."""
    if tag in _UNSEEN or tag == "nav":
        return True
    if not attributes:
        return tag == "dialog" or (tag == "sup" and _is_mark(node, tag, attributes))
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    if (role := attributes.get("role")) and role in _UNSEEN_ROLES:
        return True
    classes = attributes.get("class")
    if classes and not _UNSEEN_CLASSES.isdisjoint(classes.split()):
        return True
    style = attributes.get("style")
    if style and _HIDING_STYLE.search(style) and not (classes and _FORMULA.search(classes)):
        return True
    kinds = attributes.get("data-epub-type") or attributes.get("epub:type")
    if kinds and not _UNSEEN_EPUB_TYPES.isdisjoint(kinds.split()):
        return True
    if tag == "dialog":
        return "open" not in attributes
    return tag in ("sup", "a") and _is_mark(node, tag, attributes)


def unseen_kind(tag: str, attributes: Attributes) -> str:
    """Return what a reader may miss in an element that `is_unseen`, for counting; "" for nothing.

    Nobody misses scripts, marks of notes and the like.
    """
    style = attributes.get("style") or ""
    if tag in ("del", "s", "strike") or "line-through" in style:
        return "deleted text"
    if tag == "nav" or attributes.get("role") in ("navigation", "search"):
        return "navigation"
    if tag == "dialog" or "hidden" in attributes or _HIDING_STYLE.search(style):
        return "hidden text"
    return ""


def is_furniture(tag: str, attributes: Attributes) -> bool:
    """Return whether an element outside the content is around it: a header, footer or sidebar."""
    return tag in _FURNITURE or attributes.get("role") in _FURNITURE_ROLES


def is_note(attributes: Attributes) -> bool:
    """Return whether an item of a list is a note of the page, which is no short item."""
    return bool(_NOTE.search(f"{attributes.get('id')} {attributes.get('class')}")) or (
        attributes.get("role") == "doc-endnote"
    )


def joins_digits(node: LexborNode, attributes: Attributes, before: str) -> bool:
    """Return whether a link is the number of a note right after a word: ``1932<a href=#n>1``."""
    return (
        "#" in (attributes.get("href") or "")
        and before[-1:].strip() != ""
        and before[-1:] not in "(-–/"
        and node.text().strip().isdecimal()
    )


def _is_mark(node: LexborNode, tag: str, attributes: Attributes) -> bool:
    if tag == "a":
        address = attributes.get("href") or ""
        if "#" not in address:
            return False
        text = node.text()
        # The sign after a heading that links to the heading itself, or after a note that leads
        # back, such as "#", "¶" or "↩".
        if not any(map(str.isalnum, text)):
            return True
        is_one = _BRACKETED_MARK.fullmatch(text) or _TO_NOTE.search(address)
        return bool(is_one) and is_note_mark(text)
    if "reference" in (attributes.get("class") or "").split():
        return True
    if not is_note_mark(node.text()):
        return False
    parent = node.parent
    if parent is not None and parent.tag == "a":
        return "#" in (parent.attributes.get("href") or "")
    return node.css_first("a[href*='#']") is not None


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
