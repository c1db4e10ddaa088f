"""Build the file from which a verifier and an encoder learn on cited pages.

Run as ``python -m training citation_pairs --citations WAFER --kb DIR OUT.jsonl``, with records
of WAFER or WiCE, or claims of `admiral extract-citations`; the knowledge base has the texts of the
pages (Sphere, or what `admiral fetch` has got). Claims whose page it does not have, or
that editors have tagged as failing, are left out.

The positives of a claim are the first passages of its page; the negatives are the passages that are
retrieved for it from other pages, and random ones.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Self

import click
from pydantic import model_validator

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import ContextForm, claim_in_context
from admiral.citations.decide import FAILING_TAG
from admiral.citations.source_search import claim_query
from admiral.sources.canonical_urls import canonical
from admiral.sources.open_sources import Sources
from training.cited_pages import CitedPassages
from training.data.records import write_records
from training.data_options import CitationOptions, Count, Positive, SeedOptions, program

_BATCH = 64
_SEARCHED = 50  # passages of the search, of which those of the cited page are left out


class PairOptions(SeedOptions, CitationOptions):
    """Options of this program."""

    context: ContextForm = "claim"
    """Context that the verifier reads, as its setting `context`."""
    positives: Positive = 8
    """Most passages of the cited page."""
    retrieved: Count = 6
    """Passages of other pages that BM25 finds."""
    drawn: Count = 2
    """Passages of random pages."""

    @model_validator(mode="after")
    def _has_negatives(self) -> Self:
        if not self.retrieved + self.drawn:
            raise ValueError("--retrieved and --drawn are both 0: there is nothing to compare.")
        return self


def cited_passages(
    sources: Sources,
    claims: Sequence[CitedClaim],
    options: PairOptions,
    left_out: Counter[str],
) -> Iterator[CitedPassages]:
    """Yield claims with their passages; count those that are left out, by the reason."""
    rng = random.Random(options.seed)
    urls = [source.url for source in sources if source.text.strip()]
    for first in range(0, len(claims), _BATCH):
        batch = claims[first : first + _BATCH]
        queries = list(map(claim_query, batch))
        results = sources.search(queries, _SEARCHED)
        for claim, query, found in zip(batch, queries, results, strict=True):
            if FAILING_TAG in claim.tags:
                left_out["tagged as failing"] += 1
                continue
            own = {canonical(each.url) for each in claim.citations if each.url}
            cited = [p for url in sorted(own) for p in sources.passages(url)][: options.positives]
            others = [each.passage for each in found if canonical(each.passage.url) not in own]
            others = others[: options.retrieved]
            for url in rng.sample(urls, min(options.drawn + len(own), len(urls))):
                is_enough = len(others) >= options.retrieved + options.drawn
                if canonical(url) not in own and not is_enough:
                    others.append(rng.choice(sources.passages(url)))
            if not cited or not others:
                left_out["page not in the knowledge base" if not cited else "no other page"] += 1
                continue
            yield CitedPassages(
                claim.id,
                claim.page,
                claim_in_context(claim, options.context),
                query,
                tuple((passage.title, passage.text) for passage in cited),
                tuple((passage.title, passage.text) for passage in others),
            )


@program(PairOptions)
def main(options: PairOptions) -> None:
    """Write claims with passages of their page and of others to OUT (JSON Lines)."""
    left_out: Counter[str] = Counter()
    with Sources.open(options.kb) as sources:
        passages = cited_passages(sources, options.claims(), options, left_out)
        written = write_records(options.out, passages)
    reasons = "".join(f", {count:,} left out: {reason}" for reason, count in left_out.items())
    click.echo(f"{options.out}: {written:,} claims{reasons}", err=True)
