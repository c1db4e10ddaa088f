"""Build on-policy samples: the inputs are the evidence that the system's own hops select.

A model trained on sampled evidence meets other inputs in use: sentences that the system selected,
right or wrong, often with every gold document among them. Here the system runs on training claims,
and the evidence of each hop is the input of a sample for the next hop.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from admiral import Admiral, Claim
from admiral.gold import GoldClaim
from admiral.retrieval.state import SearchState
from training.data.claim_sampler import gold_document
from training.data.samples import RerankSample, RetrieveSample, Sample


def hop_samples(
    system: Admiral, claims: Sequence[GoldClaim], rerank_documents: int = 12, seed: int = 0
) -> Iterator[Sample]:
    """Run the hops of claims and yield a retrieval and a reranking sample of each hop.

    Parameters
    ----------
    system
        The system that searches. Its judge should not stop early: ``judge=never``.
    claims
        Claims with gold documents. There are no reranking samples of claims without gold sentences,
        and of claims with alternative documents no retrieval samples after hop 0, where it is not
        known which of the others are still to be found.
    rerank_documents
        Number of documents in a reranking sample: the gold documents that the hop read, and the
        best others that it read.
    seed
        Seed of the order of documents.
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
    evidence = tuple((s.title, s.text) for s in state.hops[number].evidence)
    if evidence and not claim.has_alternatives:
        sample = RetrieveSample(claim.claim, evidence, number + 1, claim.titles)
        if sample.targets():
            yield sample
    if not claim.sentences:
        return
    read = state.read[number]
    gold = [title for title in claim.titles if title in read]
    negatives = [title for title in read if title not in claim.all_titles]
    titles = [*gold, *negatives[: max(rerank_documents - len(gold), 1)]]
    documents = [gold_document(claim, system.kb.document(title)) for title in titles]
    if gold and negatives:
        rng.shuffle(documents)
        # The reranker's input is the claim and the evidence kept from the hop before.
        before = replace(state.first_hops(number), document_sets=state.document_sets[: number + 1])
        kept = tuple((s.title, s.text) for s in before.kept_sentences())
        yield RerankSample(claim.claim, kept, tuple(documents))
