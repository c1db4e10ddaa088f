"""Measures and differences of runs as text tables for people and as JSON records for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from admiral.evaluation.bootstrap import PairedDifference, paired_comparison
from admiral.evaluation.measures import Group, Measure
from admiral.evaluation.tasks import Evaluation

Interval = tuple[float, float]
_NAME_WIDTH = 20


def measure_records(
    measures: Sequence[Measure],
    groups: Sequence[Group],
    intervals: Sequence[Sequence[Interval]] | None = None,
) -> list[dict[str, Any]]:
    """Return one record for each measure, with its value for each group of claims."""
    records = []
    for index, measure in enumerate(measures):
        cells = []
        for number, group in enumerate(groups):
            cell: dict[str, Any] = {
                "group": group.name,
                "claims": measure.count(group.members),
                "value": _rounded(measure.value(group.members)),
            }
            if intervals is not None:
                cell["low"], cell["high"] = map(_rounded, intervals[number][index])
            cells.append(cell)
        records.append({"section": measure.section, "name": measure.name, "groups": cells})
    return records


def format_measures(records: Sequence[dict[str, Any]], groups: Sequence[Group]) -> str:
    """Format records of `measure_records`: a row for each measure, a column for each group."""
    widths = [max(len(group.name), 10) + 2 for group in groups]
    lines = [_row("", [group.name for group in groups], widths)]
    lines.append(_row("claims", [str(int(np.sum(group.members))) for group in groups], widths))
    for section, rows in groupby(records, key=lambda record: record["section"]):
        lines += ["", section]
        for record in rows:
            cells = record["groups"]
            values = [_format_value(cell["value"]) for cell in cells]
            lines.append(_row("  " + record["name"], values, widths))
            if "low" in cells[0]:
                intervals = [
                    f"{_format_value(cell['low'])}-{_format_value(cell['high'])}" for cell in cells
                ]
                lines.append(_row("", intervals, [max(width, 13) for width in widths]))
    return "\n".join(lines) + "\n"


def difference_records(
    measures: Sequence[Measure], differences: Sequence[PairedDifference], group: Group
) -> list[dict[str, Any]]:
    """Return one record for each measure of a comparison of two runs."""
    return [
        {
            "section": measure.section,
            "name": measure.name,
            "group": group.name,
            "claims": difference.n_claims,
            "first": _rounded(difference.first),
            "second": _rounded(difference.second),
            "difference": _rounded(difference.second - difference.first),
            "low": _rounded(difference.low),
            "high": _rounded(difference.high),
            "p": _rounded(difference.p_value),
        }
        for measure, difference in zip(measures, differences, strict=True)
    ]


def format_differences(records: Sequence[dict[str, Any]]) -> str:
    """Format records of `difference_records` as a text table."""
    widths = [9, 9, 12, 18, 9]
    header = _row("", ["first", "second", "difference", "95% interval", "p"], widths)
    return "\n".join(_difference_lines(records, header, widths)) + "\n"


def _difference_lines(
    records: Sequence[dict[str, Any]], header: str, widths: Sequence[int]
) -> Iterator[str]:
    for group, members in groupby(records, key=lambda record: record["group"]):
        yield f"{group}{header[len(group) :]}"
        for section, rows in groupby(members, key=lambda record: record["section"]):
            yield section
            for record in rows:
                cells = [
                    _format_value(record["first"]),
                    _format_value(record["second"]),
                    _format_value(record["difference"], "+.3f"),
                    f"{_format_value(record['low'], '+.3f')} "
                    f"{_format_value(record['high'], '+.3f')}",
                    _format_value(record["p"], ".4f"),
                ]
                yield _row("  " + record["name"], cells, widths)
        yield ""


def _row(name: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"{name:<{_NAME_WIDTH}}{padded}".rstrip()


def _format_value(value: float | None, spec: str = ".3f") -> str:
    return "–" if value is None else format(value, spec)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def compare_evaluations(
    first: Evaluation, second: Evaluation, groups: Sequence[Group], seed: int = 0
) -> list[dict[str, Any]]:
    """Return the differences of two runs, second minus first, as JSON records.

    `first`, `second`: evaluations by the same task of the same claims. Measures that only one of
    them has, such as those of sentences, are left out. Returns one record for each group and
    measure; see `admiral.evaluation.tables.difference_records`.
    """
    shared = {(m.section, m.name) for m in first.measures} & {
        (m.section, m.name) for m in second.measures
    }
    before, after = (
        [m for m in evaluation.measures if (m.section, m.name) in shared]
        for evaluation in (first, second)
    )
    return [
        record
        for group in groups
        for record in difference_records(
            before, paired_comparison(before, after, group, seed), group
        )
    ]
