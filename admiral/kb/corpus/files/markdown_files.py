"""Read Markdown (CommonMark with tables) and its front matter."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.html_text import plain_html

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|$)", re.DOTALL)
_LONGEST_FRONT_MATTER = 1 << 16  # characters
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]|]*))?\]\]")


def read_markdown(data: bytes, text: TextBuilder) -> None:
    """Read a Markdown file in UTF-8."""
    add_markdown(data.decode("utf-8-sig"), text)


def add_markdown(source: str, text: TextBuilder) -> None:
    """Add the text of a Markdown document."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    match = _FRONT_MATTER.match(source[:_LONGEST_FRONT_MATTER])
    if match:
        text.propose_title(_front_title(match.group(1), match.group(2)))
        source = source[match.end() :]
    _add_tokens(MarkdownIt("commonmark").enable("table").parse(source), text)


def _front_title(fence: str, matter: str) -> object:
    """Return the field ``title`` of front matter in YAML or TOML, or None."""
    try:
        values = yaml.safe_load(matter) if fence == "---" else tomllib.loads(matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return values.get("title") if isinstance(values, dict) else None


def _add_tokens(tokens: Sequence[Token], text: TextBuilder) -> None:
    lists = 0  # depth of lists
    header: list[str] = []
    cells: list[str] = []
    in_header, opener, tag = False, "", ""
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists += 1
            text.begin_list()
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists -= 1
        elif token.type in ("thead_open", "thead_close"):
            in_header = token.type == "thead_open"
        elif token.type == "tr_close":
            if in_header:
                header = cells
            else:
                text.row(cells, header)
            cells = []
        elif token.type in ("heading_open", "paragraph_open", "th_open", "td_open"):
            opener, tag = token.type, token.tag
        elif token.type == "inline":
            content = _inline_text(token.children or ())
            if opener == "heading_open":
                text.heading(int(tag[1:]), content)
            elif opener in ("th_open", "td_open"):
                cells.append(content)
            elif lists:
                text.item(content)
            else:
                text.paragraph(content)
        elif token.type == "html_block":
            text.paragraph(plain_html(token.content))


def _inline_text(tokens: Sequence[Token]) -> str:
    """Return the words of a line: of links their text, of images nothing, of code the code."""
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak") or token.content.startswith("<br"):
            parts.append(" ")
    return _WIKI_LINK.sub(lambda match: match.group(2) or match.group(1), "".join(parts))
