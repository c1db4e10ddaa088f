"""Read HTML pages: the text of their main part, without navigation, forms and scripts."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from admiral.kb.corpus.files.extraction import TextBuilder, UnreadableFileError, word_set

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]{0,200}(?:charset|encoding)=["']?([\w.:-]{1,40})""")
# Elements that end only with a tag. Parsing takes quadratic time in the depth of elements.
_NESTING = re.compile(
    r"<(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|source|td|th|tr|"
    r"wbr)\b)[a-z]",
    re.IGNORECASE,
)
_DEEPEST = 20_000
_CHARSET_BYTES = 2048
_SKIPPED = word_set(
    "aside audio button canvas footer form head header iframe input math nav noscript object pre "
    "script select style svg template textarea title video"
)
_SKIPPED_ROLES = frozenset(("navigation", "search", "banner", "contentinfo", "complementary"))
_SKIPPED_CLASSES = word_set("headerlink highlight mw-editsection srclink viewcode-link")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = word_set(
    "address article blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure hr legend li main ol p section summary table tbody td tfoot th thead tr ul"
)


def read_html(data: bytes, text: TextBuilder) -> None:
    """Read an HTML page in the encoding that it declares."""
    add_html(_decoded(data), text)


def add_html(html: str, text: TextBuilder) -> None:
    """Add the text of an HTML page."""
    from selectolax.lexbor import LexborHTMLParser

    if len(_NESTING.findall(html)) - html.count("</") > _DEEPEST:
        raise UnreadableFileError("nested too deeply")
    tree = LexborHTMLParser(html)
    root = tree.css_first("main, [role=main]") or tree.css_first("article") or tree.body
    title = tree.css_first("head > title")
    if root is not None:
        first = root.css_first("h1")
        if first is not None:
            text.propose_title(_text_of(first))
        _Page(text).add(root)
    if title is not None:
        text.propose_title(title.text())


def _decoded(data: bytes) -> str:
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    declared = _CHARSET.search(data[:_CHARSET_BYTES].lower())
    if declared:
        try:
            return data.decode(declared.group(1).decode("ascii"), "replace")
        except LookupError:
            pass
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # what browsers assume


class _Page:
    """Add the blocks of a page in reading order, without recursion, for pages nested deeply."""

    def __init__(self, text: TextBuilder) -> None:
        self._text = text
        self._words: list[str] = []
        self._tags: list[str] = []  # open blocks
        self._term = ""
        self._cells: list[str] = []
        self._header: list[str] = []
        self._has_head_cells = self._has_data_cells = False

    def add(self, root: LexborNode) -> None:
        for node, is_start in _events(root):
            tag = node.tag
            if tag == "-text":
                if is_start:
                    self._words.append(node.text_content or "")
            elif tag == "br":
                self._words.append(" ")
            elif tag in _BLOCKS or tag in _HEADINGS:
                if is_start:
                    self._flush()
                    self._open(tag)
                else:
                    self._close(tag)
        self._flush()

    def _open(self, tag: str | None) -> None:
        self._tags.append(tag or "")
        if tag in ("ul", "ol"):
            self._text.begin_list()
        elif tag == "table":
            self._header = []
        elif tag == "tr":
            self._cells, self._has_head_cells, self._has_data_cells = [], False, False

    def _close(self, tag: str | None) -> None:
        if tag in ("td", "th"):
            self._cells.append("".join(self._words))
            self._words = []
            self._has_head_cells |= tag == "th"
            self._has_data_cells |= tag == "td"
        else:
            self._flush()
        if tag == "tr" and self._cells:
            if self._has_head_cells and not self._has_data_cells:
                self._header = self._cells
            else:
                self._text.row(self._cells, self._header)
            self._cells = []
        if self._tags:
            self._tags.pop()

    def _flush(self) -> None:
        """Add the words since the last block as what the innermost open block makes them."""
        words, self._words = "".join(self._words), []
        if not words.strip():
            return
        tag = next((t for t in reversed(self._tags) if t not in ("p", "div", "section")), "")
        if tag in _HEADINGS:
            self._text.heading(int(tag[1]), words)
        elif tag in ("td", "th"):
            self._words = [words, " "]  # paragraphs of one cell
        elif tag == "dt":
            self._term = f"{self._term}, {words}" if self._term else words
        elif tag == "dd":
            self._text.definition(self._term, words)
            self._term = ""
        elif tag == "li":
            self._text.item(words)
        else:
            self._text.paragraph(words)


def _events(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield (node, whether it begins) below a node in reading order, without what is skipped."""
    node = root.child
    depth = 1
    while node is not None and depth:
        skipped = _is_skipped(node)
        if not skipped:
            yield node, True
            child = node.child
            if child is not None:
                node = child
                depth += 1
                continue
            yield node, False
        following = node.next
        while following is None and depth > 1:
            parent = node.parent
            if parent is None:
                return
            node = parent
            depth -= 1
            yield node, False
            following = node.next
        if following is None:
            return
        node = following


def _is_skipped(node: LexborNode) -> bool:
    tag = node.tag
    if tag == "-text":
        return False
    if tag in _SKIPPED or tag is None or tag.startswith(("-", "!")):
        return True
    attributes = node.attributes
    # The sign after a heading that links to the heading itself, such as "#" or "¶".
    is_anchor = tag == "a" and (attributes.get("href") or "").startswith("#")
    if is_anchor and not any(map(str.isalnum, node.text())):
        return True
    classes = (attributes.get("class") or "").split()
    return (
        attributes.get("role") in _SKIPPED_ROLES
        or "hidden" in attributes
        or not _SKIPPED_CLASSES.isdisjoint(classes)
    )


def _text_of(node: LexborNode) -> str:
    return "".join(
        n.text_content or "" for n, begins in _events(node) if begins and n.tag == "-text"
    )
