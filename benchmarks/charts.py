"""Line charts as small SVG files, for pages that load nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

# Okabe and Ito's colours, which the colour-blind can tell apart; every line has a mark besides.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 40, 400, 240
_LEGEND = 180


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart.

    Attributes
    ----------
    ticks
        The values that are marked; the axis reaches from the least to the largest.
    log
        Whether equal steps are equal ratios.
    """

    label: str
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1."""
        low, high, at = (self._scaled(v) for v in (self.ticks[0], self.ticks[-1], value))
        return (at - low) / (high - low) if high > low else 0.5

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value


def ticks_to(largest: float, count: int = 5) -> tuple[float, ...]:
    """Return round values from 0 to at least `largest`."""
    if largest <= 0:
        return (0.0, 1.0)
    step = 10 ** math.floor(math.log10(largest / count))
    step = next(step * m for m in (1, 2, 5, 10) if step * m * count >= largest)
    return tuple(round(step * at, 10) for at in range(math.ceil(largest / step - 1e-9) + 1))


def line_chart(title: str, x: Axis, y: Axis, lines: Mapping[str, Sequence[Point]]) -> str:
    """Return an SVG picture of some lines, each named in the legend."""
    width, height = _LEFT + _WIDTH + _LEGEND, _TOP + _HEIGHT + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="14" fill="#222222">{escape(title)}</text>',
        *_grid(x, y),
    ]
    for number, (name, points) in enumerate(lines.items()):
        parts += _line(number, name, [_at(x, y, point) for point in points])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _at(x: Axis, y: Axis, point: Point) -> Point:
    across, up = x.place(point[0]), y.place(point[1])
    return round(_LEFT + across * _WIDTH, 1), round(_TOP + (1 - up) * _HEIGHT, 1)


def _grid(x: Axis, y: Axis) -> list[str]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    parts = ['<g stroke="#dddddd" fill="none">']
    parts += [f'<path d="M{_LEFT} {_at(x, y, (x.ticks[0], t))[1]} H{right}"/>' for t in y.ticks]
    parts += ["</g>", '<g fill="#444444">']
    for tick in y.ticks:
        place = _at(x, y, (x.ticks[0], tick))[1] + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{place:g}" text-anchor="end">{_shown(tick)}</text>')
    for tick in x.ticks:
        place = _at(x, y, (tick, y.ticks[0]))[0]
        parts.append(
            f'<text x="{place:g}" y="{bottom + 18}" text-anchor="middle">{_shown(tick)}</text>'
        )
    middle, side = _LEFT + _WIDTH / 2, _TOP + _HEIGHT / 2
    return [
        *parts,
        f'<text x="{middle:g}" y="{bottom + 42}" text-anchor="middle">{escape(x.label)}</text>',
        f'<text transform="translate(16 {side:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(y.label)}</text>",
        "</g>",
    ]


def _line(number: int, name: str, points: Sequence[Point]) -> list[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    mark: Callable[[Point], str] = (_disc, _square, _triangle)[number % 3]
    path = " ".join(f"{'L' if at else 'M'}{px:g} {py:g}" for at, (px, py) in enumerate(points))
    right, place = _LEFT + _WIDTH + 20, _TOP + 8 + 22 * number
    return [
        f'<g stroke="{colour}" fill="{colour}">',
        f'<path d="{path}" fill="none" stroke-width="2"/>',
        *(mark(point) for point in points),
        mark((right, place)),
        "</g>",
        f'<text x="{right + 12}" y="{place + 4}" fill="#222222">{escape(name)}</text>',
    ]


def _disc(point: Point) -> str:
    return f'<circle cx="{point[0]:g}" cy="{point[1]:g}" r="4"/>'


def _square(point: Point) -> str:
    return f'<rect x="{point[0] - 3.5:g}" y="{point[1] - 3.5:g}" width="7" height="7"/>'


def _triangle(point: Point) -> str:
    return f'<path d="M{point[0]:g} {point[1] - 5:g} l5 8 h-10 z"/>'


def _shown(value: float) -> str:
    return f"{value:,.10g}"
