"""Cut the lines of a table of wikitext into its caption, rows and cells.

Of infoboxes, the names of the parameters are known, and which of them a footnote is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from admiral.citations.extract.marked_blocks import Block, Mark, is_sentence
from admiral.citations.extract.marked_tables import fact, span_of, statement
from admiral.citations.extract.wikitext_nodes import ExternalLink, Link, Node, Tag

_SPAN = re.compile(r"\b(row|col)span\s*=\s*[\"']?\s*(\d+)", re.IGNORECASE)
Role = Literal["cell", "head", "caption"]


@dataclass(slots=True)
class WikitextCell:
    """A cell, or the caption, of a table."""

    role: Role
    nodes: list[Node] = field(default_factory=list)
    columns: int = 1  # columns, rows: how many it spans
    rows: int = 1

    def add_line(self, nodes: Sequence[Node]) -> None:
        """Append a line that follows the first one of the cell."""
        self.nodes += [" ", *nodes]


def cells_of_line(nodes: Sequence[Node], role: Role) -> Iterator[WikitextCell]:
    """Yield the cells of a line without the mark that it begins with.

    Attributes before a single ``|`` are left out; those of spans are read.
    """
    cell = WikitextCell(role)
    has_attributes = False
    for node in nodes:
        if not isinstance(node, str):
            cell.nodes.append(node)
            continue
        pieces = re.split(r"(\|\||!!)" if role == "head" else r"(\|\|)", node)
        for piece in pieces:
            if piece in ("||", "!!"):
                yield cell
                cell, has_attributes = WikitextCell(role), False
                continue
            before, bar, after = piece.partition("|")
            if bar and not has_attributes and not any(_is_content(each) for each in cell.nodes):
                cell.nodes, has_attributes = [after], True
                spans = {kind.lower(): number for kind, number in _SPAN.findall(before)}
                cell.rows, cell.columns = span_of(spans.get("row")), span_of(spans.get("col"))
            else:
                cell.nodes.append(piece)
    yield cell


def _is_content(node: Node) -> bool:
    """Return whether a node can be no part of the attributes of a cell."""
    return isinstance(node, Link | ExternalLink | Tag)


_CAPTION = re.compile(r".*(caption|legend|légende|bildtext|beschriftung|bildbeschreibung).*")
# established_date2 is named by established_title2, data3 by label3.
_VALUE = re.compile(r"(.*?)[ _-]?(date|name|info|data|value|score|blank|text)([ _]?\d*)")
_NAMES = ("title", "label", "header", "type", "name", "term")
_FOOTNOTE = re.compile(
    r"(.*?)[ _-]*(foot ?notes?|refs?|references?|sources?|notes?|citation|quellen?|beleg|nachweis"
    r"|références?|réf|fuente|fonte|fn)[ _]?(\d*)"
)
_MOST_RELATED = 4
_LONGEST_KEY = 60  # names of parameters are words


def box_blocks(contents: Mapping[str, Block], section: tuple[str, ...] = ()) -> Iterator[Block]:
    """Yield the statements of a box that carry marks: the values with their names.

    A parameter that holds nothing but marks, as ``population_footnotes``, is about the others that
    begin as it does, or else about the one before it. `contents`: what each parameter shows.
    """
    facts = {key: _named(key, contents) for key in contents}
    before: Block | None = None
    for key, content in contents.items():
        if not content.marks:
            pass
        elif _CAPTION.fullmatch(key[:_LONGEST_KEY]):
            yield Block(content.text, content.marks, section, "caption")
        elif content.text and is_sentence(content.text):
            above = (*section, _label(key, contents))
            yield Block(content.text, content.marks, above, "infobox")
        elif content.text:
            yield statement([facts[key]], section=section, kind="infobox")
        else:
            yield _footnoted(key, content.marks, facts, before, section)
        if content.text:
            before = facts[key]


def _footnoted(
    key: str,
    marks: tuple[Mark, ...],
    facts: Mapping[str, Block],
    before: Block | None,
    section: tuple[str, ...],
) -> Block:
    related: list[Block] = []
    if match := _FOOTNOTE.fullmatch(key[:_LONGEST_KEY]):
        stem = match[1]
        related = [
            one
            for name, one in facts.items()
            if stem
            and one.text
            and name.startswith(stem)
            and not name.endswith((*_NAMES[:3], "code"))
        ]
    if not related and before is not None:
        related = [before]
    plain = [Block(one.text) for one in related[:_MOST_RELATED]]
    if not plain:
        return Block("", marks, section)  # of the sentence before the box
    return statement(plain, marks, section=section, kind="infobox")


def _named(key: str, contents: Mapping[str, Block]) -> Block:
    return fact(_label(key, contents), contents[key])


def _label(key: str, contents: Mapping[str, Block]) -> str:
    """Return the name of a parameter: what another one says, or its own in plain words."""
    if len(key) > _LONGEST_KEY:
        return ""
    if key.isdigit():  # pairs, as of years and numbers
        pair = contents.get(str(int(key) - 1)) if int(key) % 2 == 0 else None
        return pair.text if pair is not None else ""
    options = [f"{key}_{name}" for name in _NAMES] + [f"{key} {name}" for name in _NAMES]
    if match := _VALUE.fullmatch(key):
        stem, value, number = match.groups()
        names = [name for name in _NAMES if name != value]
        options += [f"{stem}{mark}{name}{number}" for name in names for mark in ("_", " ", "")]
        options.append(f"{stem}{number}")  # rev1score of rev1
    for option in options:
        if (found := contents.get(option)) is not None and found.text and not found.marks:
            return found.text
    words = re.sub(r"[_\s]+|(?<=[^\W\d])(?=\d+$)", " ", key).strip()
    return words[:1].upper() + words[1:]
