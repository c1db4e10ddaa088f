"""Build the training samples of the three tasks from a knowledge base and annotated claims.

Run as ``python -m training.build_data --kb KB --hover claims.jsonl --pages pages.jsonl
--synthetic 8000 OUT.jsonl``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import click

from admiral.gold import GoldClaim, Label, read_gold
from admiral.kb import KnowledgeBase, locate
from training.annotated import BuildSettings, SampleBuilder
from training.samples import RetrieveSample, Sample, write_samples
from training.synthetic import ClaimWriter


def synthetic_claims(kb: KnowledgeBase, count: int, seed: int) -> Iterator[GoldClaim]:
    """Yield `count` claims written from the knowledge base itself."""
    documents = (kb.document_at(row) for row in range(len(kb)))
    writer = ClaimWriter({d.title: d.sentences for d in documents}, seed)
    for number, claim in enumerate(islice(writer.claims(), count), start=1):
        yield GoldClaim(str(number), claim.claim, Label.SUPPORTS, (claim.chain,), ordered=True)


def page_samples(path: Path, seed: int) -> Iterator[Sample]:
    """Yield hop-0 samples, claim to title, of claims that name their pages only."""
    rng = random.Random(seed)
    for claim in read_gold(path):
        if claim.titles:
            yield RetrieveSample(claim.claim, (), (), rng.choice(claim.titles))


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kb", "name", default="demo", show_default=True, help="Knowledge base.")
@click.option("--hover", type=click.Path(path_type=Path), help="Claims with gold sentences.")
@click.option("--pages", type=click.Path(path_type=Path), help="Claims with gold pages only.")
@click.option("--synthetic", default=0, show_default=True, help="Claims to write from the KB.")
@click.option(
    "--synthetic-task",
    "tasks",
    multiple=True,
    type=click.Choice(["retrieve", "rerank", "prove"]),
    default=("retrieve",),
    show_default=True,
    help="What to make of the written claims; may be given several times.",
)
@click.option("--splits", default=2, show_default=True, help="Splits of the gold per hop.")
@click.option(
    "--rerankings", default=1, show_default=True, help="Reranking samples of a gold claim."
)
@click.option(
    "--rerank-documents", default=6, show_default=True, help="Documents in a reranking sample."
)
@click.option(
    "--sentences",
    default=5,
    show_default=True,
    help="Evidence in an input; fewer for\
 a first stage of training, in which the model learns to copy.",
)
@click.option("--seed", default=0, show_default=True)
def main(
    out: Path,
    name: str,
    hover: Path | None,
    pages: Path | None,
    synthetic: int,
    tasks: tuple[str, ...],
    splits: int,
    rerankings: int,
    rerank_documents: int,
    sentences: int,
    seed: int,
) -> None:
    """Write training samples to OUT (JSON Lines), the same ones for the same seed."""
    parts: list[Iterator[Sample]] = []
    with KnowledgeBase.open(locate(name)) as kb:
        settings = BuildSettings(
            sentences, splits, rerankings=rerankings, rerank_documents=rerank_documents
        )
        builder = SampleBuilder(kb, settings, seed)
        if hover is not None:
            parts.append(builder.samples(read_gold(hover), ("retrieve", "rerank", "prove")))
        if pages is not None:
            parts.append(page_samples(pages, seed))
        if synthetic:
            chains = BuildSettings(
                sentences, splits=1, candidates=10, rerank_documents=rerank_documents
            )
            writer = SampleBuilder(kb, chains, seed)
            parts.append(writer.samples(synthetic_claims(kb, synthetic, seed), tasks))
        count = write_samples(out, chain.from_iterable(parts))
    click.echo(
        f"{count} samples; {builder.skipped} claims without gold documents in the KB", err=True
    )


if __name__ == "__main__":
    main()
