"""`admiral report`: a page that shows every claim of a run beside its gold."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from admiral.cli.options import keep_out
from admiral.storage.output_paths import check_place, keep_apart

_FILE = click.Path(path_type=Path)


@click.command("report")
@click.argument("results", type=_FILE)
@click.option("--gold", type=_FILE, required=True, help="Claims with gold evidence.")
@click.option("--output", type=_FILE, required=True, help="The page to write.")
@click.option(
    "--kb", metavar="DIR", help="Knowledge base of the run, for the texts of all sentences."
)
def report_command(results: Path, gold: Path, output: Path, kb: str | None) -> None:
    """Write one HTML page about a run: what was found, and where the rest was lost.

    The page needs nothing but a browser. Without --kb it shows the sentences that the results
    hold, those of the last hop; the demo knowledge base is found without it.
    """
    from admiral.evaluation.cases import cases_of, sentence_text
    from admiral.evaluation.html_report import report_page
    from admiral.evaluation.pairing import counted
    from admiral.evaluation.sentence_sources import run_settings
    from admiral.kb import KnowledgeBase, locate
    from admiral.storage.atomic_files import write_atomically

    keep_apart(output, results, gold)
    if kb is not None:
        keep_out(output, kb)
    check_place(output)
    settings = run_settings(results)
    cases, notes = cases_of(results, gold, settings)
    name = kb or ("demo" if settings.get("kb") == "demo" else None)
    with nullcontext() if name is None else KnowledgeBase.open(locate(name)) as opened:
        parts = report_page(results.name, cases, notes, sentence_text(opened))
        write_atomically(output, (part.encode("utf-8") for part in parts))
    click.echo(f"{output}: {counted(len(cases), 'claim')}", err=True)
