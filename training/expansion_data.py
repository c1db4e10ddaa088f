"""Build training samples of query expansion: claim in context in, title of the cited page out.

Run as ``python -m training.expansion_data --kb KB --wice TOKENS.train.jsonl.gz OUT.jsonl``. The
samples are those of hop 0 of the hop retriever, so that `training.retriever` trains on them
(configs/side-expander.yaml).

Pseudo-citations are sentences of a knowledge base as claims, with the documents that they cite. A
sentence of document A that mentions document B is a claim in context, and B its source, if B
mentions A as well, since then B is likely to say the same (WAFER has real citations instead;
Petroni et al., 2023). In a share of the claims, the mention is masked: most real claims do not
name their source.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

from admiral.citations.citation_file import read_citations, read_wice
from admiral.citations.citation_records import CitedClaim, ContextForm, claim_in_context
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.store import check_outside_folders
from admiral.library import Library
from admiral.records import Document
from admiral.retrieval.first_stage import base_title, find_mentions
from admiral.storage.atomic_files import check_distinct_paths, check_output_path
from training.command_options import exclude_option, kb_option, seed_option
from training.data.claim_sources import is_held_out
from training.data.samples import RetrieveSample, write_samples

_SENTENCES = 6  # first sentences of a document that are read
_MIN_WORDS, _MAX_WORDS = 6, 60  # of a claim
_MASKS = ("it", "he", "she", "they", "the company", "another", "one")


@dataclass(frozen=True, slots=True)
class PseudoCitation:
    """A claim in context and the title of its source."""

    claim: CitedClaim
    source: str


def pseudo_citations(
    kb: KnowledgeBase, seed: int = 0, *, masked: float = 0.5, excluded: Collection[str] = ()
) -> Iterator[PseudoCitation]:
    """Yield the pseudo-citations of all documents of a knowledge base, in random order.

    `masked`: probability that the name of the source is masked in the claim.
    """
    rng = random.Random(seed)
    rows = [int(row) for row in kb.rows()]
    rng.shuffle(rows)
    for row in rows:
        document = kb.document_at(row)
        if document.title in excluded:
            continue
        for number, sentence in enumerate(document.sentences[:_SENTENCES]):
            if not _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS:
                continue
            for start, end, source in _sources(kb, document, sentence):
                text = sentence
                if source in excluded:
                    continue
                if rng.random() < masked:
                    text = sentence[:start] + rng.choice(_MASKS) + sentence[end:]
                claim = CitedClaim(
                    id=f"{row}:{number}",
                    claim=text,
                    page=document.title,
                    before=" ".join(document.sentences[:number]),
                )
                yield PseudoCitation(claim, source)


def _sources(
    kb: KnowledgeBase, document: Document, sentence: str
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and title of each mention of a document that mentions `document`."""
    for mention in find_mentions(kb, sentence):
        title = mention.titles[0]
        # A name with several meanings, or of the same thing, is no sign of a source.
        if len(mention.titles) > 1 or base_title(title) == base_title(document.title):
            continue
        other = kb.document(title)
        # Most names of one word are those of countries, months and languages.
        if len(base_title(title).split()) > 1 and _mentions(kb, other, document.title):
            yield mention.start, mention.end, title


def _mentions(kb: KnowledgeBase, document: Document, title: str) -> bool:
    """Return whether the first sentences of a document mention a title."""
    if base_title(title) not in (text := " ".join(document.sentences[:_SENTENCES])):
        return False
    return any(title in mention.titles for mention in find_mentions(kb, text))


#: Forms of the context of which one is drawn for each sample. The claim alone is what
#: `admiral cite` has.
CONTEXTS: tuple[ContextForm, ...] = ("sentence", "sentence", "title", "claim")
#: Most words of a title; the rest is left out.
TITLE_WORDS = 12


def expansion_sample(claim: CitedClaim, title: str, context: ContextForm) -> RetrieveSample:
    """Return the sample of a claim that cites a page with a title."""
    words = title.replace("[", "(").replace("]", ")").split()
    gold = " ".join(words[:TITLE_WORDS])
    return RetrieveSample(claim_in_context(claim, context), (), 0, (gold,))


def library_citations(paths: Iterable[Path], library: Library) -> Iterator[tuple[CitedClaim, str]]:
    """Yield each claim of WAFER or other files with the title of its page, if one is known.

    A title is that which the library has, or else that which the reference states.
    """
    for path in paths:
        for claim in read_citations(path):
            for citation in claim.citations:
                source = library.source(citation.url) if citation.url else None
                if title := (source.title if source is not None else "") or citation.title:
                    yield claim, title
                    break


def titled_citations(paths: Iterable[Path]) -> Iterator[tuple[CitedClaim, str]]:
    """Yield each claim whose cited page has a title, and the title."""
    for path in paths:
        for citation in read_wice(path):
            if citation.source.title:
                yield citation.claim, citation.source.title


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@kb_option("name")
@click.option(
    "--count",
    type=click.IntRange(min=0),
    default=30_000,
    show_default=True,
    help="Most pseudo-citations of the knowledge base.",
)
@click.option(
    "--wice",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Training claims of WiCE with the text of the cited page; repeatable.",
)
@click.option(
    "--citations",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Claims of WAFER or `citations.jsonl`, whose pages are in --library; repeatable.",
)
@click.option("--library", metavar="DIR", help="Library of the pages of --citations.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Copies of each claim of --wice and --citations.",
)
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the pages of these that is left out, and written to --held-out.",
)
@click.option(
    "--held-out", type=click.Path(path_type=Path), help="File of the samples that are left out."
)
@exclude_option("their pages are in no sample", exists=True)
@seed_option
def main(
    out: Path,
    name: str,
    count: int,
    wice: tuple[Path, ...],
    citations: tuple[Path, ...],
    library: str | None,
    repeat: int,
    hold_out: float,
    held_out: Path | None,
    exclude: tuple[Path, ...],
    seed: int,
) -> None:
    """Write samples of query expansion to OUT (JSON Lines), the same for the same seed."""
    if bool(hold_out) != (held_out is not None):
        raise click.UsageError("--hold-out and --held-out need each other.")
    if bool(citations) != (library is not None):
        raise click.UsageError("--citations and --library need each other.")
    try:
        outputs = [out, *([held_out] if held_out else [])]
        for path in outputs:
            check_output_path(path)
            check_outside_folders(path, name)
        check_distinct_paths(*outputs, *wice, *citations, *exclude)
        excluded = {claim.page for path in exclude for claim in read_citations(path)}
        kept: list[tuple[CitedClaim, str]] = []
        left: list[tuple[CitedClaim, str]] = []
        given = list(titled_citations(wice))
        if library is not None:
            with Library.open(library) as opened:
                given += library_citations(citations, opened)
        for claim, title in given:
            if claim.page not in excluded:
                (left if is_held_out(claim.page, hold_out) else kept).append((claim, title))
        cited = kept * repeat
        with KnowledgeBase.open(locate(name)) as kb:
            found = pseudo_citations(kb, seed, excluded=excluded)
            cited += [(each.claim, each.source) for each in islice(found, count)]
        rng = random.Random(seed)
        rng.shuffle(cited)
        samples = [expansion_sample(*each, rng.choice(CONTEXTS)) for each in cited]
        written = write_samples(out, samples)
        if held_out:
            write_samples(held_out, (expansion_sample(*each, "sentence") for each in left))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{out}: {written:,} samples, {len(kept) * repeat:,} of them cited pages; "
        f"{len(left):,} held out",
        err=True,
    )


if __name__ == "__main__":
    main()
