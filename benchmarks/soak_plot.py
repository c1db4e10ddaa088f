"""Plot the memory and the times of a soak, from its figures, as SVG.

    python -m benchmarks.soak_plot soak.json docs/soak.svg

Grey bands are faults. Times are those of retrievals that were answered in the same minute. A line
is broken where there are no figures.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.serving import percentiles

_LEFT, _WIDTH, _HEIGHT, _GAP = 60, 640, 140, 50
_COLOURS = ("#c60", "#06c")
_LONGEST = 120  # seconds without figures, after which a line is broken

Points = Sequence[tuple[float, float]]


@click.command()
@click.argument("figures", type=click.Path(path_type=Path))
@click.argument("picture", type=click.Path(path_type=Path))
def main(figures: Path, picture: Path) -> None:
    """Plot the soak of FIGURES (its --output) as PICTURE."""
    soak = json.loads(figures.read_text())
    whole = [each for each in soak["samples"] if len(each["workers_mb"]) == soak["workers"]]
    minutes = defaultdict(list)
    for at, seconds in soak["answered"]["retrieve"]:
        minutes[at // 60].append(seconds)
    times = {minute: percentiles(minutes[minute]) for minute in sorted(minutes)}
    memory = {
        "front": [(each["seconds"], each["mb"]) for each in soak["samples"]],
        "workers": [(each["seconds"], sum(each["workers_mb"])) for each in whole],
    }
    latency = {q: [(60 * m + 30, each[q]) for m, each in times.items()] for q in ("p50", "p99")}
    end = max(soak["seconds"], *(at for at, _ in soak["answered"]["retrieve"]))
    width, height = _LEFT + _WIDTH + 20, 2 * (_HEIGHT + _GAP)
    picture.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" fill="#777" '
        'font-family="sans-serif" font-size="12">\n'
        f"{_panel(_GAP // 2, 'memory (MB)', memory, end, soak)}"
        f"{_panel(_GAP + _HEIGHT + _GAP // 2, 'retrieval (s)', latency, end, soak)}</svg>\n"
    )


def _panel(
    top: int, title: str, lines: Mapping[str, Points], end: float, soak: Mapping[str, Any]
) -> str:
    highest = max(y for points in lines.values() for _, y in points)
    bottom = top + _HEIGHT
    parts = [
        f'<rect x="{_LEFT + _WIDTH * each["from"] / end:.0f}" y="{top}" height="{_HEIGHT}" '
        f'width="{_WIDTH * (each["until"] - each["from"]) / end:.0f}" opacity=".2">'
        f"<title>{each['name']}</title></rect>"
        for each in soak["faults"]
    ]
    for number, (name, points) in enumerate(lines.items()):
        path, before = "", -math.inf
        for x, y in points:
            place = f"{_LEFT + _WIDTH * x / end:.0f} {bottom - _HEIGHT * y / highest:.0f}"
            path += f"L{place}" if x - before <= _LONGEST else f"M{place}h0"  # at least a dot
            before = x
        colour, x = _COLOURS[number], _LEFT + 140 + 80 * number
        parts.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            'stroke-linecap="round"/>'
        )
        parts.append(f'<text x="{x}" y="{top - 6}" fill="{colour}">{name}</text>')
    parts.append(f'<path d="M{_LEFT} {top}V{bottom}H{_LEFT + _WIDTH}" fill="none" stroke="#777"/>')
    parts.append(f'<text x="{_LEFT}" y="{top - 6}">{title}</text>')
    for y, text in ((top + 12, f"{highest:.0f}"), (bottom, "0")):
        parts.append(f'<text x="{_LEFT - 6}" y="{y}" text-anchor="end">{text}</text>')
    label = f'<text x="{_LEFT + _WIDTH}" y="{bottom + 16}" text-anchor="end">'
    parts.append(f"{label}{end / 60:.0f} minutes</text>")
    return "".join(f"{part}\n" for part in parts)


if __name__ == "__main__":
    main()
