"""Examples of choosing sentences, as hops do: claims with evidence chosen before, and candidates.

The whole of such an example has no label. Gold sentences are relevant; the candidates beside them
are sentences that BM25 confuses with these, for the claim alone or with the evidence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from admiral.gold import GoldClaim
from admiral.retrieval.rerankers import BM25Reranker
from training.data.evidence_corpora import Corpus, holds_gold
from training.data.evidence_examples import (
    UNCERTAIN,
    Labelled,
    Sentence,
    closest_sentences,
    gold_sentences,
    known_titles,
)
from training.data.examples import RELEVANT, UNLABELLED, Example

_SEARCHED_DOCUMENTS = 12
_HARD_SENTENCES = 16
_MOST_CANDIDATES = 8
_MOST_CHARACTERS = 1250  # of claim and sentences, so that most fit the model
_WRONG_EVIDENCE = 0.3  # share of examples with a sentence chosen before that is not gold
_COMPLETE = 0.3  # share of claims with an example whose evidence lacks nothing


def selection_examples(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield an example for each number of gold documents that the evidence may hold.

    Parameters
    ----------
    claim
        A claim with gold documents. Where their gold sentences are unknown, the sentence of each
        that shares most words with the claim counts, with less weight.
    """
    gold, certain = _gold(claim, corpus)
    if not gold:
        return
    titles = list(dict.fromkeys(title for title, _ in gold))
    for known in range(len(titles) + (rng.random() < _COMPLETE)):
        before = rng.sample(titles, known)
        chosen: list[Labelled] = [(s, RELEVANT) for s in gold if s[0] in before]
        missing: list[Labelled] = [(s, RELEVANT) for s in gold if s[0] not in before]
        hard = _hard_sentences(claim, corpus, [s for s, _ in chosen])
        rng.shuffle(hard)
        if hard and rng.random() < _WRONG_EVIDENCE:
            chosen.append((hard.pop(), "neutral"))
        rng.shuffle(chosen)
        rng.shuffle(missing)
        candidates = missing[: rng.randint(1, 3)]
        if candidates and rng.random() < 0.5:
            title = candidates[0][0][0]
            own = {text for name, text in gold if name == title}
            texts = [t for t in corpus.document(title).sentences if t.strip() and t not in own]
            label = "neutral" if certain else None
            candidates += [((title, text), label) for text in rng.sample(texts, min(1, len(texts)))]
        left = _MOST_CHARACTERS - len(claim.claim) - _characters([*chosen, *candidates])
        for sentence in hard:
            left -= _characters([(sentence, None)])
            if left < 0 or len(candidates) == _MOST_CANDIDATES:
                break
            candidates.append((sentence, "neutral"))
        rng.shuffle(candidates)
        items = [*chosen, *candidates]
        yield Example(
            claim.claim,
            tuple(sentence for sentence, _ in items),
            UNLABELLED,
            source,
            tuple(label for _, label in items),
            group=claim.id,
            weight=1.0 if certain else UNCERTAIN,
        )


def _gold(claim: GoldClaim, corpus: Corpus) -> tuple[list[Sentence], bool]:
    """Return the gold sentences of a claim in a corpus, and whether they are known."""
    if claim.sentences:
        return gold_sentences(claim, corpus) if holds_gold(corpus, claim) else [], True
    return closest_sentences(claim.claim, corpus, known_titles(claim, corpus), 1), False


def _hard_sentences(
    claim: GoldClaim, corpus: Corpus, evidence: Sequence[Sentence]
) -> list[Sentence]:
    query = " ".join([claim.claim, *(text for _, text in evidence)])
    queries = [claim.claim, query] if evidence else [claim.claim]
    found = corpus.search(queries, _SEARCHED_DOCUMENTS)
    gold = set(claim.all_titles)
    titles = dict.fromkeys(r.title for results in found for r in results if r.title not in gold)
    documents = [corpus.document(title) for title in titles]
    (ranked,) = BM25Reranker().score([query], [documents], [[]])
    return [(s.title, s.text) for s in ranked[:_HARD_SENTENCES]]


def _characters(items: Sequence[Labelled]) -> int:
    return sum(len(title) + len(text) + 4 for (title, text), _ in items)
