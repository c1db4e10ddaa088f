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
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import cast

import click

from admiral.citations.citation_file import read_citations
from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import ContextForm, claim_in_context
from admiral.citations.decide import FAILING_TAG
from admiral.citations.source_search import claim_query
from admiral.sources import Passage
from admiral.sources.canonical_urls import canonical
from admiral.sources.open_sources import Sources
from admiral.storage.atomic_files import check_distinct_paths
from training.cited_pages import CitedPassages, Titled
from training.command_options import exclude_option, out_argument, program, seed_option
from training.data.records import write_records

_BATCH = 64
_SEARCHED = 50  # passages of the search, of which those of the cited page are left out


def cited_passages(
    sources: Sources,
    claims: Sequence[CitedClaim],
    *,
    context: ContextForm = "claim",
    positives: int = 8,
    retrieved: int = 6,
    drawn: int = 2,
    seed: int = 0,
    left_out: Counter[str] | None = None,
) -> Iterator[CitedPassages]:
    """Yield claims with their passages.

    `positives`, `retrieved`, `drawn`: most passages of the cited page, of those that are retrieved,
    and of those that are drawn at random. `left_out`: counts the claims that are left out, by the
    reason.
    """
    rng = random.Random(seed)
    counts = Counter[str]() if left_out is None else left_out
    urls = [source.url for source in sources if source.text.strip()]
    for first in range(0, len(claims), _BATCH):
        batch = claims[first : first + _BATCH]
        queries = list(map(claim_query, batch))
        for claim, query, found in zip(
            batch, queries, sources.search(queries, _SEARCHED), strict=True
        ):
            if FAILING_TAG in claim.tags:
                counts["tagged as failing"] += 1
                continue
            own = {canonical(each.url) for each in claim.citations if each.url}
            cited = [p for url in sorted(own) for p in sources.passages(url)][:positives]
            others = [s.passage for s in found if canonical(s.passage.url) not in own][:retrieved]
            for url in rng.sample(urls, min(drawn + len(own), len(urls))):
                if canonical(url) not in own and len(others) < retrieved + drawn:
                    others.append(rng.choice(sources.passages(url)))
            if not cited or not others:
                counts["page not in the knowledge base" if not cited else "no other page"] += 1
                continue
            yield CitedPassages(
                claim.id,
                claim.page,
                claim_in_context(claim, context),
                query,
                tuple(map(_titled, cited)),
                tuple(map(_titled, others)),
            )


def _titled(passage: Passage) -> Titled:
    return passage.title, passage.text


def kept_claims(paths: Sequence[Path], excluded: Collection[str]) -> list[CitedClaim]:
    """Return the claims of files, without those of excluded pages."""
    claims = [claim for path in paths for claim in read_citations(path)]
    return [claim for claim in claims if claim.page not in excluded]


@program
@out_argument
@click.option(
    "--citations",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Claims with their citations: WAFER, WiCE or `citations.jsonl`; repeatable.",
)
@click.option("--kb", required=True, metavar="DIR", help="Knowledge base of the cited pages.")
@click.option(
    "--context",
    type=click.Choice(["claim", "all"]),
    default="claim",
    show_default=True,
    help="Context that the verifier reads, as its setting `context`.",
)
@click.option(
    "--positives",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Most passages of the cited page.",
)
@click.option(
    "--retrieved",
    type=click.IntRange(min=0),
    default=6,
    show_default=True,
    help="Passages of other pages that BM25 finds.",
)
@click.option(
    "--drawn",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Passages of random pages.",
)
@exclude_option("their pages are in no sample", exists=True)
@seed_option
def main(
    out: Path,
    citations: tuple[Path, ...],
    kb: str,
    context: str,
    positives: int,
    retrieved: int,
    drawn: int,
    exclude: tuple[Path, ...],
    seed: int,
) -> None:
    """Write claims with passages of their page and of others to OUT (JSON Lines)."""
    if not retrieved + drawn:
        raise click.UsageError("--retrieved and --drawn are both 0: there is nothing to compare.")
    left_out: Counter[str] = Counter()
    check_distinct_paths(out, *citations, *exclude)
    excluded = {claim.page for path in exclude for claim in read_citations(path)}
    claims = kept_claims(citations, excluded)
    with Sources.open(kb) as opened:
        found = cited_passages(
            opened,
            claims,
            context=cast(ContextForm, context),
            positives=positives,
            retrieved=retrieved,
            drawn=drawn,
            seed=seed,
            left_out=left_out,
        )
        written = write_records(out, found)
    reasons = "".join(f", {count:,} left out: {reason}" for reason, count in left_out.items())
    click.echo(f"{out}: {written:,} claims{reasons}", err=True)
