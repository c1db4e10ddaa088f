"""Read Markdown, reStructuredText and notebooks.

Markdown is CommonMark with tables, notes and the extensions that its readers see. It is made HTML,
as for a browser, and read as such. So HTML within it follows the same rules. What extensions add to
it is rewritten as plain Markdown before, line by line: admonitions and tabs (``!!! note``,
``=== "Tab"``), containers (``:::note``), directives of MyST, lists of attributes (``{: .wide}``),
definitions of abbreviations, comments and marked changes. Notebooks are read for their Markdown
cells; code cells and outputs are left out.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from admiral.io.text_cleaning import decode_text
from admiral.kb.corpus.files import LOWERED, LOWERED_END, RAISED, RAISED_END, TextBuilder
from admiral.kb.corpus.files.html_files import add_fragment
from proofs.logic.words import word_list

if TYPE_CHECKING:
    from docutils import nodes

_FENCED = re.compile(
    r"(?:(---)[ \t]*\n(.*?)^(?:---|\.\.\.)|(\+\+\+)[ \t]*\n(.*?)^\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LONGEST = 1 << 16  # characters
_KEY = re.compile(r"""(["']?)[A-Za-z_][\w. -]*\1[:=](?:\s|$)|[A-Za-z_][\w.-]* *=""")


def split_front_matter(source: str) -> tuple[str, str]:
    """Return the title that front matter gives, or an empty string, and the text after it.

    What stands between two rules is text, unless it begins with a key.
    """
    match = _FENCED.match(source[:_LONGEST])
    if match is None:
        return "", source
    matter = match[2] if match[1] else match[4]
    lines = (line.strip() for line in matter.split("\n"))
    first = next((line for line in lines if line and not line.startswith("#")), None)
    if first is not None and not _KEY.match(first):
        return "", source
    return _title(matter, is_yaml=bool(match[1])), source[match.end() :]


def _title(matter: str, *, is_yaml: bool) -> str:
    try:
        # The base loader makes strings of all values, and no other objects.
        values = yaml.load(matter, yaml.BaseLoader) if is_yaml else tomllib.loads(matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        # Many are not quite YAML: "title: Lamps: a guide".
        for line in matter.split("\n"):
            key, _, value = line.partition(":")
            if key.lower() == "title":
                return value.strip().strip("\"'")
        return ""
    if not isinstance(values, dict):
        return ""
    title = next((v for k, v in values.items() if str(k).lower() == "title"), "")
    return "" if isinstance(title, dict | list | bool) else str(title)


_FENCE = re.compile(r"\s*(?:[-*+>]\s+)*(`{3,}|~{3,})([^`]*)$")
_INDENTED = re.compile(r"( *)(?:(?:!!!|\?\?\?\+?)[ \t]+[A-Za-z][^\"']*|===[!+]?[ \t]+(?=[\"']))")
_CONTAINER = re.compile(r":{3,}[ \t]*(?:\{[^{}]*\}|[\w.-]+)?")
_DIRECTIVE = re.compile(
    r"\{(?:admonition|attention|caution|danger|dropdown|epigraph|error|hint|important|margin|note|"
    r"seealso|sidebar|tip|topic|warning)\}\s*(.*)"
)
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")
_NOT_SHOWN = re.compile(
    r"\s*(?:\{:[^{}]*\}|\*\[[^\[\]]+\]:.*|\[(?:toc|\[(?:toc|_toc_)\])\]|\\(?:newpage|pagebreak))\s*$",
    re.IGNORECASE,
)
# CriticMarkup: deletions, remarks, replacements, insertions and highlights; comments of Obsidian.
_CHANGES = (
    (re.compile(r"\{--.{0,2000}?--\}|\{>>.{0,2000}?<<\}", re.DOTALL), ""),
    (re.compile(r"\{~~[^~]*~>([^~]*)~~\}"), r"\1"),
    (re.compile(r"\{(\+\+|==)(.{0,2000}?)\1\}", re.DOTALL), r"\2"),
    (re.compile(r"(?<!\w)%%[^%]{1,2000}%%(?!\w)"), ""),
)
# What any of these lines begins with.
_SPECIAL = frozenset("`~!?=:{*[\\-+>")
_STEP = 4  # columns


def plain_markdown(source: str) -> str:
    """Return Markdown without what CommonMark, its tables and its footnotes do not know."""
    lines = "\n".join(_lines(source.split("\n")))
    for pattern, text in _CHANGES:
        lines = pattern.sub(text, lines)
    return lines


def _lines(lines: list[str]) -> Iterator[str]:
    inner: list[int] = []  # columns where the text of open admonitions begins
    directives: list[str] = []  # fences of open directives
    fence = ""
    in_options = False
    for line in lines:
        if inner:
            line = line.expandtabs(_STEP)
            indent = len(line) - len(line.lstrip())
            while inner and line.strip() and not fence and indent < inner[-1]:
                inner.pop()
            line = line[min(_STEP * len(inner), indent) :] if line.strip() else ""
        elif not fence and not in_options and line.lstrip()[:1] not in _SPECIAL:
            yield line
            continue
        mark = _FENCE.match(line)
        if in_options and _OPTION.match(line):
            continue
        in_options = False
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            yield line
        elif mark and directives and mark[1] == directives[-1] and not mark[2].strip():
            directives.pop()
            yield ""
        elif mark and (directive := _DIRECTIVE.match(mark[2].strip())):
            directives.append(mark[1])
            in_options = True
            yield from ("", directive[1], "")
        elif mark:
            fence = mark[1]
            yield line
        elif match := _INDENTED.match(line):
            inner.append(len(match[1]) + _STEP * (len(inner) + 1))
            yield from ("", match[1] + line[match.end() :].strip(" \t\"'"), "")
        elif match := _CONTAINER.match(line.lstrip()):
            yield from ("", line.lstrip()[match.end() :].strip(" \t:[]"), "")
        elif not _NOT_SHOWN.match(line):
            yield line


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
    token = tokens[index]
    text = html.escape(token.content, quote=False)
    return f"<p>{text}</p>" if token.type.startswith("math_block") else f"${text}$"


def _rewrite(children: list[Token], before: Sequence[Token]) -> None:
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
    text = heading.rstrip()
    start = text.rfind("{")
    if start >= 0 and text.endswith("}") and _ATTRIBUTES.fullmatch(text, start):
        return text[:start].rstrip()
    return heading


def _ended(source: str) -> set[str]:
    return {name.lower() for slash, name in _TAG.findall(source) if slash}


def _with_text_tags(source: str, ended: set[str]) -> str:
    def written(match: re.Match[str]) -> str:
        name = match[2].lower()
        if not match[1] and name in _SWALLOWING and name not in ended:
            return html.escape(match[0], quote=False)
        return match[0]

    return _TAG.sub(written, source)


def _with_line_feeds(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")


def read_notebook(data: bytes, text: TextBuilder) -> None:
    """Read a notebook of format version 3 or 4."""
    notebook = json.loads(decode_text(data, text.notes))
    sheets = notebook.get("worksheets", [notebook])
    metadata = notebook.get("metadata", {})
    text.propose_title(metadata.get("title") or metadata.get("name"))
    for sheet in sheets:
        for cell in sheet["cells"]:
            source = cell.get("source", "")
            source = source if isinstance(source, str) else "".join(source)
            if cell["cell_type"] == "markdown":
                add_markdown(source, text)
            elif cell["cell_type"] == "heading":  # of version 3
                text.heading(int(cell["level"]), source)
            elif source:
                text.left_out["code"] += 1


# No files are read, nothing is executed, and what docutils reports stays inside the tree.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "syntax_highlight": "none",
    "line_length_limit": 1_000_000,
    "smart_quotes": False,
}
_ROLE = re.compile(r":[\w:+.-]+:`([^`]*)`")
_LINK_TEXT = re.compile(r"[!~]?(.*?)\s*(?:<[^<>]*>)?", re.DOTALL)
_REST_DIRECTIVE = re.compile(r"\.\.\s+([\w:+.-]+)::[^\n]*\n?")
_REST_OPTION = re.compile(r"\s*:[\w-]+:[^\n]*(?:\n|$)")
# Directives of Sphinx whose content is prose; docutils does not know them.
_PROSE = word_list(
    "attribute class classmethod cmdoption confval data deprecated deprecated-removed describe "
    "envvar exception function glossary hlist method module object only option program property "
    "seealso staticmethod tab tab-item tab-set tabs todo versionadded versionchanged "
    "versionremoved dropdown details grid grid-item grid-item-card card"
)
_MAX_DEPTH = 6


def read_restructuredtext(data: bytes, text: TextBuilder) -> None:
    """Read a reStructuredText file in UTF-8."""
    _Tree(text).add(data.decode("utf-8-sig"), 0)


class _Tree:
    """Add the nodes of documents that docutils has parsed."""

    def __init__(self, text: TextBuilder) -> None:
        from docutils import core, nodes

        self._text, self._nodes, self._publish = text, nodes, core.publish_doctree
        self._skipped = (
            nodes.comment, nodes.literal_block, nodes.doctest_block, nodes.math_block, nodes.raw,
            nodes.substitution_definition, nodes.target, nodes.pending, nodes.footer, nodes.header,
            nodes.image, nodes.citation, nodes.topic,
        )  # fmt: skip

    def add(self, source: str, depth: int, level: int = 0) -> None:
        document = self._publish(source, settings_overrides=_SETTINGS)
        self._children(document, level, depth)

    def _children(self, node: nodes.Element, level: int, depth: int) -> None:
        for child in node.children:
            self._node(child, level, depth)

    def _node(self, node: nodes.Node, level: int, depth: int) -> None:
        text, nodes = self._text, self._nodes
        if isinstance(node, nodes.system_message):
            self._unknown_directive(node, level, depth)
        elif isinstance(node, self._skipped) or not isinstance(node, nodes.Element):
            return
        elif isinstance(node, nodes.title):
            text.heading(max(level, 1), _words(node))
        elif isinstance(node, nodes.subtitle):
            text.heading(2, _words(node))
        elif isinstance(node, nodes.section):
            self._children(node, level + 1, depth)
        elif isinstance(node, nodes.docinfo):
            for field in node.children:
                if not isinstance(field, nodes.field):
                    text.definition(field.tagname.capitalize(), _words(field))
        elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            text.begin_list()
            self._children(node, level, depth)
        elif isinstance(node, nodes.definition_list_item | nodes.field | nodes.option_list_item):
            text.definition(_words(node[0]), "") if len(node) < 2 else self._described(node)
        elif isinstance(node, nodes.tgroup):
            self._table(node)
        elif isinstance(node, nodes.paragraph | nodes.line_block | nodes.TextElement):
            inside = node.parent
            if isinstance(inside, nodes.list_item):
                text.item(_words(node))
            else:
                text.paragraph(_words(node))
        else:
            self._children(node, level, depth)

    def _described(self, node: nodes.Element) -> None:
        terms = ", ".join(_words(child) for child in node.children[:-1])
        body = node.children[-1]
        code = (self._nodes.literal_block, self._nodes.doctest_block, self._nodes.system_message)
        words = [_words(part) for part in body.children if not isinstance(part, code)]
        self._text.definition(terms, " ".join(words))

    def _table(self, group: nodes.Element) -> None:
        header: list[str] = []
        for part in group.children:
            for row in part.children if isinstance(part, self._nodes.thead) else ():
                header = [_words(cell) for cell in row.children]
            for row in part.children if isinstance(part, self._nodes.tbody) else ():
                self._text.row([_words(cell) for cell in row.children], header)

    def _unknown_directive(self, message: nodes.Element, level: int, depth: int) -> None:
        block = next((c for c in message if isinstance(c, self._nodes.literal_block)), None)
        source = "" if block is None else block.astext()
        match = _REST_DIRECTIVE.match(source)
        if match is None or depth == _MAX_DEPTH:
            return
        if match.group(1).rpartition(":")[2] not in _PROSE:
            return
        body = source[match.end() :]
        while option := _REST_OPTION.match(body):
            body = body[option.end() :]
        self.add(dedent(body), depth + 1, level)


def _words(node: nodes.Node) -> str:
    return _ROLE.sub(_role_text, node.astext())


def _role_text(match: re.Match[str]) -> str:
    found = _LINK_TEXT.fullmatch(match.group(1))
    return match.group(1) if found is None else found.group(1)
