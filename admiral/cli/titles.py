"""``admiral titles``: the titles that begin with a prefix."""

from __future__ import annotations

import sys
from itertools import islice

import click

from admiral.errors import AdmiralError


@click.command("titles")
@click.argument("prefix", default="")
@click.option(
    "--kb",
    "kb",
    metavar="PATH",
    default="demo",
    show_default=True,
    help="Knowledge base: a directory, or `demo` for the bundled one.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Maximum number of titles.")
@click.option(
    "--json", "as_json", is_flag=True, help='Print one record per line: {"title": "...", "row": 0}.'
)
def titles_command(prefix: str, kb: str, limit: int | None, as_json: bool) -> None:
    """List the titles that begin with PREFIX, or all titles.

    There is one title per line, in Unicode order. Upper and lower case differ. On a terminal,
    control characters are escaped; files, pipes and --json get the original titles in UTF-8. As
    with grep, the exit status is 1 if there is no such title.
    """
    try:
        prefix.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError("PREFIX: is not text in this terminal's encoding") from error

    from admiral.io.text_rendering import printable
    from admiral.kb import KnowledgeBase, locate
    from admiral.storage.atomic_files import encode_record

    path = locate(kb)
    escape = sys.stdout.isatty()
    any_title = False
    with KnowledgeBase.open(path) as opened:
        for title, row in islice(opened.complete(prefix), limit):
            any_title = True
            if as_json:
                sys.stdout.buffer.write(encode_record({"title": title, "row": row}))
            elif escape:
                click.echo(printable(title))
            else:
                sys.stdout.buffer.write(title.encode("utf-8") + b"\n")
    if not any_title:
        raise AdmiralError(
            f"{path}: no title begins with {prefix!r}. Upper and lower case differ; "
            "try fewer letters"
        )
