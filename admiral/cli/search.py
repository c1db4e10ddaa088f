"""``admiral search``, ``show`` and ``titles``: look into a knowledge base."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import click

from admiral.cli import options
from admiral.cli.options import Count, Json, Text, argument, command, print_record, shown
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.kb import KnowledgeBase
    from admiral.records import Document


class Search(options.Kb):
    """Search documents for WORDS with BM25.

    No model is loaded. Each document is shown with its score and the number and text of the
    sentence that matches best. As with grep, the exit status is 1 if no document matches.

    For example:
      admiral search "host of the Emmy Awards" --kb my-kb
      admiral search late night comedian --kb my-kb -k 3 --json
    """

    words: Annotated[tuple[str, ...], argument()]
    count: Count = 10
    """Maximum number of documents."""
    as_json: Json = False
    """Print one record per document."""

    def run(self) -> None:
        from admiral.io.rendering import render_text, search_record
        from admiral.kb import KnowledgeBase, locate
        from admiral.kb.bm25.analysis import best_sentences

        query = options.checked_text(" ".join(self.words), "WORDS")
        path = locate(self.kb)
        with KnowledgeBase.open(path) as opened:
            (found,) = opened.search([query], self.count)
            documents = [opened.document(scored.title) for scored in found]
        if not found:
            raise AdmiralError(
                f"{path}: no document has any of these words. Very common words are not searched"
            )
        sentences = best_sentences(query, documents)
        if self.as_json:
            for rank, row in enumerate(zip(found, documents, sentences, strict=True), 1):
                print_record(search_record(rank, *row))
        else:
            click.echo(
                render_text("search", found=zip(found, sentences, strict=True), **shown()), nl=False
            )


class Show(options.Kb):
    """Show the document with a title.

    Its sentences are numbered from 0, as `sentence_id` in results. If there is no such document,
    similar titles are suggested.

    For example:
      admiral show "Seth Meyers" --kb my-kb
    """

    title: Annotated[Text, argument()]
    source: bool = False
    """Name the file and the line or the pages that the document was read from."""
    as_json: Json = False
    """Print one record, which has the source."""

    def run(self) -> None:
        from admiral.io.rendering import render_text
        from admiral.kb import KnowledgeBase, UnknownTitleError, locate
        from admiral.records import json_of

        with KnowledgeBase.open(locate(self.kb)) as opened:
            try:
                document = opened.document(self.title)
            except UnknownTitleError as error:
                similar = ", ".join(map(repr, similar_titles(opened, self.title)))
                if not similar:
                    raise
                raise AdmiralError(f"{error} Similar titles: {similar}") from error
        origin = origin_of(document)
        if self.as_json:
            print_record(json_of(document) | {"origin": origin})
            return
        named, places = None, list[str]()
        if self.source:
            named = _named(origin)
            for place in (origin or {}).get("places", ()):
                places.append(" ".join(f"{kind} {name}" for kind, name in (place or {}).items()))
        text = render_text("document", document=document, origin=named, places=places, **shown())
        click.echo(text, nl=False)


def origin_of(document: Document) -> dict[str, Any] | None:
    """Return the file that a document was read from; None if its knowledge base does not say.

    With it comes the ``line`` of a record, or the ``places`` of sentences, each ``{"page": 3}``,
    say, or None.
    """
    from admiral.kb.corpus.files.file_types import file_type
    from admiral.records import SECTION_SEPARATOR

    if document.file:
        return {"file": document.file, "line": document.line}
    if not document.source:
        return None
    file, _, fragment = document.source.rpartition("#")
    if not (file and fragment and file_type(file)):
        file = document.source  # the name of a file may have this sign
    part = getattr(file_type(file), "part", "")
    places: list[dict[str, Any] | None] = []
    for section in document.sections if part else ():
        word, _, name = section.partition(SECTION_SEPARATOR)[0].partition(" ")
        number = int(name) if name.isdecimal() and word != "sheet" else name
        places.append({word: number} if word == part and name else None)
    return {"file": file, "places": places} if any(places) else {"file": file}


def _named(origin: dict[str, Any] | None) -> str:
    if origin is None:
        return "source unknown: the knowledge base does not say (build it again to record sources)"
    return f"{origin['file']}, line {origin['line']:,}" if "line" in origin else origin["file"]


_SUGGESTIONS = 5
# Titles of one beginning that are compared; all titles of a large knowledge base take minutes.
_COMPARED = 5000


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


class Titles(options.Kb):
    """List the titles that begin with PREFIX, or all titles.

    There is one title per line, in Unicode order. Upper and lower case differ. On a terminal,
    control characters are escaped; files, pipes and --json get the original titles in UTF-8. As
    with grep, the exit status is 1 if there is no such title.

    For example:
      admiral titles "Seth" --kb my-kb
    """

    prefix: Annotated[str, argument()] = ""
    limit: Annotated[options.Positive, options.option("--limit", metavar="N")] | None = None
    """Maximum number of titles."""
    as_json: Json = False
    """Print one record per line: {"title": "...", "row": 0}."""

    def run(self) -> None:
        from admiral.io.rendering import printable
        from admiral.kb import KnowledgeBase, locate

        prefix, path = self.prefix, locate(self.kb)
        if prefix:
            options.checked_text(prefix, "PREFIX")
        escape = sys.stdout.isatty()
        any_title = False
        with KnowledgeBase.open(path) as opened:
            for title, row in islice(opened.complete(prefix), self.limit):
                any_title = True
                if self.as_json:
                    print_record({"title": title, "row": row})
                elif escape:
                    click.echo(printable(title))
                else:
                    sys.stdout.buffer.write(title.encode("utf-8") + b"\n")
        if not any_title:
            raise AdmiralError(
                f"{path}: no title begins with {prefix!r}. Upper and lower case differ; "
                "try fewer letters"
            )


search_command, show_command, titles_command = command(Search), command(Show), command(Titles)
