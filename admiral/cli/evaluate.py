"""``admiral evaluate``, ``compare`` and ``report``: measures of runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admiral.cli.options import cut_offs_option, json_record_option
from admiral.storage.atomic_files import check_distinct_paths

if TYPE_CHECKING:
    from admiral.evaluation.tasks import Evaluation


# The names of `admiral.evaluation.tasks.EVALUATION_TASKS`, whose import takes too long for --help.
_TASKS = ("fever", "hover", "feverous", "qa", "kilt", "qrels")
_FILE = click.Path(path_type=Path)
_KS = cut_offs_option("Cut-off of the ranking; repeatable. [default: those of the task]")
_SEED = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the resampling.",
)


@click.group("evaluate")
def evaluate_command() -> None:
    """Evaluate a run, the graph, or verdicts on citations.

    The rules are those of FEVER, HoVer, FEVEROUS or KILT, or of multi-hop questions (qa). Gold
    claims are in the format of the data set or of the demo claims; for qrels, they are judgements
    as BEIR or TREC have them.
    """


def _evaluate_run(
    task: str,
    gold: Path | None,
    predictions: Path | None,
    ks: Sequence[int],
    as_json: bool,
    intervals: bool,
    seed: int,
    kb: str | None,
    submission: Path | None,
) -> None:
    if predictions is None:
        raise click.UsageError("Give --predictions FILE.")
    if gold is None and submission is None:
        raise click.UsageError("Give --gold FILE, or --submission FILE to write.")

    if submission is not None:
        check_distinct_paths(submission, gold, predictions, folders=[kb])

    from admiral.evaluation import sentence_note
    from admiral.evaluation.fever import write_submission
    from admiral.evaluation.tasks import (
        EVALUATION_TASKS,
        evaluate,
        format_measures,
        measure_records,
        read_task_claims,
        read_task_predictions,
    )
    from admiral.gold import is_blind
    from admiral.io.claims import read_claims

    rules = EVALUATION_TASKS[task]
    run = read_task_predictions(rules, predictions)
    claims = None
    ids = list(run)
    if gold is not None and submission is not None and task != "qrels" and is_blind(gold):
        ids = [claim.id for claim in read_claims(gold)]
        click.echo(f"{gold}: a blind test, of which only the submission is written", err=True)
    elif gold is not None:
        claims = read_task_claims(rules, gold)
        ids = [claim.id for claim in claims]
    result = None if claims is None else evaluate(rules, claims, run, ks)
    if submission is not None:
        write_submission(submission, task, ids, run)
    if result is None:
        return
    notes = list(result.notes)
    if result.paired.has_sentences:
        notes.append(sentence_note(predictions, kb))
    records = measure_records(result.measures, result.groups, seed if intervals else None)
    if as_json:
        _print_json(result, notes, {"measures": records})
    else:
        _print_text(result, notes, format_measures(records, result.groups))


def _task_command(task: str) -> click.Command:

    @click.command(task, short_help=f"Evaluate a run by the rules of {task}.")
    @click.option("--gold", type=_FILE, help="Claims with gold evidence.")
    @click.option("--predictions", type=_FILE, help="Results of `admiral retrieve`, or a TREC run.")
    @_KS
    @json_record_option
    @click.option("--intervals", is_flag=True, help="Add 95% intervals by bootstrap over claims.")
    @_SEED
    @click.option(
        "--kb",
        metavar="DIR",
        help="Knowledge base of the run, to check whose sentence numbers it uses.",
    )
    @click.option("--submission", type=_FILE, help="Also write a submission to the shared task.")
    def command(**options: Any) -> None:
        """Evaluate a run against gold evidence.

        Claims without a result count as wrong. Without --gold, or with a blind test file for it,
        only --submission is written.
        """
        _evaluate_run(task, **options)

    return command


for _task in _TASKS:
    evaluate_command.add_command(_task_command(_task))


@click.command("compare")
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.option("--gold", type=_FILE, required=True, help="Claims with gold evidence.")
@click.option(
    "--task",
    type=click.Choice(_TASKS),
    help="Rules of evaluation. [default: those of the gold file's format]",
)
@_KS
@click.option("--by-hops", is_flag=True, help="Also compare groups of claims.")
@json_record_option
@_SEED
def compare_command(
    first: Path,
    second: Path,
    gold: Path,
    task: str | None,
    ks: Sequence[int],
    by_hops: bool,
    as_json: bool,
    seed: int,
) -> None:
    """Compare two runs over the same claims.

    Intervals of the differences are by paired bootstrap, p-values by the paired randomisation test:
    the probability that equally good runs differ this much by chance. They are not corrected for
    the number of measures.
    """
    from admiral.evaluation.tasks import (
        EVALUATION_TASKS,
        compare_evaluations,
        evaluate,
        format_differences,
        infer_task,
        read_task_claims,
        read_task_predictions,
    )

    rules = EVALUATION_TASKS[task] if task else infer_task(gold)
    claims = read_task_claims(rules, gold)
    first_result, second_result = (
        evaluate(rules, claims, read_task_predictions(rules, path), ks) for path in (first, second)
    )
    groups = first_result.groups if by_hops else first_result.groups[:1]
    records = compare_evaluations(first_result, second_result, groups, seed)
    notes = [
        *(f"first: {note}" for note in first_result.notes),
        *(f"second: {note}" for note in second_result.notes),
    ]
    if as_json:
        _print_json(first_result, notes, {"differences": records})
    else:
        _print_text(first_result, notes, format_differences(records))


def _print_json(result: Evaluation, notes: Sequence[str], more: dict[str, Any]) -> None:
    groups = [{"name": g.name, "claims": int(g.members.sum())} for g in result.groups]
    record = {"task": result.task.name, "notes": list(notes), "groups": groups, **more}
    click.echo(json.dumps(record, ensure_ascii=False, indent=1))


def _print_text(result: Evaluation, notes: Sequence[str], table: str) -> None:
    from admiral.io.rendering import printable

    click.echo(f"{result.task.title}, {len(result.paired.pairs)} claims")
    for note in notes:
        click.echo(f"- {printable(note)}")
    click.echo("\n" + table, nl=False)


@click.command("citations", short_help="Evaluate verdicts on citations.")
@click.option("--gold", type=_FILE, required=True, help="Claims of WiCE with labels, or WAFER's.")
@click.option(
    "--predictions", type=_FILE, required=True, help="Verdicts of `admiral verify-citation`."
)
@json_record_option
def evaluate_citations_command(gold: Path, predictions: Path, as_json: bool) -> None:
    """Evaluate how well verdicts tell supported claims from others.

    Claims whose source was not checked have no score; they are counted apart and never count as
    flagged.

    With WAFER's records, it evaluates how high the cited page ranks (P@1, SR@5, 20, 100 and 200, in
    featured and other articles), before and after verification, and how many of the lowest scores
    are citations that editors have tagged as failing. The verdicts need `--set ranked=200`.
    """
    from admiral.citations.citation_file import WICE_LABELS, holds_wafer, read_wafer, read_wice
    from admiral.citations.verdict_file import read_verdicts
    from admiral.evaluation.citation_evaluation import (
        evaluate_citations,
        evaluate_wafer,
        evaluation_lines,
    )

    if holds_wafer(gold):
        ranked = evaluate_wafer(read_wafer(gold), read_verdicts(predictions))
        if as_json:
            click.echo(json.dumps(ranked, indent=1))
        else:
            click.echo("\n".join(evaluation_lines(ranked)))
        return
    result = evaluate_citations(read_wice(gold), read_verdicts(predictions))
    if as_json:
        record = {
            "task": "citations",
            "claims": result.claims,
            "not_scored": result.not_scored,
            "measures": {
                name: {"value": value, "low": low, "high": high}
                for name, (value, low, high) in result.measures.items()
            },
            "decisions": result.decisions,
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=1))
        return
    click.echo(f"citations, {result.claims} claims, {result.not_scored} of them not scored\n")
    for name, (value, low, high) in result.measures.items():
        limits = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
        click.echo(f"{name:<48}  {'–' if value is None else f'{value:.3f}'}{limits}")
    click.echo(f"\n{'decision':<14}" + "".join(f"{label:>22}" for label in WICE_LABELS))
    for decision, counts in sorted(result.decisions.items()):
        click.echo(f"{decision:<14}" + "".join(f"{counts[label]:>22}" for label in WICE_LABELS))


@click.command("graph", short_help="Evaluate retrieval over the graph.")
@click.option(
    "--gold", type=click.Path(path_type=Path), required=True, help="Claims with gold evidence."
)
@click.option("--kb", metavar="NAME|DIR", required=True, help="Knowledge base with a graph.")
@cut_offs_option("Cut-off of the rankings; repeatable. [default: 5, 10, 20, 50 and 100]")
@click.option(
    "--max-mentions",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Leave out claims that name a document with more mentions; 0 for no limit.",
)
@click.option(
    "--min-entities",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Leave out claims that name fewer documents.",
)
@click.option(
    "--rankings-only", is_flag=True, help="Only the rankings, by PageRank and BM25: faster."
)
@json_record_option
def evaluate_graph_command(
    gold: Path,
    kb: str,
    ks: Sequence[int],
    max_mentions: int,
    min_entities: int,
    rankings_only: bool,
    as_json: bool,
) -> None:
    """Compare retrieval over the graph by hit rate and amount of text.

    It needs no run: GraphRetrieve, its baselines, the ranking of `admiral graph query` and BM25
    search the knowledge base.
    """
    from admiral.evaluation.graph_hits import CUTS, evaluate_graph, format_hits
    from admiral.gold import read_gold
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase, locate

    claims = list(read_gold(gold))
    with KnowledgeBase.open(locate(kb)) as opened:
        result = evaluate_graph(
            opened,
            MentionGraph.open(opened),
            claims,
            min_entities=min_entities,
            max_mentions=max_mentions,
            cuts=ks or CUTS,
            rankings_only=rankings_only,
            quiet=as_json,
        )
    if as_json:
        record = {"task": "graph", "left_out": result.left_out, "methods": result.records}
        click.echo(json.dumps(record, ensure_ascii=False, indent=1))
        return
    click.echo(f"graph, {result.claims} of {len(claims)} claims")
    for reason, count in result.left_out.items():
        click.echo(f"- {count} left out: {reason}")
    click.echo("\n" + format_hits(result.records), nl=False)


evaluate_command.add_command(evaluate_graph_command)
evaluate_command.add_command(evaluate_citations_command)


logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from admiral.graph import NeighbourhoodFinder
    from admiral.kb import KnowledgeBase


@click.command("report")
@click.argument("results", type=_FILE)
@click.option("--gold", type=_FILE, help="Claims with gold evidence, or qrels.")
@click.option("--claims", type=_FILE, help="Claims of the run, to show their texts.")
@click.option("--output", type=_FILE, required=True, help="HTML page to write.")
@click.option(
    "--kb", metavar="NAME|DIR", help="Knowledge base of the run, to show titles and texts."
)
def report_command(
    results: Path, gold: Path | None, claims: Path | None, output: Path, kb: str | None
) -> None:
    """Write an HTML page about a run.

    RESULTS are those of `admiral retrieve`, or a TREC run, which has only documents. The page shows
    each claim with what every hop found and how the search ended; with --gold also the gold
    evidence, and where gold documents were lost. Without --kb, it shows only the sentences in the
    results, which are those of the last hop, unless the run used the demo knowledge base.

    If the knowledge base has a graph (`admiral graph build`), the page also shows how the documents
    of each claim are connected.

    A TREC run has neither texts nor titles of documents with ids: give --claims and --kb, and the
    page also shows the sentence of each document that matches the claim best.
    """
    from admiral.evaluation import count_noun, read_run_settings
    from admiral.evaluation.html_report import build_report_cases, report_page, sentence_lookup
    from admiral.kb import KnowledgeBase, locate
    from admiral.storage.atomic_files import write_atomically

    check_distinct_paths(output, results, gold, claims, folders=[kb])
    settings = read_run_settings(results)
    name = kb or ("demo" if settings.get("kb") == "demo" else None)
    with nullcontext() if name is None else KnowledgeBase.open(locate(name)) as opened:
        cases, notes = build_report_cases(results, gold, settings, claims=claims, kb=opened)
        graph = None if opened is None else _neighbourhoods(opened)
        parts = report_page(results.name, cases, notes, sentence_lookup(opened), graph)
        write_atomically(output, (part.encode("utf-8") for part in parts))
    click.echo(f"{output}: {count_noun(len(cases), 'claim')}", err=True)


def _neighbourhoods(kb: KnowledgeBase) -> NeighbourhoodFinder | None:
    from admiral.errors import AdmiralError
    from admiral.graph import MentionGraph, NeighbourhoodFinder, has_graph

    if not has_graph(kb):
        return None
    try:
        return NeighbourhoodFinder(kb, MentionGraph.open(kb))
    except AdmiralError as error:
        logger.warning("%s The report does without the graph.", error)
        return None
