"""Templates, tags and links of a line of wikitext, from the tokens of mwparserfromhell.

The tokens are used instead of mwparserfromhell's own nodes, which take four times as long to build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mwparserfromhell.parser as wikitext_parser
from mwparserfromhell.parser import tokens
from mwparserfromhell.parser.tokenizer import Tokenizer

from admiral.citations.extract.wikitext_lines import PLACE, SEPARATOR
from admiral.kb.corpus.files.extraction import Position, written

#: Offsets in the text of a page at which something begins and ends.
Place: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Template:
    """A template with its parameters; unnamed ones are numbered from 1.

    `written` is its name with upper and lower case.
    """

    name: str
    parameters: dict[str, list[Node]] = field(default_factory=dict)
    written: str = ""
    place: Place | None = None

    @property
    def unnamed(self) -> list[list[Node]]:
        """The unnamed parameters in order."""
        keys = sorted((key for key in self.parameters if key.isdigit()), key=int)
        return [self.parameters[key] for key in keys]


@dataclass(slots=True)
class Tag:
    """A tag with its attributes and its content."""

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
# The one in C, where it was built.
_TOKENIZER: type[Any] = getattr(wikitext_parser, "CTokenizer", None) or Tokenizer
_QUOTES = re.compile("'{2,}")


def parse_line(line: str) -> list[Node]:
    """Return the nodes of a line of `wikitext_lines`."""
    return _Parser(_TOKENIZER().tokenize(_with_apostrophe(line), 0, True)).nodes()


def template_name(name: str) -> str:
    """Return the name of a template as it is looked up: lower case, without the namespace."""
    name = " ".join(name.replace("_", " ").split()).casefold()
    return name.removeprefix("template:").strip()


def plain_text(nodes: Sequence[Node] | None) -> str:
    """Return the text of nodes without templates and references; white space is collapsed."""
    return " ".join(_plain(nodes or ()).split())


def _plain(nodes: Sequence[Node]) -> str:
    pieces = []
    for node in nodes:
        if isinstance(node, str):
            pieces.append(node)
        elif isinstance(node, Link):
            pieces.append(node.target if node.text is None else _plain(node.text))
        elif isinstance(node, ExternalLink):
            pieces.append(node.url if node.text is None else _plain(node.text))
        elif isinstance(node, Tag) and node.name in POSITIONS:
            pieces.append(written("".join(pieces), _plain(node.content), POSITIONS[node.name]))
        elif isinstance(node, Template) and node.name in POSITIONS:
            raised = _plain(next(iter(node.unnamed), ()))
            pieces.append(written("".join(pieces), raised, POSITIONS[node.name]))
        elif isinstance(node, Template) and node.name in _TRANSPARENT:
            texts = list(node.parameters.values())
            pieces.append(_plain(texts[-1]) if texts else "")
    return "".join(pieces)


# Tags and templates of raised and lowered text.
POSITIONS: dict[str, Position] = {
    **dict.fromkeys(("sup", "superscript", "esp", "sups"), "raised"),
    **dict.fromkeys(("sub", "subscript"), "lowered"),
}
# Templates around a title or a name of a reference.
_TRANSPARENT = frozenset(("lang", "nowrap", "transl", "transliteration", "'", "noitalic", "abbr"))


class _Parser:
    """Reads tokens from left to right; the lines are well-formed, so depth is bounded."""

    def __init__(self, stream: Sequence[Any]) -> None:
        self._stream = stream
        self._at = 0

    def nodes(self, *ends: Any) -> list[Node]:
        """Return the nodes up to a token of one of some types, which is not consumed."""
        nodes: list[Node] = []
        texts: list[str] = []

        def flush() -> None:
            if texts:
                text = _QUOTES.sub(_without_quotes, "".join(texts))
                nodes.append(text.replace(SEPARATOR, ""))
                texts.clear()

        while self._at < len(self._stream):
            token = self._stream[self._at]
            if isinstance(token, ends):
                break
            self._at += 1
            if type(token) is tokens.Text:
                texts.append(token.text)
            elif type(token) is tokens.HTMLEntityStart:
                texts.append(self._entity())
            elif type(token) in _READERS:
                flush()
                nodes.append(_READERS[type(token)](self, token))
            # All others are parts of headings and styles, which are lines of their own or text.
        flush()
        return nodes

    def _entity(self) -> str:
        written = "&"
        while self._at < len(self._stream):
            token = self._stream[self._at]
            self._at += 1
            if type(token) is tokens.HTMLEntityEnd:
                break
            if type(token) is tokens.HTMLEntityNumeric:
                written += "#"
            elif type(token) is tokens.HTMLEntityHex:
                written += token.char
            else:
                written += token.text
        return html.unescape(written + ";")

    def _text(self, *ends: Any) -> str:
        return _plain(self.nodes(*ends))

    def _template(self, _: Any) -> Node:
        name = self._text(tokens.TemplateParamSeparator, tokens.TemplateClose)
        written = " ".join(name.split())
        template = Template(template_name(name), written=written)
        if ":" in template.name and template.name.startswith("#tag"):
            # {{#tag:ref|...}}: the name of the tag is what follows the colon.
            template.name = template.name.replace(" ", "")
        count = 0
        while self._next() is tokens.TemplateParamSeparator:
            self._at += 1
            ends = (tokens.TemplateParamSeparator, tokens.TemplateClose)
            value = self.nodes(tokens.TemplateParamEquals, *ends)
            if self._next() is tokens.TemplateParamEquals:
                self._at += 1
                key = plain_text(value).lower()
                value = self.nodes(*ends)
            else:
                count += 1
                key = str(count)
            if key == PLACE:  # the last parameter, after those that are written
                template.place = _place(plain_text(value))
            else:
                template.parameters[key] = value
        self._at += 1
        return template

    def _argument(self, _: Any) -> Node:
        self.nodes(tokens.ArgumentSeparator, tokens.ArgumentClose)
        default = ""
        if self._next() is tokens.ArgumentSeparator:
            self._at += 1
            default = self._text(tokens.ArgumentClose)
        self._at += 1
        return default

    def _link(self, _: Any) -> Node:
        target = self._text(tokens.WikilinkSeparator, tokens.WikilinkClose)
        text = None
        if self._next() is tokens.WikilinkSeparator:
            self._at += 1
            text = self.nodes(tokens.WikilinkClose)
        self._at += 1
        return Link(" ".join(target.split()), text)

    def _external(self, token: Any) -> Node:
        ends = (tokens.ExternalLinkSeparator, tokens.ExternalLinkClose)
        url = self._text(*ends).strip()
        text = None
        if self._next() is tokens.ExternalLinkSeparator:
            self._at += 1
            text = self.nodes(tokens.ExternalLinkClose)
        self._at += 1
        return ExternalLink(url, text, not getattr(token, "brackets", False))

    def _tag(self, _: Any) -> Node:
        ends = (tokens.TagAttrStart, tokens.TagCloseOpen, tokens.TagCloseSelfclose)
        name = self._text(*ends).strip().lower()
        attributes: dict[str, str] = {}
        while self._next() is tokens.TagAttrStart:
            self._at += 1
            key = self._text(tokens.TagAttrEquals, *ends).strip().lower()
            value = ""
            if self._next() is tokens.TagAttrEquals:
                self._at += 1
                value = self._text(*ends)
            if key != PLACE or PLACE not in attributes:  # the first is not of the page
                attributes[key] = " ".join(value.split())
        place = _place(attributes.pop(PLACE, ""))
        closes_itself = self._next() is tokens.TagCloseSelfclose
        self._at += 1
        if closes_itself:
            return Tag(name, attributes, [], place)
        content = self.nodes(tokens.TagOpenClose)
        self._at += 1
        self._text(tokens.TagCloseClose)
        self._at += 1
        return Tag(name, attributes, content, place)

    def _next(self) -> type | None:
        return type(self._stream[self._at]) if self._at < len(self._stream) else None


_READERS = {
    tokens.TemplateOpen: _Parser._template,
    tokens.ArgumentOpen: _Parser._argument,
    tokens.WikilinkOpen: _Parser._link,
    tokens.ExternalLinkOpen: _Parser._external,
    tokens.TagOpenOpen: _Parser._tag,
}


def _place(text: str) -> Place | None:
    start, _, end = text.partition("-")
    return (int(start), int(end)) if start.isdecimal() and end.isdecimal() else None


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
    return f"{line[:start]}'{SEPARATOR}{line[start + 1 :]}"


def _without_quotes(match: re.Match[str]) -> str:
    """Return what is left of apostrophes that are bold (3), italic (2) or both (5)."""
    count = len(match.group())
    return "'" * (1 if count == 4 else max(0, count - 5))
