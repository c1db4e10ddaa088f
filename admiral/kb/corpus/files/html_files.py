"""Read HTML pages: the text that a reader sees in their main part, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admiral.io.text_encodings import decode_page
from admiral.kb.corpus.files.extraction import TextBuilder, has_content, one_line
from admiral.kb.corpus.files.html_blocks import HtmlPage
from admiral.kb.corpus.files.html_parsing import is_unseen, parse_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


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
    """Return the main parts of a page, or its body if they have no text."""
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
