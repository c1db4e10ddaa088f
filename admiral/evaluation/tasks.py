"""Evaluate runs by task (FEVER, HoVer, FEVEROUS-S, KILT, questions, qrels); tabulate measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from admiral.errors import AdmiralError
from admiral.evaluation import (
    Pair,
    PairedClaims,
    Prediction,
    count_noun,
    fever,
    pair_claims,
    read_predictions,
)
from admiral.evaluation.measures import (
    IR_MEASURES_SECTION,
    Group,
    Measure,
    hover_groups,
    hover_measures,
    ir_measures_scores,
    paired_comparison,
    short_ranking_notes,
    task_measures,
)
from admiral.gold import GoldClaim, detect_format, is_qrels, read_gold, read_qrels

QRELS = "qrels"


def _qrels_measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    names = ["AP", *(f"R@{k}" for k in ks)]
    return ir_measures_scores(IR_MEASURES_SECTION, names, paired.pairs)


def _select_all(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    return list(gold), []


@dataclass(frozen=True, slots=True)
class Task:
    """The evaluation rules of one data set."""

    name: str
    title: str
    formats: tuple[str, ...]
    measures: Callable[[PairedClaims, Sequence[int]], list[Measure]]
    ks: tuple[int, ...] = (5, 10, 20, 100)
    # returns the claims that are evaluated, and notes about those left out
    select: Callable[[Sequence[GoldClaim]], tuple[list[GoldClaim], list[str]]] = _select_all
    groups: Callable[[Sequence[Pair]], list[Group]] = fever.groups


_OF_FEVER = ("fever", "pages", "pairs", "averitec", "ex-fever", "fool-me-twice", "wice")
_OF_QUESTIONS = ("hipporag", "pages", "pairs", "wafer")
EVALUATION_TASKS = {
    task.name: task
    for task in (
        Task("fever", "FEVER", _OF_FEVER, fever.measures),
        Task("hover", "HoVer", ("hover", "pages", "pairs"), hover_measures, groups=hover_groups),
        Task(
            "feverous", "FEVEROUS-S", ("feverous", "pairs"), fever.feverous_measures,
            select=fever.select_claims,
        ),
        Task("qa", "multi-hop questions", _OF_QUESTIONS, task_measures, ks=(2, 5, 10, 100)),
        Task("kilt", "KILT", ("kilt",), fever.kilt_measures),
        Task(QRELS, "qrels", (QRELS,), _qrels_measures, ks=(10, 100, 1000)),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one run."""

    task: Task
    paired: PairedClaims
    groups: list[Group]
    measures: list[Measure]
    notes: list[str]


def infer_task(path: Path) -> Task:
    """Return the first task that a gold file's format belongs to."""
    return _task_of_format(_gold_format(path))


def _gold_format(path: Path) -> str | None:
    return QRELS if is_qrels(path) else detect_format(path)


def _task_of_format(name: str | None) -> Task:
    return next(t for t in EVALUATION_TASKS.values() if name is None or name in t.formats)


def read_task_claims(task: Task, path: Path) -> list[GoldClaim]:
    """Return the gold claims of a file."""
    name = _gold_format(path)
    if name is not None and name not in task.formats:
        other = _task_of_format(name).name
        raise AdmiralError(
            f"{path}: has the format {name}, to which the rules of {task.title} do not apply. "
            f"Evaluate it as {other}"
        )
    if name == QRELS:
        return read_qrels(path)
    gold = list(read_gold(path, name))
    if not any(claim.evidence or claim.label for claim in gold):
        raise AdmiralError(f"{path}: no claim has gold evidence or a label. Give a gold file")
    return gold


def read_task_predictions(task: Task, path: Path) -> dict[str, Prediction]:
    """Return the predictions of a run as a task compares them; for qrels, of ids."""
    return read_predictions(path, by_id=task.name == QRELS)


def evaluate(
    task: Task,
    gold: Sequence[GoldClaim],
    predictions: Mapping[str, Prediction],
    ks: Sequence[int] = (),
) -> Evaluation:
    """Evaluate a run by the rules of a task."""
    ks = tuple(ks) or task.ks
    all_claims = pair_claims(gold, predictions)
    selected, notes = task.select(gold)
    selected_ids = {claim.id for claim in selected}
    pairs = tuple(pair for pair in all_claims.pairs if pair.gold.id in selected_ids)
    if not pairs:
        raise AdmiralError(f"no claim is left to evaluate. {' '.join(notes)}")
    paired = PairedClaims(pairs, all_claims.unknown_ids)
    notes = [
        *notes,
        *paired.notes(),
        *_gold_notes(pairs),
        *_run_notes(paired),
        *short_ranking_notes(pairs, ks),
    ]
    measures = [
        *task.measures(paired, ks),
        *ir_measures_scores(IR_MEASURES_SECTION, ["RR", "nDCG@10"], pairs),
    ]
    return Evaluation(task, paired, task.groups(pairs), measures, notes)


def _gold_notes(pairs: Sequence[Pair]) -> list[str]:
    notes = []
    if any(pair.gold.grades for pair in pairs):
        irrelevant = sum(max(grade for _, grade in pair.gold.grades) < 1 for pair in pairs)
        if irrelevant:
            queries = "1 query" if irrelevant == 1 else f"{irrelevant} queries"
            notes.append(f"{queries} without a relevant document, counted as 0")
        return notes
    without_evidence = sum(not pair.gold.evidence for pair in pairs)
    if without_evidence:
        claims = count_noun(without_evidence, "claim")
        notes.append(f"{claims} without gold evidence, of which documents do not count")
    if any(p.gold.evidence for p in pairs) and not any(p.gold.sentences for p in pairs):
        notes.append("the gold file names documents and no sentences")
    return notes


def _run_notes(paired: PairedClaims) -> list[str]:
    if any(pair.gold.grades for pair in paired.pairs):
        return []
    if not paired.has_sentences:
        return ["the run ranks documents and names no sentences"]
    if not any(pair.gold.label for pair in paired.pairs):
        return []
    if not paired.has_verdicts:
        return ["no answer has a proof, so no labels are measured"]
    predictions = [pair.prediction for pair in paired.pairs if pair.prediction is not None]
    without_verdict = sum(prediction.verdict is None for prediction in predictions)
    if not without_verdict:
        return []
    answers = count_noun(without_verdict, "answer")
    return [f"{answers} without a proof and so without a label, counted as wrong"]


_NAME_WIDTH = 20


def measure_records(
    measures: Sequence[Measure], groups: Sequence[Group], seed: int | None = None
) -> list[dict[str, Any]]:
    """Return one record for each measure, with its value for each group of claims.

    `seed`: of the intervals; None for none.
    """
    return [
        {
            "section": measure.section,
            "name": measure.name,
            "groups": [_cell(measure, group, seed) for group in groups],
        }
        for measure in measures
    ]


def _cell(measure: Measure, group: Group, seed: int | None) -> dict[str, Any]:
    cell = {
        "group": group.name,
        "claims": measure.count(group.members),
        "value": _rounded(measure.value(group.members)),
    }
    if seed is not None:
        cell["low"], cell["high"] = map(_rounded, measure.interval(group.members, seed))
    return cell


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


def format_differences(records: Sequence[dict[str, Any]]) -> str:
    """Format records of `difference_records` as a text table."""
    widths = [9, 9, 12, 18, 9]
    header = _row("", ["first", "second", "difference", "95% interval", "p"], widths)
    lines: list[str] = []
    for group, members in groupby(records, key=lambda record: record["group"]):
        lines.append(f"{group}{header[len(group) :]}")
        for section, rows in groupby(members, key=lambda record: record["section"]):
            lines.append(section)
            for record in rows:
                low, high = (_format_value(record[end], "+.3f") for end in ("low", "high"))
                cells = [
                    _format_value(record["first"]),
                    _format_value(record["second"]),
                    _format_value(record["difference"], "+.3f"),
                    f"{low} {high}",
                    _format_value(record["p"], ".4f"),
                ]
                lines.append(_row("  " + record["name"], cells, widths))
        lines.append("")
    return "\n".join(lines) + "\n"


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
    measure.
    """
    after = {(measure.section, measure.name): measure for measure in second.measures}
    records = []
    for group in groups:
        for measure in first.measures:
            if (other := after.get((measure.section, measure.name))) is None:
                continue
            found = paired_comparison(measure, other, group.members, seed)
            values = {
                "first": found.first,
                "second": found.second,
                "difference": found.second - found.first,
                "low": found.low,
                "high": found.high,
                "p": found.p_value,
            }
            records.append(
                {
                    "section": measure.section,
                    "name": measure.name,
                    "group": group.name,
                    "claims": found.n_claims,
                    **{name: _rounded(value) for name, value in values.items()},
                }
            )
    return records
