"""Pairs from claims of which only the gold documents are known, or not even these.

The sentences of the gold documents that share most words with the claim are the evidence. They need
not decide it, so such pairs count less. Claims with too little information have the sentences that
retrieval finds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from admiral.gold import GoldClaim, Label
from proofs.verifier.pair_input import evidence_text
from training.data.evidence_corpora import Corpus
from training.data.evidence_pairs import LABELS
from training.data.verification_pairs import Pair

#: Weight of a pair whose evidence need not be the one that decides the claim.
UNCERTAIN = 0.5
_SENTENCES_PER_PAGE = 4
_SEARCHED_DOCUMENTS = 3
_WORD = re.compile(r"\d+|\w{4,}")


def page_pairs(claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the pair of a claim; none if it has no label, or the corpus lacks its documents.

    Parameters
    ----------
    claim
        A claim without gold sentences.
    corpus
        The documents.
    source
        Name of the data set.
    rng
        Generator of the order of the sentences.
    """
    if claim.label is None or claim.sentences:
        return
    known = (
        titles
        for titles in claim.title_sets
        if all(corpus.row(title) is not None for title in titles)
    )
    titles = next(known, None)
    relevance: bool | None = True
    if claim.label is Label.NOT_ENOUGH_INFO:
        (results,) = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)
        titles, relevance = tuple(result.title for result in results), None
    if not titles:
        return
    chosen = [
        (title, text)
        for title in titles
        for text in _closest(claim.claim, corpus.document(title).sentences)
    ]
    evidence = evidence_text(rng.sample(chosen, len(chosen)))
    if evidence:
        yield Pair(claim.claim, evidence, LABELS[claim.label], source, UNCERTAIN, relevance)


def _closest(claim: str, sentences: Sequence[str]) -> list[str]:
    """Return the sentences that share most words with a claim."""
    words = set(_WORD.findall(claim.casefold()))
    texts = [text for text in sentences if text.strip()]
    texts.sort(key=lambda text: -len(words.intersection(_WORD.findall(text.casefold()))))
    return texts[:_SENTENCES_PER_PAGE]
