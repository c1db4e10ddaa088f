"""Build training samples from the hops that the system itself makes on training claims.

A model trained on sampled evidence meets other inputs in use: sentences that the system selected,
right or wrong, often with every gold document among them. Here the system runs on training claims,
and the evidence of each hop is the input of a sample for the next hop.

Run as ``python -m training on_policy --kb KB --model DIR --source hover:FILE OUT.jsonl``. Repeat it
with the newly trained model between stages of training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.gold import GoldClaim
from admiral.retrieval.state import SearchState
from admiral.storage.atomic_files import check_distinct_paths
from training.command_options import (
    gold_source_option,
    hold_out_option,
    kb_option,
    limit_option,
    out_argument,
    program,
    retrieval_settings_option,
    seed_option,
)
from training.data.claim_sources import Source, sample_claims
from training.data.records import write_records
from training.data.sample_builder import gold_document
from training.data.samples import RerankSample, RetrieveSample, Sample


def hop_samples(
    system: Admiral, claims: Sequence[GoldClaim], rerank_documents: int = 12, seed: int = 0
) -> Iterator[Sample]:
    """Run the hops of claims and yield a retrieval and a reranking sample of each hop.

    - `system`: the system that searches. Its judge should not stop early: ``judge=never``.
    - `claims`: claims with gold documents. There are no reranking samples of claims without gold
      sentences, and of claims with alternative documents no retrieval samples after hop 0, where it
      is not known which of the others are still to be found.
    - `rerank_documents`: number of documents in a reranking sample: the gold documents that the hop
      read, and the best others that it read.
    """
    inputs = (Claim(claim.id, claim.claim) for claim in claims)
    for state, claim in zip(system.search_states(inputs), claims, strict=True):
        rng = random.Random(f"{seed} {claim.claim}")
        yield RetrieveSample(claim.claim, (), 0, claim.all_titles)
        for number in range(len(state.hops)):
            yield from _samples_of_hop(system, state, number, claim, rerank_documents, rng)


def _samples_of_hop(
    system: Admiral,
    state: SearchState,
    number: int,
    claim: GoldClaim,
    rerank_documents: int,
    rng: random.Random,
) -> Iterator[Sample]:
    evidence = tuple((s.title, s.text) for s in state.records[number].leading)
    if evidence and not claim.has_alternatives:
        sample = RetrieveSample(claim.claim, evidence, number + 1, claim.titles)
        if sample.targets():
            yield sample
    if not claim.sentences:
        return
    read = state.hops[number].read
    gold = [title for title in claim.titles if title in read]
    negatives = [title for title in read if title not in claim.all_titles]
    titles = [*gold, *negatives[: max(rerank_documents - len(gold), 1)]]
    documents = [gold_document(claim, system.kb.document(title)) for title in titles]
    if gold and negatives:
        rng.shuffle(documents)
        # The reranker's input is the claim and the evidence kept from the hop before.
        kept = tuple((s.title, s.text) for s in state.before_reading(number).kept_sentences())
        yield RerankSample(claim.claim, kept, tuple(documents))


@program
@out_argument
@gold_source_option
@kb_option()
@click.option("--model", default="mini", show_default=True, help="Checkpoint that runs the hops.")
@click.option("--hops", type=click.IntRange(min=1), default=3, show_default=True)
@limit_option(2000)
@retrieval_settings_option
@hold_out_option
@seed_option
def main(
    out: Path,
    sources: tuple[str, ...],
    kb: str,
    model: str,
    hops: int,
    limit: int,
    settings: tuple[str, ...],
    hold_out: float,
    seed: int,
) -> None:
    """Write samples of the hops of claims to OUT (JSON Lines)."""
    parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
    check_distinct_paths(out, *(source.path for source in parsed))
    fixed = [f"kb={kb}", f"model={model}", f"hops={hops}", "judge=never"]
    config = load_config(None, [*settings, *fixed])
    with Admiral.from_pretrained(config=config) as system:
        claims = sample_claims(parsed, system.kb, limit, seed)
        count = write_records(out, hop_samples(system, claims, seed=seed))
    click.echo(f"{out}: {count:,} samples of {len(claims):,} claims", err=True)
