"""Does a trained map of query vectors find the cited page better than MiniLM as it is?

    python -m benchmarks.dense_queries TOKENS.train.jsonl.gz --library POOL --dev WICE.dev.jsonl

POOL is a library of all cited pages, with vectors of MiniLM. Its passages stay as they are; only
the vector of the query is mapped (`benchmarks.projection_fit`). The claims to train on are
divided by page into folds, and each claim is searched with a map that was fitted on other folds.
For ``--dev``, the map is fitted on all claims to train on. Hard negatives are the passages of other
pages that BM25 ranks first, and no page of ``--dev`` is among them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import click
import numpy as np
import torch

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_queries import QUERY_FORMS, claim_query
from admiral.citations.source_ranking import reciprocal_rank_fusion, union
from admiral.kb.embeddings.quantisation import dequantise
from admiral.library import Library, Passage, ScoredPassage
from admiral.library.canonical_urls import canonical
from admiral.reranking.mean_pooling import PASSAGE_TOKENS, MeanPoolingEncoder
from admiral.reranking.minilm_files import MINILM, minilm_directory
from benchmarks.citation_retrieval import (
    PASSAGES,
    Ranking,
    Table,
    cited_claims,
    page_rank,
    print_head,
)
from benchmarks.projection_fit import (
    ProjectionSettings,
    RetrievalExample,
    fit_projection,
    project,
)
from training.feature_fits import page_folds

_FOLDS = 10
_HARD_NEGATIVES = 5


class PassagePool:
    """The passages of a library as it was built, with the vectors that it stores.

    Parameters
    ----------
    library
        The library.
    encoder
        The encoder of its vectors.
    """

    def __init__(self, library: Library, encoder: MeanPoolingEncoder) -> None:
        self.passages = [p for s in library.sources() for p in library.passages(s.url)]
        self.index = library.dense(encoder)
        stored = np.concatenate([block for _, block in self.index.blocks()])
        if len(stored) != len(self.passages):
            raise click.ClickException(f"{library.path}: was changed. Build it again")
        self.vectors = torch.from_numpy(dequantise(stored))
        self.rows: dict[str, list[int]] = {}
        for row, passage in enumerate(self.passages):
            self.rows.setdefault(canonical(passage.url), []).append(row)

    def rankings(self, queries: torch.Tensor) -> list[Ranking]:
        """Return the best passages for query vectors."""
        return [
            [ScoredPassage(self.passages[row], score) for row, score in found]
            for found in self.index.search_vectors(queries.numpy(), PASSAGES)
        ]

    def row(self, passage: Passage) -> int:
        """Return the row of a passage."""
        return self.rows[canonical(passage.url)][passage.number]


def examples(
    claims: Sequence[CitedClaim],
    sparse: Sequence[Ranking],
    pool: PassagePool,
    excluded: Collection[str],
) -> list[RetrievalExample]:
    """Return an example for each claim, with the passages that BM25 ranks first as negatives.

    Parameters
    ----------
    claims, sparse
        Claims, and what BM25 finds for them.
    pool
        The passages.
    excluded
        Canonical URLs of pages that are no negatives.
    """
    found = []
    for at, (claim, ranking) in enumerate(zip(claims, sparse, strict=True)):
        own = canonical(claim.citations[0].url)
        others = [
            pool.row(scored.passage)
            for scored in ranking
            if (url := canonical(scored.passage.url)) != own and url not in excluded
        ]
        found.append(RetrievalExample(at, tuple(pool.rows[own]), tuple(others[:_HARD_NEGATIVES])))
    return found


def out_of_fold(
    claims: Sequence[CitedClaim],
    queries: torch.Tensor,
    pool: PassagePool,
    own: Sequence[RetrievalExample],
    settings: ProjectionSettings,
) -> torch.Tensor:
    """Return query vectors, each mapped by a map that was fitted on other pages."""
    mapped = queries.clone()
    for fold in page_folds([claim.page for claim in claims], _FOLDS):
        held_out = set(fold)
        kept = [one for one in own if one.query not in held_out]
        weights = fit_projection(queries, pool.vectors, kept, settings)
        mapped[fold] = project(queries[fold], weights)
    return mapped


def add_rows(
    table: Table, form: str, sparse: list[Ranking], plain: list[Ranking], trained: list[Ranking]
) -> None:
    """Print BM25, both dense rankings and their fusions with BM25."""
    table.add(f"BM25, {form}", sparse)
    table.add(f"MiniLM, {form}", plain, f"BM25, {form}")
    table.add(f"MiniLM trained, {form}", trained, f"MiniLM, {form}")
    for name, fuse in (("RRF", reciprocal_rank_fusion), ("union", union)):
        fused = [fuse(pair) for pair in zip(sparse, plain, strict=True)]
        table.add(f"{name} of BM25 and MiniLM, {form}", fused, f"BM25, {form}")
        fused = [fuse(pair) for pair in zip(sparse, trained, strict=True)]
        against = f"{name} of BM25 and MiniLM, {form}"
        table.add(f"{name} of BM25 and MiniLM trained, {form}", fused, against)


@click.command()
@click.argument("wice", type=click.Path(exists=True, path_type=Path))
@click.option("--library", "path", required=True, help="Library of all pages, with vectors.")
@click.option("--dev", type=click.Path(exists=True, path_type=Path), help="Claims to measure.")
@click.option("--form", type=click.Choice(list(QUERY_FORMS)), default="title", show_default=True)
@click.option(
    "--ridge",
    "ridges",
    multiple=True,
    type=float,
    default=(0.1, 0.01, 0.001),
    show_default=True,
    help="Strength of the regularisation; the best one by MRR of cross-validation is used.",
)
def main(wice: Path, path: str, dev: Path | None, form: str, ridges: tuple[float, ...]) -> None:
    """Print the retrieval of cited pages by mapped query vectors, beside the plain ones."""
    encoder = MeanPoolingEncoder(
        minilm_directory(), MINILM, dtype=torch.bfloat16, max_tokens=PASSAGE_TOKENS
    )
    train = cited_claims(wice)
    measured = cited_claims(dev) if dev else []
    with Library.open(path) as library:
        pool = PassagePool(library, encoder)
        texts = [claim_query(claim, QUERY_FORMS[form]) for claim in train]
        queries, sparse = encoder.unit_vectors(texts).clone(), library.search(texts, PASSAGES)
        excluded = {canonical(claim.citations[0].url) for claim in measured}
        own = examples(train, sparse, pool, excluded)
        print_head(f"{len(train)} claims to train on, by cross-validation")
        table = Table(train)
        plain = pool.rankings(queries)
        best, mapped, chosen = -1.0, plain, ridges[0]
        for ridge in ridges:
            settings = ProjectionSettings(ridge=ridge)
            found = pool.rankings(out_of_fold(train, queries, pool, own, settings))
            value = mean_reciprocal_rank(train, found)
            click.echo(f"ridge {ridge}: MRR {value:.4f}", err=True)
            if value > best:
                best, mapped, chosen = value, found, ridge
        add_rows(table, form, sparse, plain, mapped)
        if measured:
            print_head(f"{len(measured)} claims of {dev}, ridge {chosen}")
            weights = fit_projection(queries, pool.vectors, own, ProjectionSettings(ridge=chosen))
            texts = [claim_query(claim, QUERY_FORMS[form]) for claim in measured]
            vectors = encoder.unit_vectors(texts)
            add_rows(
                Table(measured),
                form,
                library.search(texts, PASSAGES),
                pool.rankings(vectors),
                pool.rankings(project(vectors, weights)),
            )


def mean_reciprocal_rank(claims: Sequence[CitedClaim], rankings: Sequence[Ranking]) -> float:
    """Return the mean reciprocal rank of the cited pages."""
    ranks = [
        page_rank(ranking, [claim.citations[0].url])
        for claim, ranking in zip(claims, rankings, strict=True)
    ]
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
