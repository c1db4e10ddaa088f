"""Pairs whose evidence stands among sentences that retrieval finds, as it does in use.

Data sets of inference pair a claim with the one sentence that decides it. A hop reads that sentence
among others that share words with the claim, and a verifier trained on the sentence alone takes the
whole for neutral.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.data.evidence_corpora import Corpus
from training.data.page_pairs import closest_sentences
from training.data.verification_pairs import Pair

_SEARCHED_DOCUMENTS = 4
_DECIDED = ("entailment", "contradiction")


def surrounded_pairs(
    pairs: Sequence[Pair], source: str, corpus: Corpus, seed: int
) -> Iterator[Pair]:
    """Yield the entailed and contradicted pairs of a source with further sentences.

    Neutral pairs are left out, since retrieval may find what decides their claims.

    Parameters
    ----------
    pairs
        Pairs of all sources.
    source
        The source to take pairs of.
    corpus
        The documents to find sentences in: the best one of each document that BM25 finds for the
        claim. They have no titles, as the evidence has none.
    seed
        Seed of their number and order.
    """
    chosen = [pair for pair in pairs if pair.source == source and pair.label in _DECIDED]
    results = corpus.search([pair.claim for pair in chosen], _SEARCHED_DOCUMENTS)
    for pair, found in zip(chosen, results, strict=True):
        rng = random.Random(f"{seed} {pair.claim} {pair.evidence}")
        titles = [result.title for result in found[: rng.randint(1, _SEARCHED_DOCUMENTS)]]
        around = [text for _, text in closest_sentences(pair.claim, corpus, titles, 1)]
        texts = [pair.evidence, *(text for text in around if text not in pair.evidence)]
        if len(texts) > 1:
            yield replace(pair, evidence=" ".join(rng.sample(texts, len(texts))))
