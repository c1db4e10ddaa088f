"""``admiral report``: an HTML page of a run, with gold evidence if there is any."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_page_path

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from admiral.graph import NeighbourhoodFinder
    from admiral.kb import KnowledgeBase

_FILE = click.Path(path_type=Path)


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
    from admiral.evaluation.html_report import report_page
    from admiral.evaluation.pairing import count_noun
    from admiral.evaluation.predictions import read_run_settings
    from admiral.evaluation.report_cases import build_report_cases, sentence_lookup
    from admiral.kb import KnowledgeBase, locate
    from admiral.storage.atomic_files import write_atomically

    check_distinct_paths(output, results, gold, claims)
    if kb is not None:
        check_outside_folders(output, kb)
    check_page_path(output)
    settings = read_run_settings(results)
    name = kb or ("demo" if settings.get("kb") == "demo" else None)
    with nullcontext() if name is None else KnowledgeBase.open(locate(name)) as opened:
        cases, notes = build_report_cases(results, gold, settings, claims=claims, kb=opened)
        graph = None if opened is None else _neighbourhoods(opened)
        parts = report_page(results.name, cases, notes, sentence_lookup(opened), graph)
        write_atomically(output, (part.encode("utf-8") for part in parts))
    click.echo(f"{output}: {count_noun(len(cases), 'claim')}", err=True)


def _neighbourhoods(kb: KnowledgeBase) -> NeighbourhoodFinder | None:
    """Open the graph of a knowledge base; None, with a warning, if it cannot be used."""
    from admiral.errors import AdmiralError
    from admiral.graph import MentionGraph, NeighbourhoodFinder
    from admiral.graph.graph_files import graph_folder

    if not graph_folder(kb.path).exists():
        return None
    try:
        return NeighbourhoodFinder(kb, MentionGraph.open(kb))
    except AdmiralError as error:
        logger.warning("%s The report does without the graph.", error)
        return None
