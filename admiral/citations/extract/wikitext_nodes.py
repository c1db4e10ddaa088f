"""The nodes of wikitext: templates, tags, links and text, with their places in the page.

mwparserfromhell parses a page section by section, so that what is left open in one does not reach
into the next. It tries alternatives for marks without a partner, and a page of nothing else takes
it very long: `admiral.citations.extract` limits the time. Such marks are removed from the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import mwparserfromhell
from mwparserfromhell import nodes as wiki
from mwparserfromhell.wikicode import Wikicode

from admiral.citations.extract.marked_blocks import Place
from admiral.citations.extract.names import names_of
from admiral.kb.corpus.files import Position, written

# Of the first, the content is neither text of the page nor wikitext; the second are read by
# `wikitext_page`. The content of all others is text.
_RAW, _KEPT = (frozenset(names_of("elements", key)) for key in ("raw", "kept"))
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_NEW_LINE = {
    **dict.fromkeys(("p", "blockquote", "ul", "ol", "dl", "div", "center", "poem"), "\n\n"),
    **dict.fromkeys(("br", "hr"), "\n"),
    "li": "\n* ",
    "dd": "\n: ",
    "dt": "\n: ",
}
# Stand for a character of a comment, and for an apostrophe, so that all else keeps its place.
_NOTHING, _APOSTROPHE = "\ue000", "\ue001"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(rf"^=.*=[ \t{_NOTHING}]*$", re.MULTILINE)
_TABLE_MARK = re.compile(r"^[ \t:*#;]*(\{\||\|\})", re.MULTILINE)
_MOST_TABLES = 8  # in each other
_QUOTES = re.compile("'{2,}")
# Tags, braces and brackets without a partner, and switches.
_STRAY = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:[\s/][^<>]*)?>|\{{2,}|\}{2,}|\[\[|\]\]|__[A-Z]+__"
)
_REFERENCE_TAG = re.compile(r"<ref\s[^<>]*>", re.IGNORECASE)
# A reference that is not closed and begins with a template, which may be open, or a URL.
_OPEN_REFERENCE = re.compile(r"<ref\b[^<>]*>\s*(\{\{[^{}<>]*)?$", re.IGNORECASE)


@dataclass(slots=True)
class Template:
    """A template with its parameters; unnamed ones are numbered from 1.

    `written` is its name with upper and lower case.
    """

    name: str
    parameters: dict[str, list[Node]] = field(default_factory=dict)
    written: str = ""
    place: Place | None = None

    def text(self, key: str) -> str:
        """Return the plain text of a parameter; empty if it is not given."""
        return plain_text(self.parameters.get(key))

    @property
    def texts(self) -> dict[str, str]:
        """The plain texts of the parameters."""
        return {key: plain_text(value) for key, value in self.parameters.items()}

    @property
    def unnamed(self) -> list[list[Node]]:
        """The unnamed parameters in order."""
        keys = sorted((key for key in self.parameters if key.isdigit()), key=int)
        return [self.parameters[key] for key in keys]


@dataclass(slots=True)
class Tag:
    """A tag, or the part of a table, with its attributes and its content."""

    name: str
    attributes: dict[str, str]
    content: list[Node]
    place: Place | None = None


@dataclass(slots=True)
class Link:
    """A link to a page of the wiki."""

    target: str
    text: list[Node] | None


@dataclass(slots=True)
class ExternalLink:
    """A link to a URL; bare if it has no brackets."""

    url: str
    text: list[Node] | None
    is_bare: bool


Node: TypeAlias = "str | Template | Tag | Link | ExternalLink"


class Section(NamedTuple):
    """The lines below a heading; `level` is 0 for those before the first one."""

    level: int
    heading: list[Node]
    lines: list[list[Node]]


def sections(text: str) -> Iterator[Section]:
    """Yield the sections of a page; a line break in a template, a link or a tag ends no line."""
    text = _COMMENT.sub(lambda comment: _NOTHING * len(comment[0]), text)
    # mwparserfromhell knows no tag whose name ends its line.
    text = _REFERENCE_TAG.sub(lambda tag: tag[0].replace("\n", " "), text)
    level, heading, start = 0, list[Node](), 0
    for match in _HEADING.finditer(text):
        line = match[0].rstrip(f" \t{_NOTHING}")
        marks = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6)
        marks = min(marks, (len(line) - 1) // 2)
        if title := line[marks : len(line) - marks].strip():
            yield Section(level, heading, _lines(_parsed(text[start : match.start()], start)))
            level, heading = marks, _parsed(title, match.start() + line.index(title, marks))
            start = match.end()
    yield Section(level, heading, _lines(_parsed(text[start:], start)))


def _lines(nodes: Sequence[Node]) -> list[list[Node]]:
    lines: list[list[Node]] = [[]]
    for node in nodes:
        first, *others = node.split("\n") if isinstance(node, str) else [node]
        lines[-1].append(first)
        lines += [[other] for other in others]
    return lines


def _parsed(text: str, start: int) -> list[Node]:
    text = "\n".join(map(_with_apostrophe, text.split("\n")))
    open_tables = 0
    for mark in _TABLE_MARK.findall(text):
        open_tables = max(0, open_tables + (1 if mark == "{|" else -1))
    text += "\n|}" * min(open_tables, _MOST_TABLES)
    return _nodes(mwparserfromhell.parse(text, skip_style_tags=True), start)


def _nodes(code: Wikicode | None, start: int = 0) -> list[Node]:
    """Return the nodes of wikitext that begins at an offset of the page.

    A reference that is not closed ends after the template or the URL that it begins with, and if
    that template is not closed either, with the line.
    """
    nodes: list[Node] = []
    opened: re.Match[str] | None = None
    skips_line = False
    for each in code.nodes if code is not None else ():
        source = str(each)
        if isinstance(each, wiki.Text):
            text = "".join(source.partition("\n")[1:]) if skips_line else source
            opened, skips_line = _OPEN_REFERENCE.search(text), False
            found: list[Node] = [_clean(text[: opened.start()] if opened else text)]
        else:
            found = _read(each, source, start)
            if opened and isinstance(each, wiki.Template | wiki.ExternalLink):
                found, skips_line = [Tag("ref", {}, found)], bool(opened[1])
            opened = None
        for node in found:
            if isinstance(node, str) and nodes and isinstance(nodes[-1], str):
                nodes[-1] += node  # no two next to each other are text
            else:
                nodes.append(node)
        start += len(source)
    return nodes


def _read(node: wiki.Node, source: str, start: int) -> list[Node]:
    """Return what a node is read as. `source`, `start`: its wikitext, and where that begins."""
    starts: dict[int, int] = {}  # of what the node contains
    at = 0
    for child in node.__children__():
        text = str(child)
        at = source.index(text, at)
        starts[id(child)] = start + at
        at += len(text)
    place = (start, start + len(source))

    def inner(code: Wikicode | None) -> list[Node]:
        return _nodes(code, starts.get(id(code), start))

    match node:
        case wiki.Template():
            name = " ".join(_text(node.name).split())
            values = {plain_text(_nodes(p.name)).lower(): inner(p.value) for p in node.params}
            return [Template(template_name(name), values, name, place)]
        case wiki.Tag():
            return _read_tag(node, inner(node.contents), place)
        case wiki.Wikilink():
            target = " ".join(_text(node.title).split())
            return [Link(target, None if node.text is None else inner(node.text))]
        case wiki.ExternalLink():
            title = None if node.title is None else inner(node.title)
            return [ExternalLink(_text(node.url).strip(), title, not node.brackets)]
        case wiki.HTMLEntity():
            return [html.unescape(source)]
        case wiki.Argument():
            return [_text(node.default)]
    return []


def _read_tag(tag: wiki.Tag, content: list[Node], place: Place) -> list[Node]:
    if tag.wiki_markup and tag.self_closing:  # of an item of a list
        return [tag.wiki_markup]
    name = _text(tag.tag).strip().lower()
    attributes = {
        _text(each.name).strip().lower(): " ".join(_text(each.value).split())
        for each in tag.attributes
    }
    if name == "nowiki":
        return [html.unescape(str(tag.contents or "")).replace("\n", " ")]
    if name in _RAW:
        return []
    if name == "gallery":  # whose content mwparserfromhell keeps as it is written
        end = place[1] - len(f"</{tag.closing_tag}>")
        content = _parsed(str(tag.contents), end - len(str(tag.contents)))
    if tag.wiki_markup == "|" and content and str(content[0]).startswith("+"):
        name, content[0] = "caption", str(content[0])[1:]
    if name in _KEPT:
        return [Tag(name, attributes, content, place)]
    if _HIDDEN.search(attributes.get("style", "")):
        return [Tag("hidden", {}, content)]
    if name not in _NEW_LINE:
        return content
    return [_NEW_LINE[name], *content, "" if tag.self_closing else "\n"]


def _text(code: Wikicode | None) -> str:
    return _plain(_nodes(code))


def _clean(text: str) -> str:
    """Return a text without marks."""
    text = _QUOTES.sub(_without_quotes, _STRAY.sub(_line_break, text))
    return text.replace(_APOSTROPHE, "'").replace(_NOTHING, "")


def _line_break(stray: re.Match[str]) -> str:
    line = _NEW_LINE.get((stray[2] or "").lower(), "")
    return "\n" if line and stray[1] else line


def template_name(name: str) -> str:
    """Return the name of a template as it is looked up: lower case, without the namespace."""
    name = " ".join(name.replace("_", " ").split()).casefold()
    return name.removeprefix("template:").strip()


def plain_text(nodes: Sequence[Node] | None) -> str:
    """Return the text of nodes without templates and references; white space is collapsed."""
    return " ".join(_plain(nodes or ()).split())


def _plain(nodes: Sequence[Node]) -> str:
    text = ""
    for node in nodes:
        match node:
            case str():
                text += node
            case Link():
                text += node.target if node.text is None else _plain(node.text)
            case ExternalLink():
                text += node.url if node.text is None else _plain(node.text)
            case Template() | Tag() if node.name in POSITIONS:
                content = node.content if isinstance(node, Tag) else next(iter(node.unnamed), ())
                text += written(text, _plain(content), POSITIONS[node.name])
            case Template() if node.name in _TRANSPARENT:
                text += _plain([*node.parameters.values()][-1] if node.parameters else ())
    return text


# Tags and templates of raised and lowered text.
POSITIONS: dict[str, Position] = {
    **dict.fromkeys(("sup", "superscript", "esp", "sups"), "raised"),
    **dict.fromkeys(("sub", "subscript"), "lowered"),
}
# Templates around a title or a name of a reference.
_TRANSPARENT = frozenset(("lang", "nowrap", "transl", "transliteration", "'", "noitalic", "abbr"))


def _with_apostrophe(line: str) -> str:
    """Mark the apostrophe before italics, as MediaWiki finds it where quotes are not balanced.

    Where both bold and italic quotes are odd in number, the first ``'''`` after a word of one
    letter, or else after any word, is an apostrophe and the beginning of italics.
    """
    counts = [(match.start(), len(match.group())) for match in _QUOTES.finditer(line)]
    italic = sum(count in (2, 5) for _, count in counts)
    bold = [start for start, count in counts if count in (3, 4, 5)]
    if italic % 2 == 0 or len(bold) % 2 == 0:
        return line
    letters = [start for start in bold if re.search(r"(?<![^\W_])[^\W_]$", line[:start][-2:])]
    words = [start for start in bold if line[start - 1 : start].strip()]
    start = (letters or words or bold)[0]
    return f"{line[:start]}{_APOSTROPHE}{line[start + 1 :]}"


def _without_quotes(match: re.Match[str]) -> str:
    """Return what is left of apostrophes that are bold (3), italic (2) or both (5)."""
    count = len(match.group())
    return "'" * (1 if count == 4 else max(0, count - 5))
