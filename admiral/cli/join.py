"""``admiral join``."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("join")
@click.argument("members", metavar="SHARD...", nargs=-1, required=True, type=click.Path())
@click.option("--kb", "kb", metavar="PATH", required=True, help="Directory to make.")
@click.option(
    "--on-duplicate",
    default="error",
    show_default=True,
    help="What to do with a title that several of them have: error, or skip (the document of the "
    "first one counts).",
)
@click.option("--overwrite", is_flag=True, help="Replace the knowledge base that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def join_command(
    members: tuple[str, ...], kb: str, on_duplicate: str, overwrite: bool, as_json: bool
) -> None:
    """Join knowledge bases, so that they are searched as one.

    Nothing is copied: SHARD... stay where they are, and what `admiral add`, `remove` and `compact`
    do to one of them is seen by whoever opens the joined one next.
    """
    from admiral.kb import join

    report = join(members, kb, on_duplicate=on_duplicate, overwrite=overwrite)
    if as_json:
        click.echo(json.dumps({**asdict(report), "path": str(report.path)}))
        return
    click.echo(
        f"{report.path}: {report.documents:,} documents of {report.members:,} knowledge bases, "
        f"in {report.seconds:.1f} s"
    )
    if report.hidden:
        click.echo(f"duplicate titles (skip): {report.hidden:,}")
