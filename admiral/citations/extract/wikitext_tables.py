"""Cut the lines of a table of wikitext into its caption, rows and cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from admiral.citations.extract.marked_tables import span_of
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
