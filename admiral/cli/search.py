"""``admiral search``, ``show`` and ``titles``: look into a knowledge base."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from admiral.cli.options import checked_text, count_option, kb_option, output_width, use_colour
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.kb import KnowledgeBase
    from admiral.records import Document


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@kb_option
@count_option("Maximum number of documents.")
@click.option("--json", "as_json", is_flag=True, help="Print one record per document.")
def search_command(words: tuple[str, ...], kb: str, count: int, as_json: bool) -> None:
    """Search documents for WORDS with BM25.

    No model is loaded. Each document is shown with its score and the number and text of the
    sentence that matches best. As with grep, the exit status is 1 if no document matches.
    """
    from admiral.io.rendering import render_search, search_record
    from admiral.kb import KnowledgeBase, locate
    from admiral.kb.bm25.analysis import best_sentences
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


_SUGGESTIONS = 5
# Titles of one beginning that are compared; all titles of a large knowledge base take minutes.
_COMPARED = 5000


@click.command("show")
@click.argument("title")
@kb_option
@click.option(
    "--source",
    is_flag=True,
    help="Name the file and the line or the pages that the document was read from.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one record, which has the source.")
def show_command(title: str, kb: str, source: bool, as_json: bool) -> None:
    """Show the document with a title.

    Its sentences are numbered from 0, as `sentence_id` in results. If there is no such document,
    similar titles are suggested.
    """
    from admiral.io.rendering import render_document
    from admiral.kb import KnowledgeBase, UnknownTitleError, locate
    from admiral.records import json_of
    from admiral.storage.atomic_files import encode_record

    title = checked_text(title, "TITLE")
    with KnowledgeBase.open(locate(kb)) as opened:
        try:
            document = opened.document(title)
        except UnknownTitleError as error:
            similar = similar_titles(opened, title)
            if not similar:
                raise
            raise AdmiralError(
                f"{error} Similar titles: {', '.join(map(repr, similar))}"
            ) from error
    origin = origin_of(document)
    if as_json:
        record = json_of(document)
        record["origin"] = None if origin is None else origin.to_json()
        sys.stdout.buffer.write(encode_record(record))
        return
    text = render_document(
        document,
        origin=_named(origin) if source else None,
        places=origin.places if source and origin is not None else (),
        colour=use_colour(),
        width=output_width(),
    )
    click.echo(text, nl=False)


class Origin(NamedTuple):
    """The file, or the part of one, that a document was read from."""

    file: str  # path or URL of the file
    line: int | None  # line of the record in the file; None for a file that is a document
    # for each sentence, what names its part of the file, such as ``page 3``; "" if unknown
    places: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON form of ``admiral show``."""
        record: dict[str, Any] = {"file": self.file}
        if self.line is not None:
            record["line"] = self.line
        if any(self.places):
            record["places"] = [_place_json(place) for place in self.places]
        return record


def origin_of(document: Document) -> Origin | None:
    """Return where a document was read from, or None if its knowledge base does not say."""
    from admiral.kb.corpus.files.file_types import file_type
    from admiral.records import SECTION_SEPARATOR

    if document.file:
        return Origin(document.file, document.line, ())
    if not document.source:
        return None
    file, _, part = document.source.rpartition("#")
    if not (file and part and file_type(file)):
        file = document.source  # the name of a file may have this sign
    kind = file_type(file)
    places: tuple[str, ...] = ()
    if kind is not None and kind.part:
        outermost = (section.partition(SECTION_SEPARATOR)[0] for section in document.sections)
        places = tuple(
            heading if heading.startswith(f"{kind.part} ") else "" for heading in outermost
        )
    return Origin(file, None, places)


def _place_json(place: str) -> dict[str, Any] | None:
    """Return ``{"page": 3}`` for ``page 3``, ``{"sheet": "Costs"}`` for ``sheet Costs``."""
    kind, _, name = place.partition(" ")
    return {kind: int(name) if name.isdecimal() and kind != "sheet" else name} if place else None


def _named(origin: Origin | None) -> str:
    if origin is None:
        return "source unknown: the knowledge base does not say (build it again to record sources)"
    return origin.file if origin.line is None else f"{origin.file}, line {origin.line:,}"


def similar_titles(kb: KnowledgeBase, title: str) -> list[str]:
    """Return titles that are spelt almost like one that does not exist, the most similar first.

    Compared are titles with the same beginning, in upper or lower case, and those that BM25 finds.
    """
    folded: dict[str, str] = {}
    for candidate in _candidates(kb, title):
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(title.casefold(), folded, _SUGGESTIONS)
    return [folded[each] for each in close]


def _candidates(kb: KnowledgeBase, title: str) -> Iterator[str]:
    start = title[:2]
    for beginning in dict.fromkeys((start, start.lower(), start.upper(), start.title())):
        yield from (found for found, _ in islice(kb.complete(beginning), _COMPARED))
    try:
        (found,) = kb.search([title], 100)
    except AdmiralError:  # there is no BM25 index
        return
    yield from (scored.title for scored in found)


@click.command("titles")
@click.argument("prefix", default="")
@kb_option
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

    from admiral.io.rendering import printable
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
