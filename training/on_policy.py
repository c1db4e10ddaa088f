"""Samples of what real hops read: their evidence and their distractors, not drawn ones.

A model trained on drawn evidence meets other inputs in use: the sentences that the system chose,
right or wrong, often with every gold document among them. Here the system answers training claims,
and each of its hops becomes the input of the next one.

Run as ``python -m training.on_policy --kb KB --model DIR --source hover:FILE OUT.jsonl``; repeat it
with the newly trained model between stages of training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.kb.kb_paths import check_output_path
from admiral.retrieval.state import Progress
from admiral.storage.output_paths import check_place, keep_apart
from training.data.claim_sources import Source, drawn
from training.data.samples import (
    RerankDocument,
    RerankSample,
    RetrieveSample,
    Sample,
    write_samples,
)


def on_policy(
    system: Admiral, claims: Sequence[GoldClaim], rerank_documents: int = 12, seed: int = 0
) -> Iterator[Sample]:
    """Run the hops of claims and yield a retrieval and a reranking sample of each hop.

    Parameters
    ----------
    system
        Answers the claims. Its judge should not stop early: ``judge=never``.
    claims
        Claims with gold documents; of those without gold sentences no reranking samples are made.
    rerank_documents
        Documents of a reranking sample: those of the gold that the hop read, and others it read,
        the best ones first.
    seed
        Draws the order of documents.
    """
    asked = (Claim(claim.id, claim.claim) for claim in claims)
    for progress, claim in zip(system.explore(asked), claims, strict=True):
        rng = random.Random(f"{seed} {claim.claim}")
        yield RetrieveSample(claim.claim, (), 0, claim.titles)
        for number in range(len(progress.hops)):
            yield from _of_hop(system, progress, number, claim, rerank_documents, rng)


def _of_hop(
    system: Admiral,
    progress: Progress,
    number: int,
    claim: GoldClaim,
    rerank_documents: int,
    rng: random.Random,
) -> Iterator[Sample]:
    evidence = tuple((s.title, s.text) for s in progress.hops[number].evidence)
    if evidence:
        sample = RetrieveSample(claim.claim, evidence, number + 1, claim.titles)
        if sample.targets():
            yield sample
    if not claim.sentences:
        return
    read = progress.read[number]
    wrong = [title for title in read if title not in claim.titles]
    right = [title for title in claim.titles if title in read]
    documents = [
        RerankDocument(
            title,
            system.kb.document(title).sentences,
            tuple(index for one, index in claim.sentences if one == title),
        )
        for title in [*right, *wrong[: max(rerank_documents - len(right), 1)]]
    ]
    if right and wrong:
        rng.shuffle(documents)
        # What the hop read beside the claim: the state in which it began.
        begun = replace(progress.until(number), sets=progress.sets[: number + 1])
        kept = tuple((s.title, s.text) for s in begun.kept())
        yield RerankSample(claim.claim, kept, tuple(documents))


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--source",
    "sources",
    multiple=True,
    required=True,
    metavar="FORMAT:FILE",
    help="Claims with gold documents, as training.build_data takes them; repeatable.",
)
@click.option("--kb", default="demo", show_default=True, help="Knowledge base.")
@click.option("--model", default="mini", show_default=True, help="Checkpoint that runs the hops.")
@click.option("--hops", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--limit",
    default=2000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Claims of each source at most.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Settings of the runs.")
@click.option("--seed", default=0, show_default=True)
def main(
    out: Path,
    sources: tuple[str, ...],
    kb: str,
    model: str,
    hops: int,
    limit: int,
    settings: tuple[str, ...],
    seed: int,
) -> None:
    """Write samples of the hops of claims to OUT (JSON Lines)."""
    try:
        parsed = [Source.parse(one) for one in sources]
        check_place(out)
        keep_apart(out, *(one.path for one in parsed))
        check_output_path(out, kb, model)
        fixed = [f"kb={kb}", f"model={model}", f"hops={hops}", "judge=never"]
        config = load_config(None, [*settings, *fixed])
        with Admiral.from_pretrained(config=config) as system:
            claims = drawn(parsed, system.kb, limit, seed)
            count = write_samples(out, on_policy(system, claims, seed=seed))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {count:,} samples of {len(claims):,} claims", err=True)


if __name__ == "__main__":
    main()
