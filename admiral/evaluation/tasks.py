"""The evaluation tasks (FEVER, HoVer, FEVEROUS-S, questions, qrels) and the evaluation of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.evaluation import fever, hover
from admiral.evaluation.document_measures import (
    IR_MEASURES_SECTION,
    evidence_measures,
    ir_measures_scores,
    ranking_measures,
    short_ranking_notes,
)
from admiral.evaluation.measures import Group, Measure
from admiral.evaluation.pairing import Pair, PairedClaims, count_noun, pair_claims
from admiral.evaluation.predictions import Prediction, read_predictions
from admiral.gold import GoldClaim, detect_format, read_gold
from admiral.gold.qrels import is_qrels, read_qrels

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


def _document_measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    """Return the measures of documents, for questions, which have no labels."""
    result = ranking_measures(paired.pairs, ks)
    return [*result, *evidence_measures(paired.pairs)] if paired.has_sentences else result


def _qrels_measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    """Return average precision and R@k; `evaluate` adds the measures that all tasks share."""
    names = ["AP", *(f"R@{k}" for k in ks)]
    return ir_measures_scores(IR_MEASURES_SECTION, names, paired.pairs)


QRELS = "qrels"
_DEFAULT_KS = (5, 10, 20, 100)
EVALUATION_TASKS = {
    task.name: task
    for task in (
        Task(
            "fever", "FEVER", _DEFAULT_KS,
            ("fever", "pages", "kilt", "pairs", "averitec", "ex-fever", "fool-me-twice", "wice"),
            _select_all, fever.groups, fever.measures,
        ),
        Task(
            "hover", "HoVer", _DEFAULT_KS, ("hover", "pages", "pairs"), _select_all,
            hover.groups, hover.measures,
        ),
        Task(
            "feverous", "FEVEROUS-S", _DEFAULT_KS, ("feverous", "pairs"), fever.select_claims,
            fever.groups, fever.feverous_measures,
        ),
        Task(
            "qa", "multi-hop questions", (2, 5, 10, 100),
            ("hipporag", "pages", "pairs", "kilt", "wafer"),
            _select_all, fever.groups, _document_measures,
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
    """Return the gold claims of a file.

    Raises AdmiralError if the file belongs to another data set, or no claim in it has evidence or a
    label.
    """
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
    """Return the predictions of a run as a task compares them; qrels name documents by their ids.

    Raises AdmiralError as in `admiral.evaluation.predictions.read_predictions`.
    """
    return read_predictions(path, by_id=task.name == QRELS)


def evaluate(
    task: Task,
    gold: Sequence[GoldClaim],
    predictions: Mapping[str, Prediction],
    ks: Sequence[int] = (),
) -> Evaluation:
    """Evaluate a run by the rules of a task.

    Raises AdmiralError if gold claims and predictions do not belong together, or no claim is left
    to evaluate.
    """
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
