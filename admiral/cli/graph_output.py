"""Print what ``admiral graph`` finds, as text or JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from admiral.cli.options import output_width, use_colour

if TYPE_CHECKING:
    from admiral.graph import Connections
    from admiral.records import ScoredTitle, Sentence


def print_ranking(
    documents: tuple[ScoredTitle, ...], sentences: tuple[Sentence, ...], as_json: bool
) -> None:
    """Print a ranking of documents and of sentences."""
    from admiral.io.document_rendering import ranking_record
    from admiral.io.text_rendering import printable
    from admiral.storage.atomic_files import encode_record

    if as_json:
        sys.stdout.buffer.write(encode_record(ranking_record(documents, sentences)))
        return
    for rank, document in enumerate(documents, 1):
        click.echo(f"{rank:2}. {printable(document.title)} ({document.score:.4f})")
    click.echo()
    _print_sentences(sentences)


def print_set(summary: dict[str, object], sentences: list[Sentence], as_json: bool) -> None:
    """Print the sentences of a set and its size."""
    from admiral.io.document_rendering import set_record
    from admiral.io.text_rendering import printable
    from admiral.storage.atomic_files import encode_record

    if as_json:
        sys.stdout.buffer.write(encode_record(set_record(summary, sentences)))
        return
    names = summary["entities"]
    assert isinstance(names, list)
    click.echo(f"named: {printable(', '.join(names))}")
    click.echo(f"sentences: {summary['sentences']:,}, documents: {summary['documents']:,}\n")
    _print_sentences(sentences)


def print_connections(found: Connections, as_json: bool) -> None:
    """Print the paths between two documents."""
    from admiral.io.document_rendering import graph_sentence
    from admiral.io.text_rendering import printable
    from admiral.storage.atomic_files import encode_record

    if as_json:
        shown = [
            {"between": each.between, "sentences": [graph_sentence(s) for s in each.sentences]}
            for each in found.shown
        ]
        record = {"direct": found.direct, "between": found.between, "shown": shown}
        sys.stdout.buffer.write(encode_record(record))
        return
    click.echo(f"sentences with both: {found.direct:,}, documents between: {found.between:,}")
    for each in found.shown:
        click.echo(f"\n{'directly' if each.between is None else printable(each.between)}")
        _print_sentences(each.sentences)


def _print_sentences(sentences: tuple[Sentence, ...] | list[Sentence]) -> None:
    from admiral.io.document_rendering import render_sentences

    text = render_sentences(sentences, colour=use_colour(), width=output_width())
    click.echo(text, nl=False)
