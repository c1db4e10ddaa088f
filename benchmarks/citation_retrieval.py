"""Retrieval of the cited page: which index and passage length finds it (SIDE, table 4).

    python -m benchmarks.citation_retrieval WICE.jsonl --more WICE-TOKENS.jsonl.gz
        [--introductions KB] [--dense minilm] [--lengths 50/50,100/50,...]

The pool are the pages that the claims of WICE and of the further files cite, and the introductions
of a knowledge base as distractors, without that of the claim's own page. P@1 and SR@k count pages,
whose rank is that of their best passage (KILT's rules); of each index, 100 passages are read.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.citations.source_search import (
    best_passages,
    claim_query,
    reciprocal_rank_fusion,
)
from admiral.evaluation.measures import Group, Measure, confidence_intervals, paired_comparison
from admiral.io.claims import evenly_spaced
from admiral.io.streams import numbered_lines
from admiral.kb import KnowledgeBase
from admiral.kb.vectors import SentenceEncoder
from admiral.sources import ScoredPassage, Source
from admiral.sources.canonical_urls import canonical
from admiral.sources.open_sources import Sources
from admiral.sources.source_files import SourceFiles, wice_url
from admiral.sources.source_indexing import build_sources

CUTS = (1, 5, 20)
PASSAGES = 100
_INTRODUCTION = "urn:introduction:"

Ranking = list[ScoredPassage]


def cited_claims(path: Path) -> list[CitedClaim]:
    """Return the claims of a file of WiCE with their context and the name of the cited page."""
    claims = []
    for item in numbered_lines(path):
        if isinstance(item, Exception):
            raise item
        record = json.loads(item[1])
        meta = record["meta"]
        headings = (heading.strip(" .") for heading in meta["claim_section"].split(".:"))
        claims.append(
            CitedClaim(
                id=meta["id"],
                claim=record["claim"],
                page=meta["claim_title"],
                section=tuple(filter(None, headings)),
                before=" ".join(meta["claim_context"].split()),
                citations=(Citation(wice_url(meta["id"])),),
            )
        )
    return claims


def introductions(kb: KnowledgeBase) -> Iterator[Source]:
    """Yield the documents of a knowledge base as sources."""
    for number, document in enumerate(kb.documents()):
        yield Source(f"{_INTRODUCTION}{number}", document.title, " ".join(document.sentences))


def without_own_page(claim: CitedClaim, ranking: Ranking) -> Ranking:
    """Return a ranking without the introduction of the page of the claim."""
    return [
        scored
        for scored in ranking
        if scored.passage.title != claim.page or not scored.passage.url.startswith(_INTRODUCTION)
    ]


def page_rank(ranking: Ranking, gold: Sequence[str]) -> int | None:
    """Return the rank, from 1, of the first page of `ranking` that is cited; None if none is."""
    wanted = {canonical(url) for url in gold}
    for rank, scored in enumerate(best_passages(ranking), start=1):
        if canonical(scored.passage.url) in wanted:
            return rank
    return None


class Table:
    """Rows of the table: ranks of the cited page under different settings, same claims.

    Parameters
    ----------
    claims
        The claims.
    """

    def __init__(self, claims: Sequence[CitedClaim]) -> None:
        self._claims = claims
        self._group = Group("all", np.ones(len(claims), np.bool_))
        self._rows: dict[str, list[Measure]] = {}

    def add(self, name: str, rankings: Sequence[Ranking], baseline: str = "") -> None:
        """Print a row.

        It has shares in percent with 95% intervals, and p-values against a row above, if
        that was measured.
        """
        ranks = [
            page_rank(without_own_page(claim, ranking), [c.url for c in claim.citations])
            for claim, ranking in zip(self._claims, rankings, strict=True)
        ]
        measures = [
            Measure("pages", f"@{cut}", np.array([[float((r or cut + 1) <= cut)] for r in ranks]))
            for cut in CUTS
        ]
        measures.append(Measure("pages", "MRR", np.array([[1 / r if r else 0.0] for r in ranks])))
        self._rows[name] = measures
        cells = [
            f"{100 * measure.value(self._group.members):.1f} ({100 * low:.1f}–{100 * high:.1f})"
            for measure, (low, high) in zip(
                measures, confidence_intervals(measures, self._group), strict=True
            )
        ]
        if baseline in self._rows and baseline != name:
            differences = paired_comparison(self._rows[baseline], measures, self._group)
            cells.append(" / ".join(f"{d.p_value:.3f}" for d in differences))
        else:
            cells.append("")
        click.echo(f"| {name} | {' | '.join(cells)} |")


def print_head(what: str) -> None:
    """Print the title and the head of a table."""
    click.echo(f"\n{what}\n\n| search | P@1 | SR@5 | SR@20 | MRR | p of each, against |")
    click.echo("|---|---|---|---|---|---|")


def oracle_queries(pages: Sources, claims: Sequence[CitedClaim]) -> list[str]:
    """Return queries with the true title of the cited page, the best an expansion could do."""
    sources = [pages.source(claim.citations[0].url) for claim in claims]
    return [
        f"{claim_query(claim)} {source.title if source else ''}"
        for claim, source in zip(claims, sources, strict=True)
    ]


def compare_indexes(
    pages: Sources, claims: Sequence[CitedClaim], encoder: SentenceEncoder | None = None
) -> None:
    """Print the rows of sparse retrieval, of dense retrieval and of fusion."""
    table = Table(claims)
    queries = list(map(claim_query, claims))
    began = time.perf_counter()
    sparse = pages.search(queries, PASSAGES)
    seconds = time.perf_counter() - began
    table.add("BM25", sparse)
    click.echo(f"BM25: {1000 * seconds / len(claims):.1f} ms a query", err=True)
    oracle = pages.search(oracle_queries(pages, claims), PASSAGES)
    table.add("BM25, with the true title of the source", oracle, "BM25")
    if encoder is not None:
        dense = pages.dense(encoder).search(queries, PASSAGES)
        table.add("MiniLM", dense, "BM25")
        fused = [reciprocal_rank_fusion(pair) for pair in zip(sparse, dense, strict=True)]
        table.add("RRF of both", fused, "BM25")


def compare_lengths(
    claims: Sequence[CitedClaim], sources: Any, lengths: Sequence[str], folder: Path
) -> None:
    """Print rows for passages of different lengths and strides, and for BM25's parameters."""
    table = Table(claims)
    texts = list(map(claim_query, claims))
    first = ""
    for length, k1 in [*((length, 0.9) for length in lengths), ("100/50", 0.6)]:
        words, stride = map(int, length.split("/"))
        place = folder / f"{words}-{stride}-{k1}"
        report = build_sources(sources(), place, words=words, stride=stride, k1=k1)
        name = f"words {words}, stride {stride}, k1 {k1}"
        with Sources.open(place) as opened:
            table.add(name, opened.search(texts, PASSAGES), first)
            passages = opened.kb.counts["passages"]
        first = first or name
        each = report.bytes / passages
        click.echo(
            f"{name}: {passages:,} passages, {each:.0f} bytes each, {report.seconds:.1f} s",
            err=True,
        )


@click.command()
@click.argument("wice", type=click.Path(exists=True, path_type=Path))
@click.option("--more", multiple=True, type=click.Path(exists=True), help="Further files of pages.")
@click.option(
    "--sources",
    "prepared",
    type=click.Path(exists=True, path_type=Path),
    help="Knowledge base of the same pages, instead of building one.",
)
@click.option("--introductions", "kb", help="Knowledge base of distractors.")
@click.option("--dense", type=click.Choice(["minilm"]), help="Encoder of passages.")
@click.option("--lengths", default="", help="Words and strides, as in 100/100,100/50.")
@click.option(
    "--limit", type=click.IntRange(1), help="Measure so many claims, evenly spaced in the file."
)
@click.option("--words", default=100, show_default=True)
@click.option("--stride", default=50, show_default=True)
def main(
    wice: Path,
    more: tuple[str, ...],
    prepared: Path | None,
    kb: str | None,
    dense: str | None,
    lengths: str,
    limit: int | None,
    words: int,
    stride: int,
) -> None:
    """Print the tables of docs/citations.md."""
    claims: Sequence[CitedClaim] = cited_claims(wice)
    claims = evenly_spaced(claims, limit or 0)
    encoder = None
    if dense:
        import torch

        from admiral.requirements import MINILM, minilm_directory
        from admiral.retrieval.rerankers import PASSAGE_TOKENS, MeanPoolingEncoder

        encoder = MeanPoolingEncoder(
            minilm_directory(), MINILM, dtype=torch.bfloat16, max_tokens=PASSAGE_TOKENS
        )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def pages() -> SourceFiles:
            return SourceFiles([wice, *more])

        if prepared is None:
            prepared = folder / "pages"
            build_sources(pages(), prepared, words=words, stride=stride, encoder=encoder)
        with Sources.open(prepared) as opened:
            print_head(
                f"{len(opened.kb):,} pages, {opened.kb.counts['passages']:,} passages of "
                f"{words} words, stride {stride}, "
                f"{len(claims)} claims"
            )
            compare_indexes(opened, claims, encoder)
        if lengths:
            print_head("passages of different lengths")
            compare_lengths(claims, pages, lengths.split(","), folder)
        if kb:
            with KnowledgeBase.open(kb) as distractors:
                sources = chain(pages(), introductions(distractors))
                report = build_sources(sources, folder / "all", words=words, stride=stride)
            with Sources.open(folder / "all") as opened:
                print_head(
                    f"{report.documents:,} sources with introductions, "
                    f"{opened.kb.counts['passages']:,} passages of {words} words, stride {stride}"
                )
                compare_indexes(opened, claims)


if __name__ == "__main__":
    main()
