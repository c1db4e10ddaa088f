"""`admiral evaluate` and `admiral compare`: what runs are worth, and whether they differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admiral.cli.options import keep_out
from admiral.storage.output_paths import check_place, keep_apart

if TYPE_CHECKING:
    from admiral.evaluation.tasks import Evaluation

_TASKS = ("fever", "hover", "feverous")
_FILE = click.Path(path_type=Path)
# More than any ranking holds; ir-measures fails at numbers beyond those of the machine.
_MOST_DOCUMENTS = 1_000_000
_KS = click.option(
    "--k",
    "ks",
    multiple=True,
    type=click.IntRange(1, _MOST_DOCUMENTS),
    help="Cut of the ranking; repeatable.",
)
_SEED = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resampling."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one record.")


@click.command("evaluate")
@click.argument("task", type=click.Choice(_TASKS))
@click.option("--gold", type=_FILE, help="Claims with gold evidence.")
@click.option("--predictions", type=_FILE, required=True, help="Results, or a TREC run.")
@_KS
@_JSON
@click.option("--intervals", is_flag=True, help="95% intervals, by bootstrap over claims.")
@_SEED
@click.option("--kb", metavar="DIR", help="Knowledge base of the run, to say whose sentences.")
@click.option("--submission", type=_FILE, help="Write the shared task's file of the run.")
def evaluate_command(
    task: str,
    gold: Path | None,
    predictions: Path,
    ks: tuple[int, ...],
    as_json: bool,
    intervals: bool,
    seed: int,
    kb: str | None,
    submission: Path | None,
) -> None:
    """Measure a run by the rules of FEVER, HoVer or FEVEROUS.

    Gold claims come in the data set's own format or in that of the demo claims. Those without an
    answer count as wrong. Without --gold only --submission is written, such as for a blind test.
    """
    if gold is None and submission is None:
        raise click.UsageError("Give --gold FILE, or --submission FILE to write.")

    if submission is not None:
        keep_apart(submission, gold, predictions)
        if kb is not None:
            keep_out(submission, kb)
        check_place(submission)

    from admiral.evaluation import tables
    from admiral.evaluation.bootstrap import intervals as of_group
    from admiral.evaluation.predictions import read_predictions
    from admiral.evaluation.sentence_sources import sentence_note
    from admiral.evaluation.submissions import write_submission
    from admiral.evaluation.tasks import TASKS, evaluate, read_claims_of

    answers = read_predictions(predictions)
    claims = None if gold is None else read_claims_of(TASKS[task], gold)
    result = None if claims is None else evaluate(TASKS[task], claims, answers, _cuts(ks))
    if submission is not None:
        ids = list(answers) if claims is None else [claim.id for claim in claims]
        write_submission(submission, task, ids, answers)
    if result is None:
        return
    notes = list(result.notes)
    if result.pairs.has_sentences:
        notes.append(sentence_note(predictions, kb))
    limits = [of_group(result.measures, g, seed) for g in result.groups] if intervals else None
    records = tables.figures(result.measures, result.groups, limits)
    if as_json:
        _print_json(result, notes, {"measures": records})
    else:
        _print_text(result, notes, tables.text_table(records, result.groups))


@click.command("compare")
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.option("--gold", type=_FILE, required=True, help="Claims with gold evidence.")
@click.option("--task", type=click.Choice(_TASKS), help="Whose rules (default: the gold file's).")
@_KS
@click.option("--by-hops", is_flag=True, help="Compare the groups of claims besides.")
@_JSON
@_SEED
def compare_command(
    first: Path,
    second: Path,
    gold: Path,
    task: str | None,
    ks: tuple[int, ...],
    by_hops: bool,
    as_json: bool,
    seed: int,
) -> None:
    """Compare two runs over the same claims.

    The interval of the difference is by paired bootstrap, p by the paired randomisation test: how
    often runs that are alike would differ so much by chance. It is not corrected for the number of
    measures.
    """
    from admiral.evaluation import bootstrap, tables
    from admiral.evaluation.predictions import read_predictions
    from admiral.evaluation.tasks import TASKS, evaluate, read_claims_of, task_of

    rules = TASKS[task] if task else task_of(gold)
    claims = read_claims_of(rules, gold)
    one, other = (
        evaluate(rules, claims, read_predictions(path), _cuts(ks)) for path in (first, second)
    )
    shared = {(m.section, m.name) for m in one.measures} & {
        (m.section, m.name) for m in other.measures
    }
    before, after = (
        [m for m in result.measures if (m.section, m.name) in shared] for result in (one, other)
    )
    records: list[dict[str, Any]] = []
    for group in one.groups if by_hops else one.groups[:1]:
        found = bootstrap.compare(before, after, group, seed)
        records += tables.differences(before, found, group)
    notes = [
        *(f"first: {note}" for note in one.notes),
        *(f"second: {note}" for note in other.notes),
    ]
    if as_json:
        _print_json(one, notes, {"differences": records})
    else:
        _print_text(one, notes, tables.text_differences(records))


def _cuts(ks: tuple[int, ...]) -> Sequence[int]:
    return sorted(set(ks))


def _print_json(result: Evaluation, notes: Sequence[str], more: dict[str, Any]) -> None:
    groups = [{"name": g.name, "claims": int(g.members.sum())} for g in result.groups]
    record = {"task": result.task.name, "notes": list(notes), "groups": groups, **more}
    click.echo(json.dumps(record, ensure_ascii=False, indent=1))


def _print_text(result: Evaluation, notes: Sequence[str], table: str) -> None:
    from admiral.io.text_rendering import printable

    click.echo(f"{result.task.title}, {len(result.pairs.pairs)} claims")
    for note in notes:
        click.echo(f"- {printable(note)}")
    click.echo("\n" + table, nl=False)
