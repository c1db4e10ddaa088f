"""Examples from claims with gold documents: their evidence, and evidence that lacks a part.

An example that lacks gold sentences has other sentences of the same documents in their place, so
that its length and its topic do not give the label away.

Examples of choosing sentences, as hops do, have no label of the whole: gold sentences are relevant,
and the candidates beside them are sentences that BM25 confuses with these.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from admiral.gold import GoldClaim, Label
from admiral.retrieval.rerankers import BM25Reranker
from training.data.evidence_corpora import Corpus, gold_sentences, holds_gold
from training.data.examples import (
    NOT_ENTAILMENT,
    RELEVANT,
    UNLABELLED,
    Example,
    Labelled,
    Sentence,
    content_words,
)

#: The label of a claim's evidence.
LABELS = {
    Label.SUPPORTS: "entailment",
    Label.REFUTES: "contradiction",
    Label.NOT_SUPPORTED: NOT_ENTAILMENT,
    Label.NOT_ENOUGH_INFO: "neutral",
}
#: Weight of an example whose evidence need not be the one that decides the claim.
UNCERTAIN = 0.5
_MAX_SENTENCES = 6  # of an example, unless more are gold
_SEARCHED_DOCUMENTS = 5
_SENTENCES_PER_PAGE = 4
_SENTENCES_AMONG_OTHERS = 2


def evidence_examples(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield the examples of a claim; none if the corpus lacks its gold sentences, or its label.

    These are its evidence with its label; its evidence without the sentences of one document, or
    without its only one; and sentences of documents that are not gold. Of a claim without gold
    sentences, they are those of `_page_readings`.
    """
    if claim.label is None or (claim.sentences and not holds_gold(corpus, claim)):
        return
    label = LABELS[claim.label]
    results = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)[0]
    found = [result.title for result in results if result.title not in claim.all_titles]

    def example(items: Sequence[Labelled], label: str, weight: float = 1.0) -> Example:
        """Return an example with its sentences in random order, as a hop selects them."""
        bare = Example(claim.claim, (), label, source, group=claim.id, weight=weight)
        return bare.with_evidence(rng.sample(items, len(items)))

    if not claim.sentences:
        for sentences in _page_readings(claim, corpus, found):
            if sentences:
                yield example([(sentence, None) for sentence in sentences], label, UNCERTAIN)
        return
    gold = gold_sentences(claim, corpus)
    is_alone = len(gold) == 1 and label != NOT_ENTAILMENT
    one = label if label == "entailment" or is_alone else RELEVANT
    # Sentences of all alternative evidence sets are gold, so they cannot be distractors.
    others = {title: _other_sentences(claim, corpus, title) for title in claim.titles}
    first = [(t, text) for t in found for text in corpus.document(t).sentences[:2] if text.strip()]
    pool = [*(sentence for of_title in others.values() for sentence in of_title), *first]
    room = max(_MAX_SENTENCES - len(gold), 0)
    distractors = rng.sample(pool, min(rng.randint(0, room), len(pool)))
    yield example([*((s, one) for s in gold), *((s, None) for s in distractors)], label)

    hidden = rng.choice(claim.titles)
    rest = [sentence for sentence in gold if sentence[0] != hidden]
    removed = len(gold) - len(rest)
    filling = rng.sample(others[hidden], min(max(removed, 2), len(others[hidden])))
    if rest or filling:
        # What is left of a refuting set may still refute, so only "not entailed" is certain.
        is_entailed = label == "entailment"
        certain = is_entailed or (label == "contradiction" and not rest)
        kept: list[Labelled] = [(s, label if is_entailed else None) for s in rest]
        kept += [(sentence, None) for sentence in filling]
        yield example(kept, "neutral" if certain else NOT_ENTAILMENT)
    if first:
        count = min(rng.randint(1, _MAX_SENTENCES), len(first))
        chosen = [(sentence, "neutral") for sentence in rng.sample(first, count)]
        yield example(chosen, "neutral", UNCERTAIN)


def _page_readings(
    claim: GoldClaim, corpus: Corpus, found: Sequence[str]
) -> Iterator[list[Sentence]]:
    """Yield evidence of a claim of which only the gold documents are known, or not even these.

    The sentences of the gold documents that share most words with the claim are the evidence, alone
    and among sentences that retrieval finds. They need not decide the claim, so such examples count
    less. Claims with too little information have the sentences that retrieval finds.
    """
    if claim.label is Label.NOT_ENOUGH_INFO:
        yield closest_sentences(claim.claim, corpus, found[:3], _SENTENCES_PER_PAGE // 2)
        return
    titles = known_titles(claim, corpus)
    yield closest_sentences(claim.claim, corpus, titles, _SENTENCES_PER_PAGE)
    fewer = closest_sentences(claim.claim, corpus, titles, _SENTENCES_AMONG_OTHERS)
    if fewer and found:
        yield [*fewer, *closest_sentences(claim.claim, corpus, found[:3], 1)]


def known_titles(claim: GoldClaim, corpus: Corpus) -> tuple[str, ...]:
    """Return the first gold documents of a claim that a corpus holds all of; none without any."""
    for titles in claim.title_sets:
        if all(corpus.row(title) is not None for title in titles):
            return titles
    return ()


def closest_sentences(
    claim: str, corpus: Corpus, titles: Sequence[str], per_page: int
) -> list[Sentence]:
    """Return the sentences of each document that share most words with a claim."""
    words = content_words(claim)
    closest: list[Sentence] = []
    for title in titles:
        texts = [text for text in corpus.document(title).sentences if text.strip()]
        texts.sort(key=lambda text: -len(words & content_words(text)))
        closest += [(title, text) for text in texts[:per_page]]
    return closest


def _other_sentences(claim: GoldClaim, corpus: Corpus, title: str) -> list[Sentence]:
    numbers = claim.sentence_numbers(title)
    texts = corpus.document(title).sentences
    return [(title, text) for n, text in enumerate(texts) if n not in numbers and text.strip()]


_SEARCHED_CANDIDATES = 12
_HARD_SENTENCES = 16
_MOST_CANDIDATES = 8
_MOST_CHARACTERS = 1250  # of claim and sentences, so that most fit the model
_WRONG_EVIDENCE = 0.3  # share of examples with a sentence chosen before that is not gold
_COMPLETE = 0.3  # share of claims with an example whose evidence lacks nothing


def selection_examples(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield an example for each number of gold documents that the evidence may hold.

    `claim`: a claim with gold documents. Where their gold sentences are unknown, the sentence of
    each that shares most words with the claim counts, with less weight.
    """
    is_certain = bool(claim.sentences)
    if not is_certain:
        gold = closest_sentences(claim.claim, corpus, known_titles(claim, corpus), 1)
    else:
        gold = gold_sentences(claim, corpus) if holds_gold(corpus, claim) else []
    if not gold:
        return
    weight = 1.0 if is_certain else UNCERTAIN
    bare = Example(claim.claim, (), UNLABELLED, source, group=claim.id, weight=weight)
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
            label = "neutral" if is_certain else None
            candidates += [((title, text), label) for text in rng.sample(texts, min(1, len(texts)))]
        left = _MOST_CHARACTERS - len(claim.claim)
        left -= sum(_characters(sentence) for sentence, _ in [*chosen, *candidates])
        for sentence in hard:
            left -= _characters(sentence)
            if left < 0 or len(candidates) == _MOST_CANDIDATES:
                break
            candidates.append((sentence, "neutral"))
        rng.shuffle(candidates)
        yield bare.with_evidence([*chosen, *candidates])


def _hard_sentences(
    claim: GoldClaim, corpus: Corpus, evidence: Sequence[Sentence]
) -> list[Sentence]:
    query = " ".join([claim.claim, *(text for _, text in evidence)])
    queries = [claim.claim, query] if evidence else [claim.claim]
    found = corpus.search(queries, _SEARCHED_CANDIDATES)
    gold = set(claim.all_titles)
    titles = dict.fromkeys(r.title for results in found for r in results if r.title not in gold)
    documents = [corpus.document(title) for title in titles]
    (ranked,) = BM25Reranker().score([query], [documents], [[]])
    return [(s.title, s.text) for s in ranked[:_HARD_SENTENCES]]


def _characters(sentence: Sentence) -> int:
    return sum(map(len, sentence)) + 4
