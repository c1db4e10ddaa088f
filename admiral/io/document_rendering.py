"""Render documents, and those that a search finds, as readable text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import click

from admiral.io.text_rendering import printable
from admiral.records import Document, ScoredTitle, Sentence


def render_document(
    document: Document,
    *,
    origin: str | None = None,
    places: Sequence[str] = (),
    colour: bool = False,
    width: int = 100,
) -> str:
    """Render title, id, source and all numbered sentences, below the headings of sections.

    Parameters
    ----------
    document
        The document.
    origin
        Where it was read from, in place of its source.
    places
        For each sentence, what stands before it, such as its page; none by default.
    colour
        Whether to use the bold and dim type of terminals.
    width
        Number of columns.
    """
    heading = printable(document.title)
    lines = [click.style(heading, bold=True) if colour else heading]
    if document.id:
        lines.append(_dim(f"id {printable(document.id)}", colour))
    if origin or document.source:
        lines.append(_dim(printable(origin or document.source), colour))
    digits = len(str(len(document.sentences)))
    section = ""
    for number, sentence in enumerate(document.sentences):
        if document.sections and document.sections[number] != section:
            section = document.sections[number]
            lines += ["", _dim(printable(section), colour)]
        if places and places[number]:
            sentence = f"[{places[number]}] {sentence}"
        lines += _numbered(f"{number:{digits + 2}}", sentence, colour, width)
    return "\n".join(lines) + "\n"


def render_search(
    found: Iterable[tuple[ScoredTitle, Sentence | None]], *, colour: bool = False, width: int = 100
) -> str:
    """Render ranked documents with their scores, each with a sentence and its number.

    Parameters
    ----------
    found
        The documents, best first, and a sentence of each.
    colour, width
        As in `render_document`.
    """
    lines = []
    for rank, (scored, sentence) in enumerate(found, 1):
        title, score = printable(scored.title), f"({scored.score:.2f})"
        if colour:
            title, score = click.style(title, bold=True), _dim(score, colour)
        lines.append(f"{rank:2}. {title} {score}")
        if sentence is not None:
            lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "\n".join(lines) + "\n"


def render_sentences(
    sentences: Iterable[Sentence], *, colour: bool = False, width: int = 100
) -> str:
    """Render sentences of several documents, each below its title, with their numbers.

    Parameters
    ----------
    sentences
        The sentences, in the order of rendering.
    colour, width
        As in `render_document`.
    """
    lines = []
    for sentence in sentences:
        lines.append(_dim(f"  {printable(sentence.title)}", colour))
        lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "".join(f"{line}\n" for line in lines)


def _numbered(number: str, sentence: str, colour: bool, width: int) -> list[str]:
    """Return the lines of a sentence beside its number."""
    indent = len(number) + 2
    first, *others = textwrap.wrap(
        printable(sentence),
        max(width - indent, 20),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
    return [f"{_dim(number, colour)}  {first}".rstrip(), *(" " * indent + line for line in others)]


def _dim(text: str, colour: bool) -> str:
    return click.style(text, dim=True) if colour else text
