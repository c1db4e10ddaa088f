"""Draw the neighbourhood of a claim in the graph of mentions as SVG."""

from __future__ import annotations

from collections.abc import Collection

from admiral.graph.neighbourhood import Neighbour, Neighbourhood
from proofs.logic.wording import escaped_text

#: Rules for the pictures, to be part of a page's style sheet.
STYLE = """
.graph { display: block; max-width: 100%; height: auto; margin: 0.5em 0; }
.graph rect { fill: Canvas; stroke: var(--dim); }
.graph .found rect { fill: var(--soft); stroke-width: 1.6; }
.graph .between rect { stroke-dasharray: 4 3; }
.graph .right rect { fill: var(--gold); stroke: var(--good); }
.graph text { font: 13px sans-serif; fill: CanvasText; unicode-bidi: isolate; }
.graph .head { font-size: 12px; fill: var(--dim); }
.graph path { fill: none; stroke: var(--dim); opacity: 0.75; }
.graph polygon { fill: var(--dim); }
"""

_COLUMNS = {"named": "named by the claim", "between": "between", "found": "found"}
_WIDTH, _HEIGHT, _GAP = 216, 30, 44  # of a box, and from one box to the next
_COLUMN, _MARGIN, _TOP = 330, 56, 30  # from column to column; room for arcs; room for headings
_CHARACTERS = 29
_ARROW = 7


def graph_picture(neighbourhood: Neighbourhood, gold: Collection[str] = ()) -> str:
    """Return an SVG element: boxes of documents in three columns, arrows for mentions.

    Titles are cut to fit their boxes; pointing at a box shows all of it, at an arrow the sentence.
    """
    documents = neighbourhood.documents
    used = [role for role in _COLUMNS if any(each.role == role for each in documents)]
    columns = {
        role: [at for at, each in enumerate(documents) if each.role == role] for role in used
    }
    rows = max(map(len, columns.values()), default=0)
    places: dict[int, tuple[float, float]] = {}
    for number, members in enumerate(columns.values()):
        above = (rows - len(members)) / 2  # columns are centred
        for at, member in enumerate(members):
            places[member] = _MARGIN + number * _COLUMN, _TOP + (above + at) * _GAP
    width = 2 * _MARGIN + (len(used) - 1) * _COLUMN + _WIDTH
    height = _TOP + rows * _GAP
    parts = [
        f'<svg class="graph" width="{width}" viewBox="0 0 {width} {height}" role="img">'
        "<title>Documents that mention each other</title>"
    ]
    for number, role in enumerate(used):
        x = _MARGIN + number * _COLUMN + _WIDTH / 2
        parts.append(f'<text class="head" x="{x:g}" y="16" text-anchor="middle">')
        parts.append(f"{_COLUMNS[role]}</text>")
    last = len(used) - 1
    for edge in neighbourhood.edges:
        text = f"{edge.sentence.title}: {edge.sentence.text}"
        outside = documents[edge.source].role == used[last]
        path = _arrow(places[edge.source], places[edge.target], outside)
        parts.append(f"<g><title>{escaped_text(text)}</title>{path}</g>")
    for at, document in enumerate(documents):
        parts.append(_box(document, *places[at], document.title in gold))
    return "".join(parts) + "</svg>\n"


def _box(document: Neighbour, x: float, y: float, is_gold: bool) -> str:
    title = document.title
    css = f"{document.role}{' right' if is_gold else ''}"
    label = title if len(title) <= _CHARACTERS else f"{title[: _CHARACTERS - 1].rstrip()}…"
    return (
        f'<g class="{css}"><title>{escaped_text(title)}</title>'
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + _WIDTH / 2:g}" y="{y + 20:g}" text-anchor="middle">'
        f"{escaped_text(label)}</text></g>"
    )


def _arrow(source: tuple[float, float], target: tuple[float, float], right: bool) -> str:
    """Return a curve from box to box with an arrowhead; an arc beside boxes of one column."""
    (x1, y1), (x2, y2) = source, target
    y1, y2 = y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    if x1 == x2:
        side = 1 if right else -1
        x1 = x2 = x1 + (_WIDTH if right else 0)
        bend = side * (18 + min(abs(y2 - y1) / 8, 32))
        y1, y2 = y1 + (4 if y2 > y1 else -4), y2 + (-4 if y2 > y1 else 4)
        c1, c2, tip = x1 + bend, x2 + bend, side
    else:
        forwards = x2 > x1
        x1, x2 = (x1 + _WIDTH, x2) if forwards else (x1, x2 + _WIDTH)
        tip = -1 if forwards else 1
        # Opposite arrows must not cover each other.
        y1, y2 = (y1 - 4, y2 - 4) if forwards else (y1 + 4, y2 + 4)
        c1, c2 = x1 - tip * 60, x2 + tip * 60
    end = x2 + tip * _ARROW
    return (
        f'<path d="M{x1:g} {y1:g}C{c1:g} {y1:g} {c2:g} {y2:g} {end:g} {y2:g}"/>'
        f'<polygon points="{x2:g},{y2:g} {end:g},{y2 - 3.5:g} {end:g},{y2 + 3.5:g}"/>'
    )
