"""`admiral titles`: complete the beginning of a title."""

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
    help="Directory of the knowledge base, or `demo` for the bundled one.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N titles.")
@click.option(
    "--json", "as_json", is_flag=True, help='Print records: {"title": "...", "row": 0}, one a line.'
)
def titles_command(prefix: str, kb: str, limit: int | None, as_json: bool) -> None:
    """List the titles that begin with PREFIX; without it, all titles.

    One title a line, in the order of their Unicode characters; capital and small letters differ. A
    terminal shows control characters as escapes; files, pipes and --json get the titles as they
    are, in UTF-8. As with grep, the exit status is 1 if nothing is found.
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
    found = False
    with KnowledgeBase.open(path) as opened:
        for title, row in islice(opened.complete(prefix), limit):
            found = True
            if as_json:
                sys.stdout.buffer.write(encode_record({"title": title, "row": row}))
            elif escape:
                click.echo(printable(title))
            else:
                sys.stdout.buffer.write(title.encode("utf-8") + b"\n")
    if not found:
        raise AdmiralError(
            f"{path}: no title begins with {prefix!r}. Capital and small letters differ; try fewer "
            "letters."
        )
