"""``admiral cite``: suggest sources for a statement."""

from __future__ import annotations

import json
from pathlib import Path

import click

from admiral.cli.citation_options import citation_config, citation_settings_options, source_lines
from admiral.cli.options import checked_text, overrides


@click.command("cite")
@click.argument("statement")
@click.option("--library", metavar="DIR", required=True, help="Library of sources.")
@click.option("--page", default="", metavar="TITLE", help="Title of the statement's page.")
@click.option("--context", default="", metavar="TEXT", help="Text before the statement.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of sources.  [default: 5]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON records, not readable text.")
@citation_settings_options
def cite_command(
    statement: str,
    library: str,
    page: str,
    context: str,
    k: int | None,
    as_json: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> None:
    """Suggest sources of a library for STATEMENT, best first.

    All of them are listed with their scores; a low probability of support says that no good source
    was found, not that the statement is wrong.
    """
    from admiral.citations.citer import Citer
    from admiral.citations.verdict_file import suggestion_record

    text = checked_text(statement, "the statement")
    config = citation_config(config_path, [*overrides(assignments, flags), "suggest=true"])
    with Citer.open(library, config=config) as citer:
        sources = citer.suggest(text, k, page=page, before=context)
    for rank, source in enumerate(sources, 1):
        if as_json:
            record = suggestion_record(rank, source, None)
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo("\n".join(source_lines(f"{rank}.", source)))
    if not sources and not as_json:
        click.echo("no passage of the library shares a word with the statement")
