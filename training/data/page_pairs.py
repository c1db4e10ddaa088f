"""Pairs from claims of which only the gold documents are known, or not even these.

The sentences of the gold documents that share most words with the claim are the evidence, alone and
among sentences that retrieval finds. They need not decide the claim, so such pairs count less.
Claims with too little information have the sentences that retrieval finds.
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
_SENTENCES_AMONG_OTHERS = 2
_SEARCHED_DOCUMENTS = 3
_WORD = re.compile(r"\d+|\w{4,}")


def page_pairs(claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the pairs of a claim; none if it has no label, or the corpus lacks its documents.

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
    titles = next(known, ())
    (results,) = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)
    found = [result.title for result in results if result.title not in claim.all_titles]
    readings: list[tuple[list[tuple[str, str]], bool | None]]
    if claim.label is Label.NOT_ENOUGH_INFO:
        readings = [(closest_sentences(claim.claim, corpus, found, _SENTENCES_PER_PAGE), None)]
    else:
        own = closest_sentences(claim.claim, corpus, titles, _SENTENCES_PER_PAGE)
        fewer = closest_sentences(claim.claim, corpus, titles, _SENTENCES_AMONG_OTHERS)
        readings = [(own, True)]
        if own and found:
            readings.append(([*fewer, *closest_sentences(claim.claim, corpus, found, 1)], True))
    for sentences, relevance in readings:
        evidence = evidence_text(rng.sample(sentences, len(sentences)))
        if evidence:
            yield Pair(claim.claim, evidence, LABELS[claim.label], source, UNCERTAIN, relevance)


def closest_sentences(
    claim: str, corpus: Corpus, titles: Sequence[str], per_page: int
) -> list[tuple[str, str]]:
    """Return the sentences of each document that share most words with a claim."""
    words = set(_WORD.findall(claim.casefold()))
    closest: list[tuple[str, str]] = []
    for title in titles:
        texts = [text for text in corpus.document(title).sentences if text.strip()]
        texts.sort(key=lambda text: -len(words.intersection(_WORD.findall(text.casefold()))))
        closest += [(title, text) for text in texts[:per_page]]
    return closest
