"""``admiral search``: the documents that BM25 finds for some words."""

from __future__ import annotations

import sys

import click

from admiral.cli.options import checked_text, output_width, use_colour
from admiral.errors import AdmiralError

_MAX_DOCUMENTS = 1_000_000


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--kb",
    metavar="NAME|DIR",
    default="demo",
    show_default=True,
    help="Knowledge base: a directory, or `demo` for the bundled one.",
)
@click.option(
    "-k",
    "--k",
    "count",
    type=click.IntRange(1, _MAX_DOCUMENTS),
    default=10,
    show_default=True,
    help="Maximum number of documents.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one record per document.")
def search_command(words: tuple[str, ...], kb: str, count: int, as_json: bool) -> None:
    """Search documents for WORDS with BM25.

    No model is loaded. Each document is shown with its score and the number and text of the
    sentence that matches best. As with grep, the exit status is 1 if no document matches.
    """
    from admiral.io.document_rendering import render_search, search_record
    from admiral.kb import KnowledgeBase, locate
    from admiral.kb.matching_sentences import best_sentences
    from admiral.storage.atomic_files import encode_record

    query = checked_text(" ".join(words), "WORDS")
    path = locate(kb)
    with KnowledgeBase.open(path) as opened:
        (found,) = opened.search([query], count)
        documents = [opened.document(scored.title) for scored in found]
    if not found:
        raise AdmiralError(
            f"{path}: no document has any of these words. Very common words are not searched"
        )
    sentences = best_sentences(query, documents)
    if as_json:
        rows = zip(found, documents, sentences, strict=True)
        for rank, row in enumerate(rows, 1):
            sys.stdout.buffer.write(encode_record(search_record(rank, *row)))
    else:
        text = render_search(
            list(zip(found, sentences, strict=True)), colour=use_colour(), width=output_width()
        )
        click.echo(text, nl=False)
