"""Build training samples of query expansion: claim in context in, title of the cited page out.

Run as ``python -m training expansion_data --citations WAFER --kb DIR OUT.jsonl``. The samples
are those of hop 0 of the hop retriever, so that the program `retriever` trains on them
(configs/paper-side-expander.yaml).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from admiral.citations.citation_file import read_citations
from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import claim_in_context
from admiral.citations.source_search import EXPANDER_CONTEXT
from admiral.sources.open_sources import Sources
from admiral.storage.atomic_files import check_distinct_paths
from training.command_options import exclude_option, out_argument, program
from training.data.records import write_records
from training.data.samples import RetrieveSample

#: Most words of a title; the rest is left out.
TITLE_WORDS = 12


def expansion_sample(claim: CitedClaim, title: str) -> RetrieveSample:
    """Return the sample of a claim that cites a page with a title."""
    words = title.replace("[", "(").replace("]", ")").split()
    gold = " ".join(words[:TITLE_WORDS])
    return RetrieveSample(claim_in_context(claim, EXPANDER_CONTEXT), (), 0, (gold,))


def titled_citations(paths: Iterable[Path], sources: Sources) -> Iterator[tuple[CitedClaim, str]]:
    """Yield each claim of WAFER or other files with the title of its page, if one is known.

    A title is that which the source has, or else that which the reference states.
    """
    for path in paths:
        for claim in read_citations(path):
            for citation in claim.citations:
                source = sources.source(citation.url) if citation.url else None
                if title := (source.title if source is not None else "") or citation.title:
                    yield claim, title
                    break


@program
@out_argument
@click.option(
    "--citations",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="Claims of WAFER or `citations.jsonl`, whose pages are in --kb; repeatable.",
)
@click.option("--kb", required=True, metavar="DIR", help="Knowledge base of their pages.")
@exclude_option("their pages are in no sample", exists=True)
def main(out: Path, citations: tuple[Path, ...], kb: str, exclude: tuple[Path, ...]) -> None:
    """Write samples of query expansion to OUT (JSON Lines)."""
    check_distinct_paths(out, *citations, *exclude)
    excluded = {claim.page for path in exclude for claim in read_citations(path)}
    with Sources.open(kb) as opened:
        cited = titled_citations(citations, opened)
        samples = (
            expansion_sample(claim, title) for claim, title in cited if claim.page not in excluded
        )
        written = write_records(out, samples)
    click.echo(f"{out}: {written:,} samples", err=True)
