"""A picture of documents that mention each other: boxes in three columns, and arrows."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup

from admiral.graph.subgraph import Neighbourhood
from admiral.io.rendering import page_template
from proofs.logic.wording import escaped_text

_COLUMNS = {"named": "named by the claim", "between": "between", "found": "found"}
_WIDTH, _HEIGHT, _GAP = 216, 30, 44  # of a box, and from one box to the next
_COLUMN, _MARGIN, _TOP = 330, 56, 30  # from column to column; room for arcs; room for headings
_CHARACTERS = 29
_ARROW = 7

_PLAIN = {"plain": lambda text: Markup(escaped_text(text))}
_PICTURE = page_template("graph.html", {**_PLAIN, "box": (_WIDTH, _HEIGHT)})


def graph_picture(neighbourhood: Neighbourhood, gold: Collection[str] = ()) -> str:
    """Return an SVG element: boxes of documents in three columns, arrows for mentions.

    Titles are cut to fit their boxes; pointing at a box shows all of it, at an arrow the sentence.
    """
    documents = neighbourhood.documents
    used = [role for role in _COLUMNS if any(each.role == role for each in documents)]
    columns = [[at for at, each in enumerate(documents) if each.role == role] for role in used]
    rows = max(map(len, columns), default=0)
    places: dict[int, tuple[float, float]] = {}
    for number, members in enumerate(columns):
        above = (rows - len(members)) / 2  # columns are centred
        for at, member in enumerate(members):
            places[member] = _MARGIN + number * _COLUMN, _TOP + (above + at) * _GAP
    arrows = [
        (
            f"{edge.sentence.title}: {edge.sentence.text}",
            *_arrow(
                places[edge.source], places[edge.target], documents[edge.source].role == used[-1]
            ),
        )
        for edge in neighbourhood.edges
    ]
    boxes = [
        (each, _shortened(each.title), each.title in gold, *places[at])
        for at, each in enumerate(documents)
    ]
    return _PICTURE.render(
        width=2 * _MARGIN + (len(used) - 1) * _COLUMN + _WIDTH,
        height=_TOP + rows * _GAP,
        heads=[(_MARGIN + n * _COLUMN + _WIDTH / 2, _COLUMNS[role]) for n, role in enumerate(used)],
        arrows=arrows,
        boxes=boxes,
    )


def _shortened(title: str) -> str:
    return title if len(title) <= _CHARACTERS else f"{title[: _CHARACTERS - 1].rstrip()}…"


def _arrow(
    source: tuple[float, float], target: tuple[float, float], right: bool
) -> tuple[str, str]:
    """Return the path of an arrow between two boxes, and the points of its tip."""
    (x1, y1), (x2, y2) = source, target
    y1, y2 = y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    if x1 == x2:
        tip = 1 if right else -1
        x1 = x2 = x1 + (_WIDTH if right else 0)
        bend = tip * (18 + min(abs(y2 - y1) / 8, 32))
        y1, y2 = y1 + (4 if y2 > y1 else -4), y2 + (-4 if y2 > y1 else 4)
        c1, c2 = x1 + bend, x2 + bend
    else:
        tip = -1 if x2 > x1 else 1
        x1, x2 = (x1 + _WIDTH, x2) if x2 > x1 else (x1, x2 + _WIDTH)
        # Opposite arrows must not cover each other.
        y1, y2 = y1 + 4 * tip, y2 + 4 * tip
        c1, c2 = x1 - tip * 60, x2 + tip * 60
    end = x2 + tip * _ARROW
    path = f"M{x1:g} {y1:g}C{c1:g} {y1:g} {c2:g} {y2:g} {end:g} {y2:g}"
    return path, f"{x2:g},{y2:g} {end:g},{y2 - 3.5:g} {end:g},{y2 + 3.5:g}"
