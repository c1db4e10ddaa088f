"""``admiral join``: several knowledge bases as one."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("join")
@click.argument("members", metavar="SHARD...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--kb", "kb", metavar="PATH", required=True, help="Directory of the joined knowledge base."
)
@click.option(
    "--on-duplicate",
    default="error",
    show_default=True,
    help="Treatment of a title that several members have: error, or skip (the first one counts).",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing knowledge base.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def join_command(
    members: tuple[str, ...], kb: str, on_duplicate: str, overwrite: bool, as_json: bool
) -> None:
    """Join knowledge bases, so that they are searched as one.

    Nothing is copied: the members stay where they are. Changes by `admiral add`, `remove` and
    `compact` to a member take effect when the joined knowledge base is next opened.
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
