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
from typing import Annotated

import click

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.gold import GoldClaim
from training.data.claim_sources import sample_claims
from training.data.records import write_records
from training.data.sample_builder import gold_document
from training.data.samples import RerankSample, RetrieveSample, Sample
from training.data_options import ClaimOptions, Positive, program


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
        for number, hop in enumerate(state.hops):
            evidence = tuple((s.title, s.text) for s in state.records[number].leading)
            if evidence and not claim.has_alternatives:
                sample = RetrieveSample(claim.claim, evidence, number + 1, claim.titles)
                if sample.targets():
                    yield sample
            gold = [title for title in claim.titles if title in hop.read]
            others = [title for title in hop.read if title not in claim.all_titles]
            if claim.sentences and gold and others:
                titles = [*gold, *others[: max(rerank_documents - len(gold), 1)]]
                documents = [gold_document(claim, system.kb.document(title)) for title in titles]
                rng.shuffle(documents)
                # The reranker's input is the claim and the evidence kept from the hop before.
                before = state.before_reading(number).kept_sentences()
                kept = tuple((s.title, s.text) for s in before)
                yield RerankSample(claim.claim, kept, tuple(documents))


class HopOptions(ClaimOptions):
    """Options of this program."""

    model: Annotated[str, "DIR"] = "mini"
    """Checkpoint that runs the hops."""
    hops: Positive = 3
    limit: Positive = 2000
    """Maximum number of claims of each source."""
    set: Annotated[tuple[str, ...], "KEY=VALUE"] = ()
    """Retrieval settings."""


@program(HopOptions)
def main(options: HopOptions) -> None:
    """Write samples of the hops of claims to OUT (JSON Lines)."""
    fixed = (f"kb={options.kb}", f"model={options.model}", f"hops={options.hops}", "judge=never")
    config = load_config(None, [*options.set, *fixed])
    with Admiral.from_pretrained(config=config) as system:
        claims = sample_claims(options.claim_files(), system.kb, options.limit, options.seed)
        count = write_records(options.out, hop_samples(system, claims, seed=options.seed))
    click.echo(f"{options.out}: {count:,} samples of {len(claims):,} claims", err=True)
