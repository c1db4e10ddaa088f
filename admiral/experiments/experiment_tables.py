"""The tables of a recorded experiment: measures, differences, and what the paper published.

The lines are Markdown; `aligned` pads their columns for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from admiral.errors import AdmiralError

Record = dict[str, Any]


def _mb(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.1f}"


def _figure(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def _processor_seconds(run: Record) -> float | None:
    """Return the processor time per claim; None for runs that did not measure it."""
    seconds = run.get("processor_seconds")
    return seconds / run["answered"] if seconds else None


# Columns that are not measures: what they show of a system.
_COLUMNS: dict[str, Callable[[Record], str]] = {
    "s/claim": lambda s: _figure(s["seconds_per_claim"], ".2f"),
    "processor s/claim": lambda s: _figure(_processor_seconds(s["run"]), ".2f"),
    "memory MB": lambda s: _mb(s["run"]["peak_memory"]),
    "documents": lambda s: f"{s['kb']['documents']:,}",
    "BM25 MB": lambda s: _mb(s["kb"]["bytes"]["bm25"]),
    "trie MB": lambda s: _mb(s["kb"]["bytes"]["tries"]),
    "texts MB": lambda s: _mb(s["kb"]["bytes"]["documents"]),
    "disk MB": lambda s: _mb(s["kb"]["bytes"]["total"]),
    "index seconds": lambda s: _figure(s["kb"]["build"].get("seconds"), ".1f"),
    "index memory MB": lambda s: _mb(s["kb"]["build"].get("peak_memory")),
    "hops": lambda s: _figure(s.get("stopping", {}).get("hops"), ".2f"),
    "insufficient precision": lambda s: _figure(s.get("stopping", {}).get("precision")),
    "insufficient recall": lambda s: _figure(s.get("stopping", {}).get("recall")),
}


# Measures that are shown if the description of the experiment names no columns.
_MEASURES_SHOWN = 5


def aligned(lines: Iterable[str]) -> str:
    """Return tables of Markdown with columns of equal width; other lines stay as they are."""
    text, table = [], []
    for line in [*lines, ""]:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            fill = "-" if set(row) == {"---"} else " "
            cells = [
                cell.replace("---", "").ljust(width, fill)
                for cell, width in zip(row, widths, strict=True)
            ]
            text.append(f"| {' | '.join(cells)} |")
        table = []
        text.append(line)
    return "\n".join(text)


def measured(record: Record) -> Iterator[str]:
    """Yield the lines of its table: each system, by groups of claims.

    Raises AdmiralError if a column is to be shown that is measured for no system.
    """
    columns = _columns(record)
    known = {*_COLUMNS, *(one["name"] for s in record["systems"] for one in s["measures"])}
    for column in columns:
        if column not in known:
            raise AdmiralError(
                f"{record['file']}: key 'show': {column!r} is measured for no system. There are "
                f"{', '.join(sorted(known))}"
            )
    yield f"| system | claims | number | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 3) + "|"
    for system in record["systems"]:
        for first, group in _groups(record, system):
            cells = [_cell(system, column, group["name"], first) for column in columns]
            yield (
                f"| {system['name']} | {group['name']} | {group['claims']} | {' | '.join(cells)} |"
            )


def _columns(record: Record) -> list[str]:
    if record["show"]:
        return list(record["show"])
    names = dict.fromkeys(m["name"] for s in record["systems"] for m in s["measures"])
    return [*list(names)[:_MEASURES_SHOWN], "s/claim"]


def _groups(record: Record, system: Record) -> Iterator[tuple[bool, Record]]:
    """Yield the groups that are shown, and whether each is the system's first."""
    chosen = [g for g in system["groups"] if g["name"] in record["groups"]] or system["groups"]
    for at, group in enumerate(chosen):
        yield at == 0, group


def _cell(system: Record, column: str, group: str, first: bool) -> str:
    if column in _COLUMNS:
        return _COLUMNS[column](system) if first else ""
    for measure in system["measures"]:
        if measure["name"] == column:  # the first of the name
            one = next(value for value in measure["groups"] if value["group"] == group)
            if one["value"] is None:
                return "–"
            return f"{one['value']:.3f} [{one['low']:.2f}, {one['high']:.2f}]"
    return "–"


def differences(record: Record) -> Iterator[str]:
    """Yield the lines of the differences to the reference, for the measures of the table."""
    compared = [s for s in record["systems"] if s.get("differences")]
    measured = {d["name"] for system in compared for d in system["differences"]}
    columns = [column for column in _columns(record) if column in measured]
    yield f"Differences to `{record['reference']}`, with 95% intervals by paired bootstrap:"
    yield ""
    yield f"| system | claims | number | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 3) + "|"
    for system in compared:
        for _, group in _groups(record, system):
            of_group = [d for d in system["differences"] if d["group"] == group["name"]]
            cells = [_difference(of_group, column) for column in columns]
            yield (
                f"| {system['name']} | {group['name']} | {group['claims']} | {' | '.join(cells)} |"
            )


def _difference(differences: list[Record], column: str) -> str:
    one = next((d for d in differences if d["name"] == column), None)  # the first of the name
    if one is None or one["difference"] is None:
        return "–"
    return f"{one['difference']:+.3f} [{one['low']:+.2f}, {one['high']:+.2f}]"


def published(paper: Record) -> Iterator[str]:
    """Yield the lines of the paper's table."""
    yield f"The paper's figures (table {paper['table']}):".replace("table section", "section")
    yield ""
    yield f"| system | {' | '.join(paper['columns'])} |"
    yield "|---" * (len(paper["columns"]) + 1) + "|"
    for name, row in paper["rows"].items():
        yield f"| {name} | {' | '.join('–' if v is None else f'{v:,}' for v in row)} |"
    yield ""
    yield paper["note"]


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
        cells = [_value_cell(system["measures"].get(column)) for column in columns]
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


def _value_cell(values: Sequence[float | None] | None) -> str:
    if values is None or values[0] is None:
        return "–"
    value, low, high = values
    limits = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{limits}"
