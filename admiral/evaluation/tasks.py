"""The data sets whose rules are known, and a run evaluated by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.evaluation import fever, feverous, hover
from admiral.evaluation.document_measures import short_rankings
from admiral.evaluation.ir_measures_scores import MISSING, standard_measures
from admiral.evaluation.measures import Group, Measure
from admiral.evaluation.pairing import Pair, Pairs, counted, pair_up
from admiral.evaluation.predictions import Prediction
from admiral.gold import GoldClaim, format_of, read_gold

Select = Callable[[Sequence[GoldClaim]], tuple[list[GoldClaim], list[str]]]


@dataclass(frozen=True, slots=True)
class Task:
    """The rules of one data set.

    Attributes
    ----------
    ks
        Cuts of the ranking that are shown unless others are asked for.
    formats
        Formats of gold files that the rules are for.
    """

    name: str
    title: str
    ks: tuple[int, ...]
    formats: tuple[str, ...]
    select: Select
    groups: Callable[[Sequence[Pair]], list[Group]]
    measures: Callable[[Pairs, Sequence[int]], list[Measure]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The measures of one run, claim by claim, and what is to be said of them."""

    task: Task
    pairs: Pairs
    groups: list[Group]
    measures: list[Measure]
    notes: list[str]


def _all(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    return list(gold), []


TASKS = {
    task.name: task
    for task in (
        Task(
            "fever", "FEVER", (5, 10, 20, 100), ("fever", "pages", "kilt", "pairs"), _all,
            fever.groups, fever.measures,
        ),
        Task(
            "hover", "HoVer", (5, 10, 20, 100), ("hover", "pages", "pairs"), _all,
            hover.groups, hover.measures,
        ),
        Task(
            "feverous", "FEVEROUS-S", (5, 10, 20, 100), ("feverous", "pairs"), feverous.select,
            fever.groups, feverous.measures,
        ),
    )
}  # fmt: skip


def task_of(path: Path) -> Task:
    """Return the task whose format a gold file has; FEVER's rules hold for formats of no task."""
    return TASKS.get(format_of(path) or "", TASKS["fever"])


def read_claims_of(task: Task, path: Path) -> list[GoldClaim]:
    """Return the gold claims of a file.

    Raises
    ------
    AdmiralError
        If the file is one of another data set, or no claim of it has evidence or a label.
    """
    name = format_of(path)
    if name is not None and name not in task.formats:
        other = name if name in TASKS else "fever"
        raise AdmiralError(
            f"{path}: has the format {name}, which the rules of {task.title} are not for. Evaluate "
            f"it as {other}"
        )
    gold = list(read_gold(path, name))
    if not any(claim.evidence or claim.label for claim in gold):
        raise AdmiralError(f"{path}: no claim has gold evidence or a label. Give a gold file")
    return gold


def evaluate(
    task: Task,
    gold: Sequence[GoldClaim],
    answers: dict[str, Prediction],
    ks: Sequence[int] = (),
) -> Evaluation:
    """Return a run's measures by the rules of a task.

    Parameters
    ----------
    gold
        All claims of the gold file.
    answers
        The run, by id.
    ks
        Cuts of the ranking, the task's own if none are given.

    Raises
    ------
    AdmiralError
        If the two do not belong together.
    """
    ks = tuple(ks) or task.ks
    everything = pair_up(gold, answers)
    chosen, notes = task.select(gold)
    kept = {claim.id for claim in chosen}
    members = tuple(pair for pair in everything.pairs if pair.gold.id in kept)
    if not members:
        raise AdmiralError(f"no claim is left to evaluate. {' '.join(notes)}")
    pairs = Pairs(members, everything.unknown)
    standard = standard_measures(members, ks)
    notes += [
        *pairs.notes(),
        *_about_gold(members),
        *_about_run(pairs),
        *short_rankings(members, ks),
    ]
    return Evaluation(
        task,
        pairs,
        task.groups(members),
        [*task.measures(pairs, ks), *standard],
        notes if standard else [*notes, MISSING],
    )


def _about_gold(pairs: Sequence[Pair]) -> list[str]:
    notes = []
    bare = sum(not pair.gold.evidence for pair in pairs)
    if bare:
        notes.append(
            f"{counted(bare, 'claim')} without gold evidence, of which documents do not count"
        )
    if any(p.gold.evidence for p in pairs) and not any(p.gold.sentences for p in pairs):
        notes.append("the gold file names documents and no sentences")
    return notes


def _about_run(pairs: Pairs) -> list[str]:
    if not pairs.has_sentences:
        return ["the run ranks documents and names no sentences"]
    without = sum(p.answer is not None and p.answer.verdict is None for p in pairs.pairs)
    if not pairs.has_verdicts:
        return ["no answer has a proof, so no labels are measured"]
    said = f"{counted(without, 'answer')} without a proof and so without a label, counted as wrong"
    return [said] if without else []
