"""Pairs from claims with gold sentences: the evidence, and evidence from which a part is missing.

A pair that lacks gold sentences has other sentences of the same documents in their place, so that
its length and its topic do not give the label away.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from admiral.gold import GoldClaim, Label
from proofs.verifier.pair_input import evidence_text
from training.data.evidence_corpora import Corpus, holds_gold
from training.data.verification_pairs import NOT_ENTAILMENT, Pair

#: The label of a pair with a claim's evidence.
LABELS = {
    Label.SUPPORTS: "entailment",
    Label.REFUTES: "contradiction",
    Label.NOT_SUPPORTED: NOT_ENTAILMENT,
    Label.NOT_ENOUGH_INFO: "neutral",
}
_SEARCHED_DOCUMENTS = 5
Sentence = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Settings of the pairs that are built from a claim.

    Attributes
    ----------
    max_sentences
        Maximum number of evidence sentences, unless more are gold.
    max_distractors
        Maximum number of sentences added to the gold ones, of the same documents and of others
        that BM25 finds.
    """

    max_sentences: int = 8
    max_distractors: int = 3


def evidence_pairs(
    claim: GoldClaim,
    corpus: Corpus,
    source: str,
    settings: PairSettings,
    rng: random.Random,
) -> Iterator[Pair]:
    """Yield the pairs of a claim; none if the corpus lacks its gold sentences, or it has no label.

    These are its evidence with its label; its evidence without the sentences of one document, or
    without its only one; and sentences of documents that are not gold.

    Parameters
    ----------
    claim
        A claim.
    corpus
        The documents.
    source
        Name of the data set.
    settings, rng
        Settings, and the generator of the choices.
    """
    if claim.label is None or not holds_gold(corpus, claim):
        return
    label = LABELS[claim.label]
    gold = [(title, corpus.document(title).sentences[n]) for title, n in claim.sentences]
    # Sentences of all alternative evidence sets are gold, so they cannot be distractors.
    others = {title: _other_sentences(claim, corpus, title) for title in claim.titles}
    found = _searched(claim, corpus)
    pool = [*(sentence for of_title in others.values() for sentence in of_title), *found]
    distractors = rng.sample(pool, min(rng.randint(0, settings.max_distractors), len(pool)))
    yield Pair(claim.claim, _shuffled([*gold, *distractors], rng), label, source, 1.0, True)

    hidden = rng.choice(claim.titles)
    rest = [(title, text) for title, text in gold if title != hidden]
    removed = len(gold) - len(rest)
    filling = rng.sample(others[hidden], min(max(removed, 2), len(others[hidden])))
    if rest or filling:
        # What is left of a refuting set may still refute, so only "not entailed" is certain.
        certain = label == "entailment" or (label == "contradiction" and not rest)
        yield Pair(
            claim.claim,
            _shuffled([*rest, *filling], rng),
            "neutral" if certain else NOT_ENTAILMENT,
            source,
            1.0,
            bool(rest),
        )
    if found:
        chosen = rng.sample(found, min(rng.randint(1, settings.max_sentences), len(found)))
        yield Pair(claim.claim, _shuffled(chosen, rng), "neutral", source, 0.5, False)


def _other_sentences(claim: GoldClaim, corpus: Corpus, title: str) -> list[Sentence]:
    numbers = set(claim.sentence_numbers(title))
    texts = corpus.document(title).sentences
    return [(title, text) for n, text in enumerate(texts) if n not in numbers and text.strip()]


def _searched(claim: GoldClaim, corpus: Corpus) -> list[Sentence]:
    """Return the first sentences of documents that BM25 finds and that are not gold."""
    (results,) = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)
    gold = set(claim.all_titles)
    documents = [corpus.document(r.title) for r in results if r.title not in gold]
    return [(d.title, text) for d in documents for text in d.sentences[:2] if text.strip()]


def _shuffled(sentences: Sequence[Sentence], rng: random.Random) -> str:
    """Return sentences as evidence in random order, as a hop selects them."""
    return evidence_text(rng.sample(sentences, len(sentences)))
