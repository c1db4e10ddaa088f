"""Read Markdown: CommonMark with tables, notes and the extensions that its readers see.

It is made HTML, as for a browser, and read as such. So HTML within it follows the same rules.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from admiral.io.text_encodings import decode_text
from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.front_matter import split_front_matter
from admiral.kb.corpus.files.html_files import add_fragment
from admiral.kb.corpus.files.markdown_dialects import plain_markdown
from admiral.kb.corpus.files.raised_text import LOWERED, LOWERED_END, RAISED, RAISED_END
from proofs.logic.words import word_list

_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]|]*))?\]\]")
# In the text of a line, once code, links and formulas have been found.
_EXTENSIONS = (
    (_WIKI_LINK, lambda match: match[2] or match[1]),
    (re.compile(r"\[\^[^\[\]\s]+\]"), ""),  # a note that is not defined
    (re.compile(r"(?<=\w)~([\w+−-]{1,8})~"), rf"{LOWERED}\1{LOWERED_END}"),  # H~2~O
    (re.compile(r"(?<=\w)\^([\w+−-]{1,8})\^"), rf"{RAISED}\1{RAISED_END}"),  # 10^6^
    (re.compile(r"(?<![\w~])~(?=\S)[^~\n]*[^\s~]~(?![\w~])"), ""),  # struck out, on GitHub
    (re.compile(r"(?<![\w=])==(?=\S)([^=\n]*[^\s=])==(?![\w=])"), r"\1"),  # highlighted
)
_MAYBE_EXTENDED = re.compile(r"\[[\[^]|~|\^|==")
_ALERT = re.compile(r"\[!\w+\][+-]?\s*")
_TASK = re.compile(r"\[[ xX]\]\s+")
_ATTRIBUTES = re.compile(r"\{:?\s*(?:[#.][^{}]*|[\w-]+=[^{}]*|-)\}")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)\b[^<>]*>?")
# Their content is no text for a browser, up to the end of the page if nothing ends them.
_SWALLOWING = word_list(
    "audio button canvas head iframe math noembed noframes noscript object plaintext script select "
    "style svg template textarea title video xmp"
)


def read_markdown(data: bytes, text: TextBuilder) -> None:
    """Read a Markdown file with its front matter."""
    title, source = split_front_matter(_with_line_feeds(decode_text(data, text.notes)))
    text.propose_title(title)
    add_markdown(source, text)


def add_markdown(source: str, text: TextBuilder) -> None:
    """Add the text of a Markdown document without front matter."""
    parser = _parser()
    environment: dict[str, Any] = {}
    tokens = parser.parse(plain_markdown(_with_line_feeds(source)), environment)
    for position, token in enumerate(tokens):
        if token.type == "inline" and token.children:
            _rewrite(token.children, tokens[max(position - 2, 0) : position])
        elif token.type == "html_block":
            token.content = _with_text_tags(token.content, _ended(token.content))
    add_fragment(parser.renderer.render(tokens, parser.options, environment), text)


@cache
def _parser() -> MarkdownIt:
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    for kind in ("code_block", "fence", "image"):
        parser.add_render_rule(kind, _nothing)
    for kind in ("math_inline", "math_inline_double", "math_block", "math_block_label"):
        parser.add_render_rule(kind, _formula)
    return parser


def _nothing(*_: Any) -> str:
    return ""


def _formula(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """Return a formula with its signs, since they may stand for dollars."""
    token = tokens[index]
    text = html.escape(token.content, quote=False)
    return f"<p>{text}</p>" if token.type.startswith("math_block") else f"${text}$"


def _rewrite(children: list[Token], before: Sequence[Token]) -> None:
    """Rewrite the text of a line as what its reader sees."""
    kinds = [token.type for token in before]
    first, last = children[0], children[-1]
    if first.type == "text":
        if kinds[:1] == ["list_item_open"]:
            first.content = _TASK.sub("", first.content, count=1)
        elif kinds[:1] == ["blockquote_open"]:
            first.content = _ALERT.sub("", first.content, count=1)
    if last.type == "text" and kinds[-1:] == ["heading_open"]:
        last.content = _without_attributes(last.content)
    ended: set[str] = set()
    for child in reversed(children):
        if child.type == "text":
            if not _MAYBE_EXTENDED.search(child.content):
                continue
            for pattern, text in _EXTENSIONS:
                child.content = pattern.sub(text, child.content)
        elif child.type == "html_inline":
            ended |= _ended(child.content)
            child.content = _with_text_tags(child.content, ended)


def _without_attributes(heading: str) -> str:
    """Return a heading without the attributes after it: ``{#id .class}``."""
    text = heading.rstrip()
    start = text.rfind("{")
    if start >= 0 and text.endswith("}") and _ATTRIBUTES.fullmatch(text, start):
        return text[:start].rstrip()
    return heading


def _ended(source: str) -> set[str]:
    """Return the names of the elements that end in a piece of HTML."""
    return {name.lower() for slash, name in _TAG.findall(source) if slash}


def _with_text_tags(source: str, ended: set[str]) -> str:
    """Return HTML in which tags that would swallow the rest of the page are text."""

    def written(match: re.Match[str]) -> str:
        name = match[2].lower()
        if not match[1] and name in _SWALLOWING and name not in ended:
            return html.escape(match[0], quote=False)
        return match[0]

    return _TAG.sub(written, source)


def _with_line_feeds(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")
