"""Evaluate runs by task (FEVER, HoVer, FEVEROUS-S, KILT, questions, qrels); tabulate measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    PairedDifference,
    hover_groups,
    hover_measures,
    ir_measures_scores,
    paired_comparison,
    short_ranking_notes,
    task_measures,
)
from admiral.gold import GoldClaim, detect_format, is_qrels, read_gold, read_qrels

ClaimSelector = Callable[[Sequence[GoldClaim]], tuple[list[GoldClaim], list[str]]]


@dataclass(frozen=True, slots=True)
class Task:
    """The evaluation rules of one data set."""

    name: str
    title: str
    ks: tuple[int, ...]
    formats: tuple[str, ...]
    select: ClaimSelector  # returns the claims that are evaluated, and notes about those left out
    groups: Callable[[Sequence[Pair]], list[Group]]
    measures: Callable[[PairedClaims, Sequence[int]], list[Measure]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one run."""

    task: Task
    paired: PairedClaims
    groups: list[Group]
    measures: list[Measure]
    notes: list[str]


def _select_all(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    return list(gold), []


def _qrels_measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    names = ["AP", *(f"R@{k}" for k in ks)]
    return ir_measures_scores(IR_MEASURES_SECTION, names, paired.pairs)


QRELS = "qrels"
_DEFAULT_KS = (5, 10, 20, 100)
EVALUATION_TASKS = {
    task.name: task
    for task in (
        Task(
            "fever", "FEVER", _DEFAULT_KS,
            ("fever", "pages", "pairs", "averitec", "ex-fever", "fool-me-twice", "wice"),
            _select_all, fever.groups, fever.measures,
        ),
        Task(
            "hover", "HoVer", _DEFAULT_KS, ("hover", "pages", "pairs"), _select_all,
            hover_groups, hover_measures,
        ),
        Task(
            "feverous", "FEVEROUS-S", _DEFAULT_KS, ("feverous", "pairs"), fever.select_claims,
            fever.groups, fever.feverous_measures,
        ),
        Task(
            "qa", "multi-hop questions", (2, 5, 10, 100),
            ("hipporag", "pages", "pairs", "wafer"), _select_all, fever.groups, task_measures,
        ),
        Task(
            "kilt", "KILT", _DEFAULT_KS, ("kilt",), _select_all, fever.groups, fever.kilt_measures
        ),
        Task(
            QRELS, "qrels", (10, 100, 1000), (QRELS,), _select_all, fever.groups, _qrels_measures
        ),
    )
}  # fmt: skip


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
    measure; see `admiral.evaluation.tasks.difference_records`.
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
