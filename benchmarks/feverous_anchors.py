"""A corpus in which pages name each other in other words: FEVEROUS pages without hyperlinks.

Run as ``python -m benchmarks.feverous_anchors PAGES CLAIMS --distractors CORPUS --out DIR``. The
text of a hyperlink, its anchor, often differs from the title of the page that it leads to:
"Pittsview" for "Pittsview, Alabama". Claims are kept if they need at least two pages and one of
these names another by such an anchor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click

from admiral.errors import AdmiralError, RecordError
from admiral.gold.evidence_formats import parse_pairs
from admiral.io.streams import json_objects
from admiral.io.text_cleaning import wikipedia_title, without_markup
from admiral.records import Document
from admiral.retrieval.title_matching import base_title
from admiral.storage.atomic_files import encode_record, write_atomically
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from benchmarks.corpus_files import read_corpus_file, write_corpus_file

# [[Target_title|anchor]], or [[Title]], whose anchor is the title.
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")


@dataclass(frozen=True, slots=True)
class Link:
    """A hyperlink to the page `target`, whose text is `anchor`."""

    target: str
    anchor: str

    @property
    def differs(self) -> bool:
        """Whether the anchor differs from the title, with and without its qualifier.

        Case is ignored.
        """
        spellings = (self.target, base_title(self.target))
        return self.anchor.casefold() not in map(str.casefold, spellings)


def links_of(page: Document) -> list[Link]:
    """Return the hyperlinks in the text of a page, in order."""
    matches = chain.from_iterable(map(_LINK.finditer, page.sentences))
    links = (Link(wikipedia_title(m[1]), (m[2] or m[1]).strip()) for m in matches)
    return [link for link in links if link.target]


def without_links(page: Document) -> Document:
    """Return a page whose hyperlinks are plain text."""
    return Document(page.title, tuple(without_markup(text)[0] for text in page.sentences))


def is_linked_in_other_words(titles: Iterable[str], links: Mapping[str, list[Link]]) -> bool:
    """Return whether one of several pages names another one by an anchor that differs.

    Parameters
    ----------
    titles
        Titles of pages.
    links
        The hyperlinks of every page of the corpus.
    """
    titles = set(titles)
    return any(
        link.differs and link.target != title and link.target in titles
        for title in titles
        for link in links[title]
    )


def read_pairs(path: Path) -> Iterator[tuple[dict[str, object], set[str]]]:
    """Yield the records of a file of claims, and the titles of their evidence."""
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        if "evidence" not in record:
            remedy = "Give claims with evidence [[title, sentence number], ...]"
            raise RecordError(where, "evidence", "missing", remedy)
        (facts,), _ = parse_pairs(record, where)
        yield record, {title for title, _ in facts}


@click.command()
@click.argument("pages", type=click.Path(path_type=Path, exists=True))
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--distractors",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="Corpus whose documents are added, except those with the title of a page.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for corpus.jsonl and claims.jsonl; made if needed.",
)
def main(pages: Path, claims: Path, distractors: Path, out: Path) -> None:
    """Write a corpus of PAGES without hyperlinks, and the CLAIMS that need one in other words."""
    corpus, kept = out / "corpus.jsonl", out / "claims.jsonl"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for output in (corpus, kept):
            check_output_path(output)
            check_distinct_paths(output, pages, claims, distractors)
        documents = list(read_corpus_file(pages, "jsonl"))
        links = {page.title: links_of(page) for page in documents}
        several = [
            (record, titles)
            for record, titles in read_pairs(claims)
            if len(titles) > 1 and titles <= links.keys()
        ]
        chosen = [r for r, titles in several if is_linked_in_other_words(titles, links)]
        write_atomically(kept, map(encode_record, chosen))
        others = (d for d in read_corpus_file(distractors) if d.title not in links)
        write_corpus_file(corpus, chain(map(without_links, documents), others))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    found = list(chain.from_iterable(links.values()))
    inside = [link for link in found if link.target in links]
    for name, some in (("links", found), ("links between pages", inside)):
        differ = sum(link.differs for link in some)
        click.echo(f"{name}: {len(some):,}; the anchor differs from the title in {differ:,}")
    click.echo(
        f"claims: {len(several):,} need two pages or more; {len(chosen):,} of these are linked by "
        "an anchor that differs"
    )


if __name__ == "__main__":
    main()
