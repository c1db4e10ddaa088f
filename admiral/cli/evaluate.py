"""``admiral evaluate``, ``compare`` and ``report``: measures of runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import click
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import CutOffs, Json, argument, command, option, print_record
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.evaluation.tasks import Evaluation
    from admiral.graph import NeighbourhoodFinder
    from admiral.kb import KnowledgeBase

logger = logging.getLogger(__name__)

# The names of `admiral.evaluation.tasks.EVALUATION_TASKS`, whose import takes too long for --help.
Task = Literal["fever", "hover", "feverous", "qa", "kilt", "qrels"]


class _Measured(options.Command):
    as_json: Json = False
    """Print one JSON record."""


class _Sampled(_Measured):
    ks: CutOffs = ()
    """Cut-off of the ranking; repeatable. [default: those of the task]"""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the resampling."""


class EvaluateRun(_Sampled):
    """Evaluate a run against gold evidence.

    Claims without a result count as wrong. Without --gold, or with a blind test file for it, only
    --submission is written.
    """

    gold: Path | None = None
    """Claims with gold evidence."""
    predictions: Path
    """Results of `admiral retrieve`, or a TREC run."""
    intervals: bool = False
    """Add 95% intervals by bootstrap over claims."""
    kb: Annotated[str, option("--kb", metavar="DIR")] | None = None
    """Knowledge base of the run, to check whose sentence numbers it uses."""
    submission: Path | None = None
    """Also write a submission to the shared task."""

    def run(self) -> None:
        from admiral.evaluation import sentence_note, tasks
        from admiral.evaluation.fever import write_submission
        from admiral.gold import is_blind
        from admiral.io.claims import read_claims

        if self.gold is None and self.submission is None:
            raise click.UsageError("Give --gold FILE, or --submission FILE to write.")
        task = click.get_current_context().command.name or ""
        rules = tasks.EVALUATION_TASKS[task]
        run = tasks.read_task_predictions(rules, self.predictions)
        result = None
        ids = list(run)
        is_judged = self.submission is None or task == "qrels"
        if self.gold is not None and not is_judged and is_blind(self.gold):
            ids = [claim.id for claim in read_claims(self.gold)]
            note = "a blind test, of which only the submission is written"
            click.echo(f"{self.gold}: {note}", err=True)
        elif self.gold is not None:
            claims = tasks.read_task_claims(rules, self.gold)
            ids = [claim.id for claim in claims]
            result = tasks.evaluate(rules, claims, run, self.ks)
        if self.submission is not None:
            write_submission(self.submission, task, ids, run)
        if result is None:
            return
        notes = list(result.notes)
        if result.paired.has_sentences:
            notes.append(sentence_note(self.predictions, self.kb))
        seed = self.seed if self.intervals else None
        records = tasks.measure_records(result.measures, result.groups, seed)
        if self.as_json:
            _print_json(result, notes, {"measures": records})
        else:
            _print_text(result, notes, tasks.format_measures(records, result.groups))


class Compare(_Sampled):
    """Compare two runs over the same claims.

    Intervals of the differences are by paired bootstrap, p-values by the paired randomisation test:
    the probability that equally good runs differ this much by chance. They are not corrected for
    the number of measures.

    For example:
      admiral compare first.jsonl second.jsonl --gold claims.jsonl --by-hops
    """

    first: Annotated[Path, argument()]
    second: Annotated[Path, argument()]
    gold: Path
    """Claims with gold evidence."""
    task: Task | None = None
    """Rules of evaluation. [default: those of the gold file's format]"""
    by_hops: bool = False
    """Also compare groups of claims."""

    def run(self) -> None:
        from admiral.evaluation import tasks

        rules = tasks.EVALUATION_TASKS[self.task] if self.task else tasks.infer_task(self.gold)
        claims = tasks.read_task_claims(rules, self.gold)
        first, second = (
            tasks.evaluate(rules, claims, tasks.read_task_predictions(rules, path), self.ks)
            for path in (self.first, self.second)
        )
        groups = first.groups if self.by_hops else first.groups[:1]
        records = tasks.compare_evaluations(first, second, groups, self.seed)
        both = (("first", first), ("second", second))
        notes = [f"{name}: {note}" for name, result in both for note in result.notes]
        if self.as_json:
            _print_json(first, notes, {"differences": records})
        else:
            _print_text(first, notes, tasks.format_differences(records))


def _print_json(result: Evaluation, notes: Sequence[str], more: dict[str, Any]) -> None:
    groups = [{"name": g.name, "claims": int(g.members.sum())} for g in result.groups]
    print_record({"task": result.task.name, "notes": list(notes), "groups": groups, **more})


def _print_text(result: Evaluation, notes: Sequence[str], table: str) -> None:
    from admiral.io.rendering import printable

    click.echo(f"{result.task.title}, {len(result.paired.pairs)} claims")
    for note in notes:
        click.echo(f"- {printable(note)}")
    click.echo("\n" + table, nl=False)


class Citations(_Measured):
    """Evaluate how well verdicts tell supported claims from others.

    Claims whose source was not checked have no score; they are counted apart and never count as
    flagged.

    With WAFER's records, it evaluates how high the cited page ranks (P@1, SR@5, 20, 100 and 200, in
    featured and other articles), before and after verification, and how many of the lowest scores
    are citations that editors have tagged as failing. The verdicts need `--set ranked=200`.
    """

    gold: Path
    """Claims of WiCE with labels, or WAFER's."""
    predictions: Path
    """Verdicts of `admiral verify-citation`."""

    def run(self) -> None:
        from admiral.citations.citation_file import WICE_LABELS, holds_wafer, read_wafer, read_wice
        from admiral.citations.verdict_file import read_verdicts
        from admiral.evaluation.citation_evaluation import (
            evaluate_citations,
            evaluate_wafer,
            evaluation_lines,
        )

        if holds_wafer(self.gold):
            ranked = evaluate_wafer(read_wafer(self.gold), read_verdicts(self.predictions))
            if self.as_json:
                print_record(ranked)
            else:
                click.echo("\n".join(evaluation_lines(ranked)))
            return
        result = evaluate_citations(read_wice(self.gold), read_verdicts(self.predictions))
        if self.as_json:
            measures = {
                name: dict(zip(("value", "low", "high"), limits, strict=True))
                for name, limits in result.measures.items()
            }
            counts = {"claims": result.claims, "not_scored": result.not_scored}
            more = {"measures": measures, "decisions": result.decisions}
            print_record({"task": "citations", **counts, **more})
            return
        click.echo(f"citations, {result.claims} claims, {result.not_scored} of them not scored\n")
        for name, (value, low, high) in result.measures.items():
            limits = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
            click.echo(f"{name:<48}  {'–' if value is None else f'{value:.3f}'}{limits}")
        click.echo(f"\n{'decision':<14}" + "".join(f"{label:>22}" for label in WICE_LABELS))
        for decision, by_label in sorted(result.decisions.items()):
            cells = "".join(f"{by_label[label]:>22}" for label in WICE_LABELS)
            click.echo(f"{decision:<14}{cells}")


class Graph(_Measured):
    """Compare retrieval over the graph by hit rate and amount of text.

    It needs no run: GraphRetrieve, its baselines, the ranking of `admiral graph query` and BM25
    search the knowledge base.
    """

    gold: Path
    """Claims with gold evidence."""
    kb: Annotated[str, option(metavar="NAME|DIR")]
    """Knowledge base with a graph."""
    ks: CutOffs = ()
    """Cut-off of the rankings; repeatable. [default: 5, 10, 20, 50 and 100]"""
    max_mentions: Annotated[int, Field(ge=0)] = 1000
    """Leave out claims that name a document with more mentions; 0 for no limit."""
    min_entities: Annotated[int, Field(ge=0)] = 2
    """Leave out claims that name fewer documents."""
    rankings_only: bool = False
    """Only the rankings, by PageRank and BM25: faster."""

    def run(self) -> None:
        from admiral.evaluation.graph_hits import CUTS, evaluate_graph, format_hits
        from admiral.gold import read_gold
        from admiral.graph import MentionGraph
        from admiral.kb import KnowledgeBase, locate

        claims = list(read_gold(self.gold))
        with KnowledgeBase.open(locate(self.kb)) as opened:
            result = evaluate_graph(
                *(opened, MentionGraph.open(opened), claims),
                min_entities=self.min_entities,
                max_mentions=self.max_mentions,
                cuts=self.ks or CUTS,
                rankings_only=self.rankings_only,
                quiet=self.as_json,
            )
        if self.as_json:
            record = {"task": "graph", "left_out": result.left_out, "methods": result.records}
            print_record(record)
            return
        click.echo(f"graph, {result.claims} of {len(claims)} claims")
        for reason, count in result.left_out.items():
            click.echo(f"- {count} left out: {reason}")
        click.echo("\n" + format_hits(result.records), nl=False)


class Evaluate:
    """Evaluate a run, the graph, or verdicts on citations.

    The rules are those of FEVER, HoVer, FEVEROUS or KILT, or of multi-hop questions (qa). Gold
    claims are in the format of the data set or of the demo claims; for qrels, they are judgements
    as BEIR or TREC have them.

    For example:
      admiral evaluate hover --gold claims.jsonl --predictions results.jsonl
      admiral evaluate fever --gold dev.jsonl --predictions results.jsonl --intervals --json
      admiral evaluate graph --gold claims.jsonl --kb my-kb
    """


class Report(options.Command):
    """Write an HTML page about a run.

    RESULTS are those of `admiral retrieve`, or a TREC run, which has only documents. The page shows
    each claim with what every hop found and how the search ended; with --gold also the gold
    evidence, and where gold documents were lost. Without --kb, it shows only the sentences in the
    results, which are those of the last hop, unless the run used the demo knowledge base.

    If the knowledge base has a graph (`admiral graph build`), the page also shows how the documents
    of each claim are connected.

    A TREC run has neither texts nor titles of documents with ids: give --claims and --kb, and the
    page also shows the sentence of each document that matches the claim best.

    For example:
      admiral report results.jsonl --output report.html
      admiral report results.jsonl --gold claims.jsonl --output report.html --kb my-kb
    """

    results: Annotated[Path, argument()]
    gold: Path | None = None
    """Claims with gold evidence, or qrels."""
    claims: Path | None = None
    """Claims of the run, to show their texts."""
    output: Path
    """HTML page to write."""
    kb: Annotated[str, option("--kb", metavar="NAME|DIR")] | None = None
    """Knowledge base of the run, to show titles and texts."""

    def run(self) -> None:
        from admiral.evaluation import count_noun, read_run_settings
        from admiral.evaluation.html_report import build_report_cases, report_page, sentence_lookup
        from admiral.kb import KnowledgeBase, locate
        from admiral.storage.atomic_files import write_atomically

        settings = read_run_settings(self.results)
        name = self.kb or ("demo" if settings.get("kb") == "demo" else None)
        with nullcontext() if name is None else KnowledgeBase.open(locate(name)) as opened:
            cases, notes = build_report_cases(
                self.results, self.gold, settings, claims=self.claims, kb=opened
            )
            graph = None if opened is None else _neighbourhoods(opened)
            parts = report_page(self.results.name, cases, notes, sentence_lookup(opened), graph)
            write_atomically(self.output, (part.encode("utf-8") for part in parts))
        click.echo(f"{self.output}: {count_noun(len(cases), 'claim')}", err=True)


def _neighbourhoods(kb: KnowledgeBase) -> NeighbourhoodFinder | None:
    from admiral.graph import MentionGraph, NeighbourhoodFinder, has_graph

    if not has_graph(kb):
        return None
    try:
        return NeighbourhoodFinder(kb, MentionGraph.open(kb))
    except AdmiralError as error:
        logger.warning("%s The report does without the graph.", error)
        return None


_by_task = (
    command(EvaluateRun, task, short_help=f"Evaluate a run by the rules of {task}.")
    for task in get_args(Task)
)
evaluate_command = options.group(Evaluate, *_by_task, Graph, Citations)
evaluate_citations_command = command(Citations)
compare_command, report_command = command(Compare), command(Report)
