"""How verifiers do on the bundled demo of citations, beside its gold file.

Run as ``python -m benchmarks.citation_demo mixed=VERDICTS coverage=VERDICTS``, with verdicts on all
citations of the demo that ``admiral verify-citation`` has written with different verifiers (see
docs/citations-extraction.md). The table has the number of citations whose status is that of the
gold file, the AUROC of supported over not supported citations with its 95% interval, overall and by
fault, and how many statements with a single source are flagged. The demo is too small to choose a
verifier by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from admiral.citations.verdict_file import read_verdicts
from admiral.errors import AdmiralError
from admiral.evaluation.citation_measures import auroc, auroc_interval

GOLD = Path(__file__).parents[1] / "admiral" / "data" / "citations" / "gold.jsonl"
FAULTS = ("value", "name", "date", "absent", "topic")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="NAME=VERDICTS...")
def main(runs: tuple[str, ...]) -> None:
    """Print the table of the runs."""
    gold: dict[str, list[dict[str, Any]]] = {}
    for line in GOLD.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        gold.setdefault(record["id"], []).append(record)
    click.echo(
        "| verifier | statuses | AUROC | " + " | ".join(FAULTS) + " | flagged wrongly | rightly |"
    )
    click.echo("|" + "---|" * (len(FAULTS) + 5))
    for run in runs:
        name, _, path = run.partition("=")
        click.echo("| " + " | ".join([name, *row(gold, read_verdicts(Path(path)), path)]) + " |")


def row(
    gold: Mapping[str, list[dict[str, Any]]], verdicts: Mapping[str, dict[str, Any]], path: str
) -> list[str]:
    """Return the cells of a run."""
    statuses = 0
    scores: dict[str, list[float]] = {"supported": []}
    flags: dict[bool, list[bool]] = {True: [], False: []}
    for id, citations in gold.items():
        if id not in verdicts:
            raise AdmiralError(f"{path}: has no verdict on {id}. Verify all pages of the demo")
        for citation, source in zip(citations, verdicts[id]["existing"], strict=True):
            statuses += source["status"] == citation["status"]
            if citation["supported"] is not None and source["score"] is not None:
                scores.setdefault(citation.get("fault", "supported"), []).append(source["score"])
        if len(citations) == 1 and citations[0]["supported"] is not None:
            flags[citations[0]["supported"]].append(verdicts[id]["flagged"])
    good = scores.pop("supported")
    bad = [score for each in scores.values() for score in each]
    labels = [True] * len(good) + [False] * len(bad)
    interval = auroc_interval([*good, *bad], labels)
    by_fault = [
        f"{auroc([*good, *scores[fault]], [True] * len(good) + [False] * len(scores[fault])):.3f}"
        for fault in FAULTS
    ]
    return [
        f"{statuses} of {sum(map(len, gold.values()))}",
        f"{auroc([*good, *bad], labels):.3f} ({interval.low:.3f}–{interval.high:.3f})",
        *by_fault,
        *(f"{sum(flags[each])} of {len(flags[each])}" for each in (True, False)),
    ]


if __name__ == "__main__":
    main()
