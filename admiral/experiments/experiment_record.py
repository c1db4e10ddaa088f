"""The record of an experiment: the measures of each system, and what they were measured on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation import normalise_title, parse_result, read_predictions, read_results
from admiral.evaluation.measures import confidence_intervals
from admiral.evaluation.tasks import Evaluation, compare_evaluations, evaluate, measure_records
from admiral.experiments.description import CITATIONS, CitationExperiment, Experiment, System
from admiral.gold import GoldClaim
from admiral.kb import info, locate
from admiral.kb.store import read_combined_manifest
from admiral.records import RetrievalResult
from admiral.storage.atomic_files import explain_write_errors, write_atomically

FORMAT = 1
RECORD_NAME = "experiment.json"


def check_run_folder(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise `AdmiralError` if a run exists that is neither continued nor replaced."""
    if not (resume or overwrite) and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AdmiralError(
            f"{out}: exists already. Choose another --out, continue with --resume, or start again "
            "with --overwrite"
        )


def make_run_folder(out: Path, *, overwrite: bool) -> None:
    """Create the directory of a run, or remove its record to `overwrite` it."""
    with explain_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if overwrite:
            (out / RECORD_NAME).unlink(missing_ok=True)


def write_record(out: Path, record: dict[str, Any]) -> None:
    """Write ``experiment.json``."""
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(out / RECORD_NAME, [text.encode() + b"\n"])


def experiment_header(experiment: Experiment | CitationExperiment, claims: int) -> dict[str, Any]:
    """Return the part of the record that describes the experiment and its claims."""
    with experiment.claims.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "format": FORMAT,
        "file": experiment.file.name,
        "title": experiment.title,
        "task": CITATIONS if isinstance(experiment, CitationExperiment) else experiment.task,
        "claims": {"file": experiment.claims.name, "sha256": checksum, "used": claims},
        "overrides": list(experiment.overrides),
        "seeds": {"bootstrap": experiment.seed},
        "reference": experiment.reference,
    }


def knowledge_base_record(kb: str, builds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return digest, sizes and build measurements of a knowledge base."""
    facts = info(locate(kb))
    return {
        "name": Path(kb).name,
        "digest": read_combined_manifest(locate(kb)).digest,
        "documents": facts.counts["documents"],
        "bytes": facts.sizes,
        "bm25": facts.bm25,
        "build": builds.get(kb, {}),
    }


def results_file(out: Path, system: System) -> Path:
    """Return the path of the results of a system in the directory of a run."""
    return out / system.folder / "results.jsonl"


def evaluate_systems(
    experiment: Experiment, gold: Sequence[GoldClaim], out: Path
) -> list[dict[str, Any]]:
    """Return the measures of each system, and its differences to the experiment's reference."""
    evaluations = {
        system.name: _evaluate(experiment, system, gold, results_file(out, system))
        for system in experiment.systems
    }
    records = []
    for system in experiment.systems:
        record = _measures(experiment, evaluations[system.name])
        if not system.baseline:
            rows = read_results(results_file(out, system))
            traces = {found.id: found for found in (parse_result(row, at) for at, row in rows)}
            record["stopping"] = stopping_quality(gold, traces)
        if experiment.reference not in ("", system.name):
            reference = evaluations[experiment.reference]
            record["differences"] = _differences(experiment, reference, evaluations[system.name])
        records.append(record)
    return records


def _evaluate(
    experiment: Experiment, system: System, gold: Sequence[GoldClaim], results: Path
) -> Evaluation:
    predictions = read_predictions(results)
    if system.baseline:  # it ranks documents and selects no sentences
        predictions = {
            id: replace(prediction, sentences=None) for id, prediction in predictions.items()
        }
    return evaluate(experiment.evaluation_task, gold, predictions, experiment.ks)


def _measures(experiment: Experiment, evaluation: Evaluation) -> dict[str, Any]:
    limits = [
        confidence_intervals(evaluation.measures, group, experiment.seed)
        for group in evaluation.groups
    ]
    return {
        "notes": evaluation.notes,
        "groups": [{"name": g.name, "claims": int(g.members.sum())} for g in evaluation.groups],
        "measures": measure_records(evaluation.measures, evaluation.groups, limits),
    }


def _differences(
    experiment: Experiment, reference: Evaluation, evaluation: Evaluation
) -> list[dict[str, Any]]:
    groups = [g for g in reference.groups if g.name in experiment.groups] or reference.groups
    return compare_evaluations(reference, evaluation, groups, experiment.seed)


def mean_seconds(results: Path) -> float:
    """Return the mean seconds per claim, from its records, so that resumed runs count in full."""
    times = [
        record.get("seconds", 0.0) + sum(hop["seconds"] for hop in record["hops"])
        for _, record in read_results(results)
    ]
    return float(sum(times) / len(times))


def stopping_quality(
    gold: Iterable[GoldClaim], traces: Mapping[str, RetrievalResult]
) -> dict[str, Any]:
    """Compare the decisions of the judge at each hop with the gold documents.

    Evidence is complete if it has a sentence of every document of one of the gold sets. Claims
    without gold evidence or without a result do not count. Returns ``hops``: their mean number;
    ``stopped``: number of claims by reason for stopping; ``precision`` and ``recall`` of the
    decision "insufficient" over all hops (None if undefined); ``decisions``: for each hop, the
    number of decisions ``sufficient`` and ``insufficient``, and for how many of each the evidence
    was complete.
    """
    counts: Counter[tuple[int, bool, bool]] = Counter()
    reasons: Counter[str] = Counter()
    hops = []
    for claim in gold:
        trace = traces.get(claim.id)
        if trace is None or not claim.evidence:
            continue
        sets = [frozenset(map(normalise_title, titles)) for titles in claim.title_sets]
        for hop in trace.hops:
            kept = {sentence.title for sentence in hop.evidence}
            complete = any(titles <= kept for titles in sets)
            counts[hop.number, hop.sufficient, complete] += 1
        reasons[trace.stopped] += 1
        hops.append(len(trace.hops))
    wrong = sum(n for (_, sufficient, complete), n in counts.items() if not sufficient and complete)
    right = sum(
        n for (_, sufficient, complete), n in counts.items() if not sufficient and not complete
    )
    incomplete = sum(n for (_, _, complete), n in counts.items() if not complete)
    return {
        "hops": sum(hops) / len(hops) if hops else None,
        "stopped": dict(sorted(reasons.items())),
        "precision": right / (right + wrong) if right + wrong else None,
        "recall": right / incomplete if incomplete else None,
        "decisions": [
            {
                "hop": hop,
                "sufficient": counts[hop, True, True] + counts[hop, True, False],
                "sufficient_complete": counts[hop, True, True],
                "insufficient": counts[hop, False, True] + counts[hop, False, False],
                "insufficient_complete": counts[hop, False, True],
            }
            for hop in sorted({hop for hop, _, _ in counts})
        ],
    }


Record = dict[str, Any]


def _mb(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.1f}"


def _figure(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def _processor_seconds(run: Record) -> float | None:
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
    """Yield the lines of the paper's table, with the counterpart of each row among the systems."""
    yield f"The paper's figures (table {paper['table']}):".replace("table section", "section")
    yield ""
    yield f"| system | here | {' | '.join(paper['columns'])} |"
    yield "|---" * (len(paper["columns"]) + 2) + "|"
    ours = paper.get("ours") or {}
    for name, row in paper["rows"].items():
        cells = ["–" if value is None else f"{value:,}" for value in row]
        yield f"| {name} | {ours.get(name, '–')} | {' | '.join(cells)} |"
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
