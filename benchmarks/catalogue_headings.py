"""A corpus in which mentions fail: titles become catalogue headings, texts stay as they are.

Run as ``python -m benchmarks.catalogue_headings CORPUS CLAIMS.jsonl --out DIR``, then index
``DIR/corpus.jsonl`` and measure with ``DIR/CLAIMS.jsonl``. Two titles with the same heading are
duplicate titles: the command counts them, and ``admiral index --on-duplicate`` decides about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import COMPRESSED_SUFFIXES, json_objects
from admiral.kb.corpus.corpora import Corpora
from admiral.records import Document
from admiral.storage.atomic_files import (
    check_distinct_paths,
    encode_record,
    write_atomically,
)
from training.data.samples import catalogue_heading


class HeadingCounter:
    """Count titles, and how many headings stay as the title or stand for several titles.

    Attributes
    ----------
    unchanged
        Number of titles that are their own heading.
    """

    def __init__(self) -> None:
        self.unchanged = 0
        # Hashes take a fraction of the memory of titles; a false hit is improbable.
        self._titles: set[int] = set()
        self._headings: set[int] = set()

    def renamed(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents with headings as titles and as targets of their links."""
        for document in documents:
            heading = catalogue_heading(document.title)
            if hash(document.title) not in self._titles:
                self._titles.add(hash(document.title))
                self._headings.add(hash(heading))
                self.unchanged += heading == document.title
            links = tuple(tuple(map(catalogue_heading, row)) for row in document.links)
            yield replace(document, title=heading, links=links)

    def __str__(self) -> str:
        shared = len(self._titles) - len(self._headings)
        return (
            f"{len(self._titles):,} titles: {self.unchanged:,} of one word are unchanged, "
            f"{shared:,} share their heading with another title"
        )


def renamed_claims(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of claims in HoVer's format, with headings as gold titles.

    Raises
    ------
    RecordError
        If a record is not a claim in HoVer's format.
    """
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        facts = record.get("supporting_facts") or [None]
        if not all(isinstance(fact, list) and len(fact) == 2 for fact in facts):
            problem, remedy = "is not [title, sentence number]", "Give claims in HoVer's format"
            raise RecordError(where, "supporting_facts", problem, remedy)
        renamed = [(catalogue_heading(title), sentence) for title, sentence in facts]
        yield encode_record({**record, "supporting_facts": renamed})


def _line(document: Document) -> bytes:
    record = {"title": document.title, "sentences": document.sentences}
    return encode_record({**record, "links": document.links} if document.links else record)


def _name_of_copy(path: Path) -> str:
    return path.stem if path.suffix in COMPRESSED_SUFFIXES else path.name


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path, exists=True))
@click.argument("claims", type=click.Path(path_type=Path, exists=True), nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for corpus.jsonl and the files of claims, under their names; made if needed.",
)
def main(corpus: Path, claims: tuple[Path, ...], out: Path) -> None:
    """Write CORPUS and CLAIMS (HoVer's format) with catalogue headings as titles."""
    outputs = [out / "corpus.jsonl", *(out / _name_of_copy(path) for path in claims)]
    counter = HeadingCounter()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for number, output in enumerate(outputs):
            check_distinct_paths(output, corpus, *claims, *outputs[:number])
        for path, output in zip(claims, outputs[1:], strict=True):
            write_atomically(output, renamed_claims(path))
        records = Corpora(corpus, "auto", skip_bad=False).records(progress=False)
        documents = counter.renamed(record.document for record in records)
        write_atomically(outputs[0], map(_line, documents))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{outputs[0]}: {counter}")


if __name__ == "__main__":
    main()
