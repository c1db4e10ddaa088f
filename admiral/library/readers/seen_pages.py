"""Prepare a web page for the extraction of its article: what a reader does not see is removed.

Raised numbers are written on the line (``10^6``), and rows of tables become sentences, as in a
folder of documents.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.html_files import add_fragment
from admiral.kb.corpus.files.html_parsing import is_unseen, parse_html, walk
from admiral.kb.corpus.files.html_tables import is_layout
from admiral.kb.corpus.files.raised_text import SCRIPT_MARKS, on_one_line

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Scripts may hold the metadata of the page.
_KEPT = frozenset(("script", "noscript", "head"))
# Stands for a table, which becomes paragraphs once the page is a string again.
_TABLE = re.compile("\ufdd7(\\d+)\ufdd7")


def seen_page(source: str) -> str:
    """Return an HTML page with only the text that its reader sees.

    Raises
    ------
    UnreadableFileError
        If elements are nested too deeply.
    """
    tree = parse_html(source.replace("\ufdd7", ""))
    if tree.body is None:
        return source
    tables: list[str] = []
    for node, change in _changes(tree.body):
        if change == "table":
            node.replace_with(f"\ufdd7{len(tables)}\ufdd7")
            tables.append(_paragraphs(node.html or ""))
        elif change in SCRIPT_MARKS:
            before, after = SCRIPT_MARKS[change]
            node.insert_before(before)
            node.insert_after(after)
            node.unwrap()
        else:
            node.decompose()
    page = on_one_line(tree.html or "")
    return _TABLE.sub(lambda match: tables[int(match[1])], page)


def _changes(body: LexborNode) -> list[tuple[LexborNode, str]]:
    """Return what to change below a node: tables, raised and lowered text, and what is unseen."""
    found: list[tuple[LexborNode, str]] = []

    def enter(node: LexborNode) -> bool:
        tag = node.tag or "-"
        if tag[0] in "-!" or tag in _KEPT:
            return False
        attributes = node.attributes
        if is_unseen(node, tag, attributes):
            found.append((node, "unseen"))
            return False
        is_table = tag == "table" and not is_layout(node, attributes.get("role"))
        if is_table or tag in SCRIPT_MARKS:
            found.append((node, tag))
        return not is_table

    walk(body, enter, lambda *_: None)
    return found


def _paragraphs(table: str) -> str:
    text = TextBuilder()
    add_fragment(table, text)
    return "".join(f"<p>{html.escape(s.text, quote=False)}</p>" for s in text.sentences())
