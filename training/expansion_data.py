"""Build training samples of query expansion: claim in context in, title of the cited page out.

Run as ``python -m training expansion_data --citations WAFER --kb DIR OUT.jsonl``. The samples
are those of hop 0 of the hop retriever, so that the program `retriever` trains on them
(configs/paper-side-expander.yaml).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import claim_in_context
from admiral.citations.source_search import EXPANDER_CONTEXT
from admiral.sources.open_sources import Sources
from training.data.records import write_records
from training.data.samples import RetrieveSample
from training.data_options import CitationOptions, program

#: Most words of a title; the rest is left out.
TITLE_WORDS = 12


def expansion_samples(claims: Iterable[CitedClaim], sources: Sources) -> Iterator[RetrieveSample]:
    """Yield a sample of each claim that cites a page whose title is known.

    A title is that which the source has, or else that which the reference states.
    """
    for claim in claims:
        for citation in claim.citations:
            source = sources.source(citation.url) if citation.url else None
            if title := (source.title if source is not None else "") or citation.title:
                words = title.replace("[", "(").replace("]", ")").split()
                gold = " ".join(words[:TITLE_WORDS])
                text = claim_in_context(claim, EXPANDER_CONTEXT)
                yield RetrieveSample(text, (), 0, (gold,))
                break


@program(CitationOptions)
def main(options: CitationOptions) -> None:
    """Write samples of query expansion to OUT (JSON Lines)."""
    with Sources.open(options.kb) as sources:
        written = write_records(options.out, expansion_samples(options.claims(), sources))
    click.echo(f"{options.out}: {written:,} samples", err=True)
