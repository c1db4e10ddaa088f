"""Figures as text for people and as records for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from admiral.evaluation.bootstrap import Difference
from admiral.evaluation.measures import Group, Measure

Interval = tuple[float, float]
_NAME = 20


def figures(
    measures: Sequence[Measure],
    groups: Sequence[Group],
    intervals: Sequence[Sequence[Interval]] | None = None,
) -> list[dict[str, Any]]:
    """Return one record for each measure, with its value for each group.

    Parameters
    ----------
    intervals
        For each group, the interval of each measure.
    """
    found = []
    for at, measure in enumerate(measures):
        values = []
        for number, group in enumerate(groups):
            one: dict[str, Any] = {
                "group": group.name,
                "claims": measure.count(group.members),
                "value": _number(measure.value(group.members)),
            }
            if intervals is not None:
                one["low"], one["high"] = map(_number, intervals[number][at])
            values.append(one)
        found.append({"section": measure.section, "name": measure.name, "groups": values})
    return found


def text_table(records: Sequence[dict[str, Any]], groups: Sequence[Group]) -> str:
    """Return the records of `figures` as lines: a row for each measure, a column for each group."""
    widths = [max(len(group.name), 10) + 2 for group in groups]
    lines = [_row("", [group.name for group in groups], widths)]
    lines.append(_row("claims", [str(int(np.sum(group.members))) for group in groups], widths))
    for section, rows in groupby(records, key=lambda record: record["section"]):
        lines += ["", section]
        for record in rows:
            cells = record["groups"]
            lines.append(_row("  " + record["name"], [_shown(c["value"]) for c in cells], widths))
            if "low" in cells[0]:
                ranges = [f"{_shown(c['low'])}-{_shown(c['high'])}" for c in cells]
                lines.append(_row("", ranges, [max(width, 13) for width in widths]))
    return "\n".join(lines) + "\n"


def differences(
    measures: Sequence[Measure], found: Sequence[Difference], group: Group
) -> list[dict[str, Any]]:
    """Return one record for each measure of two runs."""
    return [
        {
            "section": measure.section,
            "name": measure.name,
            "group": group.name,
            "claims": one.claims,
            "first": _number(one.first),
            "second": _number(one.second),
            "difference": _number(one.second - one.first),
            "low": _number(one.low),
            "high": _number(one.high),
            "p": _number(one.p),
        }
        for measure, one in zip(measures, found, strict=True)
    ]


def text_differences(records: Sequence[dict[str, Any]]) -> str:
    """Return the records of `differences` as lines."""
    widths = [9, 9, 12, 18, 9]
    head = _row("", ["first", "second", "difference", "95% interval", "p"], widths)
    return "\n".join(_difference_lines(records, head, widths)) + "\n"


def _difference_lines(
    records: Sequence[dict[str, Any]], head: str, widths: Sequence[int]
) -> Iterator[str]:
    for group, members in groupby(records, key=lambda record: record["group"]):
        yield f"{group}{head[len(group) :]}"
        for section, rows in groupby(members, key=lambda record: record["section"]):
            yield section
            for one in rows:
                cells = [
                    _shown(one["first"]),
                    _shown(one["second"]),
                    _shown(one["difference"], "+.3f"),
                    f"{_shown(one['low'], '+.3f')} {_shown(one['high'], '+.3f')}",
                    _shown(one["p"], ".4f"),
                ]
                yield _row("  " + one["name"], cells, widths)
        yield ""


def _row(name: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"{name:<{_NAME}}{shown}".rstrip()


def _shown(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
