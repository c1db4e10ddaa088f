"""The plots of an experiment: recall by k and by hops, growth with documents, calibration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchmarks.charts import Axis, Point, line_chart, ticks_to

Record = dict[str, Any]
Plot = tuple[str, str, str]  # name of the file, title, SVG
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_CUT = 10  # of the recall by hops, or else the largest below


def plots(record: Record) -> Iterator[Plot]:
    """Yield the plots that make sense for an experiment.

    Growth, where systems differ by the size of the knowledge base; otherwise, without figures of
    the paper that a table is to be compared with, recall and calibration.
    """
    if len({system["kb"]["documents"] for system in record["systems"]}) > 1:
        yield from _growth(record)
    elif not record["paper"]:
        yield from _recalls(record)
    last = record["systems"][-1]
    if last.get("stopping", {}).get("decisions"):
        yield _calibration(record, last)


def _recalls(record: Record) -> Iterator[Plot]:
    cuts = sorted({cut for system in record["systems"] for cut in _cuts(system)})
    if len(cuts) > 1:
        lines = {
            system["name"]: [(float(k), _value(system, k, "all")) for k in _cuts(system)]
            for system in record["systems"]
        }
        title = "All gold documents among the first k"
        x = Axis("k", tuple(map(float, cuts)), log=True)
        chart = line_chart(title, x, Axis("share of claims", _SHARES), lines)
        yield f"{record['folder']}-recall-by-k.svg", title, chart
    cut = max((k for k in cuts if k <= _CUT), default=None)
    hops = _hop_groups(record)
    if cut is not None and len(hops) > 1:
        lines = {
            system["name"]: [(float(hop), _value(system, cut, name)) for hop, name in hops]
            for system in record["systems"]
        }
        title = f"All gold documents among the first {cut}, by hops"
        x = Axis("hops that the claim needs", tuple(float(hop) for hop, _ in hops))
        chart = line_chart(title, x, Axis("share of claims", _SHARES), lines)
        yield f"{record['folder']}-recall-by-hops.svg", title, chart


def _cuts(system: Record) -> list[int]:
    found = (re.fullmatch(r"recall@(\d+)", measure["name"]) for measure in system["measures"])
    return sorted(int(match[1]) for match in found if match)


def _value(system: Record, k: int, group: str) -> float:
    measure = next(m for m in system["measures"] if m["name"] == f"recall@{k}")
    found = next(one["value"] for one in measure["groups"] if one["group"] == group)
    return float(found or 0.0)


def _hop_groups(record: Record) -> list[tuple[int, str]]:
    names = [group["name"] for group in record["systems"][0]["groups"]]
    found = (re.fullmatch(r"(\d+) (?:hop|document)s?", name) for name in names)
    return [(int(match[1]), match[0]) for match in found if match]


def _growth(record: Record) -> Iterator[Plot]:
    """Yield time and memory against documents; systems of one name up to a comma are one line."""
    sizes = sorted({system["kb"]["documents"] for system in record["systems"]})
    x = Axis("documents", tuple(map(float, sizes)), log=True)
    for what, label, value in (
        ("time", "seconds per claim", lambda s: s["seconds_per_claim"]),
        ("memory", "peak memory, MB", lambda s: s["run"]["peak_memory"] / 1e6),
    ):
        lines: dict[str, list[Point]] = {}
        for system in record["systems"]:
            point = (float(system["kb"]["documents"]), float(value(system)))
            lines.setdefault(system["name"].partition(",")[0], []).append(point)
        top = max(y for points in lines.values() for _, y in points)
        title = f"{label[0].upper()}{label[1:]} as the documents grow"
        chart = line_chart(title, x, Axis(label, ticks_to(top)), lines)
        yield f"{record['folder']}-{what}.svg", title, chart


def _calibration(record: Record, system: Record) -> Plot:
    lines: dict[str, list[Point]] = {}
    for one in system["stopping"]["decisions"]:
        for said in ("sufficient", "insufficient"):
            if one[said]:
                point = (float(one["hop"]), one[f"{said}_complete"] / one[said])
                lines.setdefault(f"judged {said}", []).append(point)
    hops = tuple(float(one["hop"]) for one in system["stopping"]["decisions"])
    title = f"Evidence that is complete, by verdict ({system['name']})"
    chart = line_chart(title, Axis("hop", hops), Axis("share of hops", _SHARES), lines)
    return f"{record['folder']}-calibration.svg", title, chart
