"""Wikitext made well-formed, cut into the lines that MediaWiki sees, and parsed into nodes.

Comments and content that is not wikitext are removed. Opening and closing marks of templates, links
and tags are matched by one linear scan, and marks without a partner are removed, as are marks that
are nested too deeply. mwparserfromhell, which tries alternatives for marks without a partner, then
needs time in proportion to the length of the text, whatever the text. A line break inside a
template, a link or a reference does not end a line.

The templates, tags and links of a line come from the tokens of mwparserfromhell, not from its own
nodes, which take four times as long to build.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mwparserfromhell.parser as wikitext_parser
from mwparserfromhell.parser import tokens
from mwparserfromhell.parser.tokenizer import Tokenizer

from admiral.kb.corpus.files import Position, written
from proofs.logic.words import word_list

# Their content is neither text of the page nor wikitext.
_RAW = word_list(
    "pre source syntaxhighlight math chem ce score timeline templatedata graph mapframe "
    "maplink imagemap includeonly hiero inputbox templatestyles"
)
_KEPT = frozenset({"ref", "references", "sup", "sub"})  # read by `wikitext_page`
# In place of <nowiki/>, so that apostrophes on either side of it are not counted together.
SEPARATOR = "\ue000"
# Attribute of <ref> and parameter of templates: where they stand in the page, as ``start-end``.
PLACE = "\ue001"
_MARKS = re.compile(r"[\[\]{}<>'|=*#:&~_]")
# Read for the references that they define.
_SKIPPED_MARK, _END_SKIPPED = "<div>", "</div>"
# Stands for <gallery>, whose content mwparserfromhell keeps as it is written.
GALLERY = "center"
_TABLE = {"table": "{|", "caption": "|+", "tr": "|-", "td": "|", "th": "!"}
_HIDEABLE = frozenset({"div", "span"})
_NEW_LINE = {
    **dict.fromkeys(("p", "blockquote", "ul", "ol", "dl", "div", "center", "poem"), "\n\n"),
    **dict.fromkeys(("br", "hr"), "\n"),
    "li": "\n* ",
    "dd": "\n: ",
    "dt": "\n: ",
}
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_MAX_DEPTH = 24  # below the limit of mwparserfromhell
_MARKUP = re.compile(
    r"<!--|<(/?)([A-Za-z][A-Za-z0-9]*)((?:[\s/][^<>]*)?)>|<|\{{2,}|\}{2,}|\[\[|\]\]"
    r"|\[(?=(?:https?:|ftp:)?//)|\]|\n"
)
_BARE_URL = re.compile(r"\s*https?://[^\s<>\[\]{}|]+")
_REFERENCE = "ref"
_TABLE_START = re.compile(r"(\n[ \t:*#;]*)\{\|")
_BRACES, _LINK, _EXTERNAL = "{{", "[[", "["


@dataclass(slots=True)
class _Open:
    kind: str
    piece: int
    count: int = 1  # of braces that have no partner yet
    start: int = 0  # where it stands in the text


class _Scan:
    """One pass over a text: its pieces, and by how much each changes the depth of nesting."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.changes: list[int] = []
        self.closings: dict[int, int] = {}  # piece that opens -> piece that closes
        self.stray: set[int] = set()  # pieces of <ref> without a </ref>
        self.unclosed: set[int] = set()  # pieces of {{ without }}
        self._stack: list[_Open] = []
        self._open: Counter[str] = Counter()
        self._tables = 0  # open <table>
        self._unclosed: set[str] = set()  # raw tags whose closing tag is not in the rest
        self._run()

    def _run(self) -> None:
        text, position = self.text, 0
        while match := _MARKUP.search(text, position):
            if match.start() > position:
                self._add(text[position : match.start()])
            position = match.end()
            mark = match.group()
            if mark == "\n":
                self._end_external_links()
                self._add("\n")
            elif mark == "<!--":
                end = text.find("-->", position)
                position = len(text) if end < 0 else end + 3
            elif mark[0] == "{":
                self._push(_BRACES, len(mark), start=match.start())
            elif mark[0] == "}":
                self._close_braces(len(mark), match.start())
            elif mark == "[[":
                self._push(_LINK)
            elif mark == "[":
                self._push(_EXTERNAL)
            elif mark == "]]":
                self._close(_LINK, "]]")
            elif mark == "]":
                if not self._close(_EXTERNAL, "]"):
                    self._add("]")
            elif mark == "<":
                self._add("&lt;")
            else:
                position = self._tag(match)
        self._add(text[position:])
        for left in self._stack:
            self._drop(left)

    def _tag(self, match: re.Match[str]) -> int:
        """Handle a tag; return the position at which the scan continues."""
        name, attributes = match[2].lower(), match[3]
        closes, alone = bool(match[1]), attributes.rstrip().endswith("/")
        end = match.end()
        if name == "nowiki":
            return end if closes else self._literal(end, alone)
        if name in _RAW:
            return end if closes or alone else self._raw_end(name, end)
        if name in _KEPT:
            if alone and not closes:
                inner = attributes.rstrip()[:-1].rstrip()
                self._add(f"<{name}{_place(match.start(), end)}{inner} />")
            elif closes:
                self._close(name, f"</{name}>", end=end)
            else:
                self._push(name, text=f"<{name}{attributes}>", start=match.start())
        elif name == "gallery" and not alone:
            if closes:
                self._close(name, f"</{GALLERY}>")
            else:
                self._push(name, text=f"<{GALLERY}>")
        elif name in _TABLE and not alone:
            self._table_tag(name, attributes, closes=closes)
        elif name in _HIDEABLE and not alone:
            hidden = "hidden" if not closes and _HIDDEN.search(attributes) else ""
            if closes:
                self._close(name, "", also=f"hidden {name}")
            elif hidden:
                self._push(f"hidden {name}", text=_SKIPPED_MARK)
            else:
                self._push(name, text="", change=0)
        if name in _NEW_LINE:
            lines = _NEW_LINE[name] if not closes else "\n"
            for piece in re.split(r"(\n)", lines):
                self._add(piece)
        return end

    def _table_tag(self, name: str, attributes: str, *, closes: bool) -> None:
        """Write a tag of a table as wikitext."""
        if self._stack and not (name == "table" and closes):  # no lines within a template
            return
        if name == "table":
            if closes and not self._tables:
                return
            self._tables += -1 if closes else 1
        elif closes or not self._tables:
            return
        written = f"{_TABLE[name]}{' '.join(attributes.split())}" if not closes else "|}"
        if name in ("td", "th", "caption"):
            written += "|"
        for piece in ("\n", written, "\n" if name == "table" else ""):
            self._add(piece)

    def _literal(self, start: int, alone: bool) -> int:
        """Add the content of <nowiki>, with its marks as entities; return its end."""
        self._add(SEPARATOR)
        end = start if alone else self._raw_end("nowiki", start)
        if end > start:
            content = self.text[start : self.text.rindex("<", start, end)].replace("\n", " ")
            self._add(
                _MARKS.sub(lambda mark: f"&#{ord(mark.group())};{SEPARATOR}", content) + SEPARATOR
            )
        return end

    def _raw_end(self, name: str, start: int) -> int:
        if name in self._unclosed:
            return start
        closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.text, start)
        if closing is None:
            self._unclosed.add(name)
            return start
        return closing.end()

    def _add(self, piece: str, change: int = 0) -> None:
        if piece:
            self.pieces.append(piece)
            self.changes.append(change)

    def _push(
        self,
        kind: str,
        count: int = 1,
        *,
        text: str | None = None,
        change: int = 1,
        start: int = 0,
    ) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            return
        self._stack.append(_Open(kind, len(self.pieces), count, start))
        self._open[kind] += 1
        opened = kind if text is None else text
        self.pieces.append("" if kind == _BRACES else opened)
        self.changes.append(0 if kind == _BRACES else change)

    def _close(self, kind: str, text: str, *, also: str = "", end: int = 0) -> bool:
        """Close the nearest opening of a kind; drop what was opened since. False without one."""
        wanted = {kind, also} - {""}
        if not any(self._open[each] for each in wanted):
            return False
        while (top := self._pop()).kind not in wanted:
            self._drop(top)
        if top.kind.startswith("hidden"):
            text = _END_SKIPPED
        if kind == _REFERENCE:
            opened = f"<{_REFERENCE}"
            written = self.pieces[top.piece].removeprefix(opened)
            self.pieces[top.piece] = f"{opened}{_place(top.start, end)}{written}"
        self.closings[top.piece] = len(self.pieces)
        self.pieces.append(text)
        self.changes.append(-self.changes[top.piece])
        return True

    def _close_braces(self, count: int, start: int) -> None:
        written = ""
        piece = len(self.pieces)
        changes = 0
        while count >= 2 and self._open[_BRACES]:
            while (top := self._stack[-1]).kind != _BRACES:
                self._drop(self._pop())
            matched = min(top.count, count, 3)
            self.pieces[top.piece] += "{" * matched
            self.changes[top.piece] += 1
            self.closings[top.piece] = piece
            top.count -= matched
            count -= matched
            start += matched
            if matched == len(_BRACES):
                place = _place(top.start + top.count, start).replace('"', "")
                written += f"|{place.strip()}"
            written += "}" * matched
            changes -= 1
            if top.count < 2:
                self._pop()
        if written:
            self.pieces.append(written)
            self.changes.append(changes)

    def _end_external_links(self) -> None:
        while self._stack and self._stack[-1].kind == _EXTERNAL:
            self._drop(self._pop())

    def _pop(self) -> _Open:
        top = self._stack.pop()
        self._open[top.kind] -= 1
        return top

    def _drop(self, opened: _Open) -> None:
        if opened.kind == _BRACES:  # what has a partner was written when it was matched
            if not self.pieces[opened.piece]:
                self.unclosed.add(opened.piece)
            return
        if opened.kind == _REFERENCE:
            self.stray.add(opened.piece)
        self.pieces[opened.piece] = ""
        self.changes[opened.piece] = 0


def _place(start: int, end: int) -> str:
    return f' {PLACE}="{start}-{end}"'


def wikitext_lines(text: str) -> list[str]:
    """Return the lines of a text, well-formed and without comments.

    A reference that is not closed ends after the template or the URL that it begins with, and if
    that template is not closed either, with the line; without one, its mark is removed.
    """
    scan = _Scan(text)
    for stray in sorted(scan.stray):
        _repair(scan, stray)
    lines: list[list[str]] = [[]]
    depth = 0
    for piece, change in zip(scan.pieces, scan.changes, strict=True):
        depth += change
        if piece == "\n" and depth <= 0:
            lines.append([])
        else:
            lines[-1].append(piece)
    # Within a template, | divides parameters, not cells, in MediaWiki.
    return [_TABLE_START.sub(rf"\1{{{SEPARATOR}|", "".join(line)) for line in lines]


def _repair(scan: _Scan, piece: int) -> None:
    after = piece + 1
    while after < len(scan.pieces) and not scan.pieces[after].strip():
        if after in scan.unclosed:
            scan.pieces[piece] = "<ref>"
            scan.pieces[_line_end(scan, after) - 1] += "</ref>"
            return
        after += 1
    if after == len(scan.pieces):
        return
    if scan.pieces[after].startswith("{{") and (end := scan.closings.get(after)) is not None:
        scan.pieces[piece] = "<ref>"
        scan.pieces[end] += "</ref>"
    elif match := _BARE_URL.match(scan.pieces[after]):
        rest = scan.pieces[after][match.end() :]
        scan.pieces[after] = f"<ref>{match.group()}</ref>{rest}"


def _line_end(scan: _Scan, start: int) -> int:
    depth = 0
    for piece in range(start + 1, len(scan.pieces)):
        if depth == 0 and (
            scan.pieces[piece] == "\n"
            or scan.pieces[piece].startswith("<ref")
            or piece in scan.stray
        ):
            return piece
        depth += scan.changes[piece]
    return len(scan.pieces)


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
                template.place = _read_place(plain_text(value))
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
        place = _read_place(attributes.pop(PLACE, ""))
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


def _read_place(text: str) -> Place | None:
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
