"""The tables of a recorded experiment on citations, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from admiral.errors import AdmiralError

Record = dict[str, Any]


def citation_tables(record: Record) -> Iterator[str]:
    """Yield the lines of its tables: the measures of each system, and the differences."""
    names = dict.fromkeys(name for system in record["systems"] for name in system["measures"])
    columns = record["show"] or list(names)
    for column in columns:
        if column not in names:
            raise AdmiralError(
                f"{record['file']}: key 'show': {column!r} is measured for no system. There are "
                f"{', '.join(names)}"
            )
    yield f"| system | {' | '.join(columns)} | s/claim |"
    yield "|---" * (len(columns) + 2) + "|"
    for system in record["systems"]:
        cells = [_cell(system["measures"].get(column)) for column in columns]
        seconds = f"{system['seconds_per_claim']:.3f}"
        yield f"| {system['name']} | {' | '.join(cells)} | {seconds} |"
    compared = [system for system in record["systems"] if system["differences"]]
    if not compared:
        return
    yield ""
    yield f"Differences to `{record['reference']}`, with p-values of paired tests:"
    yield ""
    shown = list(dict.fromkeys(name for system in compared for name in system["differences"]))
    yield f"| system | {' | '.join(shown)} |"
    yield "|---" * (len(shown) + 1) + "|"
    for system in compared:
        values = [system["differences"].get(name) for name in shown]
        cells = ["–" if value is None else f"{value[0]:+.3f} ({value[1]:.3f})" for value in values]
        yield f"| {system['name']} | {' | '.join(cells)} |"


def _cell(values: Sequence[float | None] | None) -> str:
    if values is None or values[0] is None:
        return "–"
    value, low, high = values
    limits = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{limits}"
