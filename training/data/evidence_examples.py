"""Examples from claims with gold documents: their evidence, and evidence that lacks a part.

An example that lacks gold sentences has other sentences of the same documents in their place, so
that its length and its topic do not give the label away.

Two claims with evidence of their own can be joined. A joined claim is entailed if both parts are,
and contradicted if one part is, whatever is known of the other; otherwise it is open. Claims in use
often have several parts, those of most data sets only one.

Examples of choosing sentences, as hops do, have no label of the whole: gold sentences are relevant,
and the candidates beside them are sentences that BM25 confuses with these.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from admiral.gold import GoldClaim, Label
from admiral.retrieval.rerankers import BM25Reranker
from training.data.evidence_corpora import Corpus, holds_gold
from training.data.examples import NOT_ENTAILMENT, RELEVANT, UNLABELLED, Example

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
_JOINTS = (". ", ", and ", "; ", ", while ")
_JOINED_SENTENCES = 3  # of each part
_JOINED_CHARACTERS = 160
# Half of the claims have two entailed parts, so that a joint does not mean contradiction.
_BOTH_ENTAILED = 0.5
# As many have evidence for one part only.
_HALF_OF_EVIDENCE = 0.4
_WORD = re.compile(r"\d+|\w{4,}")
Sentence = tuple[str, str]
Labelled = tuple[Sentence, str | None]


def evidence_examples(
    claim: GoldClaim,
    corpus: Corpus,
    source: str,
    rng: random.Random,
) -> Iterator[Example]:
    """Yield the examples of a claim; none if the corpus lacks its gold sentences, or its label.

    These are its evidence with its label; its evidence without the sentences of one document, or
    without its only one; and sentences of documents that are not gold.
    """
    if claim.label is None or not holds_gold(corpus, claim):
        return
    label = LABELS[claim.label]
    gold = gold_sentences(claim, corpus)
    one = (
        label if label == "entailment" or (len(gold) == 1 and label != NOT_ENTAILMENT) else RELEVANT
    )
    labelled: list[Labelled] = [(sentence, one) for sentence in gold]
    # Sentences of all alternative evidence sets are gold, so they cannot be distractors.
    others = {title: _other_sentences(claim, corpus, title) for title in claim.titles}
    found = _searched(claim, corpus)
    pool = [*(sentence for of_title in others.values() for sentence in of_title), *found]
    room = max(_MAX_SENTENCES - len(gold), 0)
    distractors = rng.sample(pool, min(rng.randint(0, room), len(pool)))
    yield _example(claim, [*labelled, *((s, None) for s in distractors)], label, source, rng)

    hidden = rng.choice(claim.titles)
    rest = [item for item in labelled if item[0][0] != hidden]
    removed = len(gold) - len(rest)
    filling = rng.sample(others[hidden], min(max(removed, 2), len(others[hidden])))
    if rest or filling:
        # What is left of a refuting set may still refute, so only "not entailed" is certain.
        certain = label == "entailment" or (label == "contradiction" and not rest)
        kept: list[Labelled] = [(s, name if label == "entailment" else None) for s, name in rest]
        yield _example(
            claim,
            [*kept, *((s, None) for s in filling)],
            "neutral" if certain else NOT_ENTAILMENT,
            source,
            rng,
        )
    if found:
        count = min(rng.randint(1, _MAX_SENTENCES), len(found))
        chosen: list[Labelled] = [(s, "neutral") for s in rng.sample(found, count)]
        yield _example(claim, chosen, "neutral", source, rng, weight=0.5)


def page_examples(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield the examples of a claim of which only the gold documents are known, or not even these.

    The sentences of the gold documents that share most words with the claim are the evidence, alone
    and among sentences that retrieval finds. They need not decide the claim, so such examples count
    less. Claims with too little information have the sentences that retrieval finds.

    `claim`: a claim without gold sentences.
    """
    if claim.label is None or claim.sentences:
        return
    titles = known_titles(claim, corpus)
    (results,) = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)
    found = [result.title for result in results if result.title not in claim.all_titles]
    label = LABELS[claim.label]
    if claim.label is Label.NOT_ENOUGH_INFO:
        readings = [closest_sentences(claim.claim, corpus, found[:3], _SENTENCES_PER_PAGE // 2)]
    else:
        own = closest_sentences(claim.claim, corpus, titles, _SENTENCES_PER_PAGE)
        fewer = closest_sentences(claim.claim, corpus, titles, _SENTENCES_AMONG_OTHERS)
        readings = [own]
        if own and found:
            readings.append([*fewer, *closest_sentences(claim.claim, corpus, found[:3], 1)])
    for sentences in readings:
        if sentences:
            items: list[Labelled] = [(sentence, None) for sentence in sentences]
            yield _example(claim, items, label, source, rng, weight=UNCERTAIN)


def gold_sentences(claim: GoldClaim, corpus: Corpus) -> list[Sentence]:
    """Return the gold sentences of a claim, which a corpus holds."""
    return [(title, corpus.document(title).sentences[n]) for title, n in claim.sentences]


def known_titles(claim: GoldClaim, corpus: Corpus) -> tuple[str, ...]:
    """Return the first gold documents of a claim that a corpus holds all of; none without any."""
    known = (
        titles
        for titles in claim.title_sets
        if all(corpus.row(title) is not None for title in titles)
    )
    return next(known, ())


def closest_sentences(
    claim: str, corpus: Corpus, titles: Sequence[str], per_page: int
) -> list[Sentence]:
    """Return the sentences of each document that share most words with a claim."""
    words = set(_WORD.findall(claim.casefold()))
    closest: list[Sentence] = []
    for title in titles:
        texts = [text for text in corpus.document(title).sentences if text.strip()]
        texts.sort(key=lambda text: -len(words.intersection(_WORD.findall(text.casefold()))))
        closest += [(title, text) for text in texts[:per_page]]
    return closest


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


def _example(
    claim: GoldClaim,
    items: Sequence[Labelled],
    label: str,
    source: str,
    rng: random.Random,
    weight: float = 1.0,
) -> Example:
    """Return an example with its sentences in random order, as a hop selects them."""
    shuffled = rng.sample(items, len(items))
    evidence = tuple(sentence for sentence, _ in shuffled)
    names = tuple(name for _, name in shuffled)
    return Example(claim.claim, evidence, label, source, names, group=claim.id, weight=weight)


def joined_examples(examples: Sequence[Example], source: str, seed: int) -> Iterator[Example]:
    """Yield an example for every two decided ones of a source."""
    rng = random.Random(f"{seed} {source}")
    parts: dict[str, list[Example]] = {"entailment": [], "contradiction": []}
    for example in examples:
        if example.source == source and example.label in parts and _is_short(example):
            parts[example.label].append(example)
    for own in parts.values():
        rng.shuffle(own)
    entailed, contradicted = parts["entailment"], parts["contradiction"]
    while len(entailed) > 1 and contradicted:
        if rng.random() < _BOTH_ENTAILED:
            pair = [entailed.pop(), entailed.pop()]
        else:
            other = contradicted if rng.random() < 1 / 3 and len(contradicted) > 1 else entailed
            pair = [contradicted.pop(), other.pop()]
        rng.shuffle(pair)
        yield _joined(pair[0], pair[1], source, rng)


def _is_short(example: Example) -> bool:
    return len(example.evidence) <= _JOINED_SENTENCES and len(example.claim) <= _JOINED_CHARACTERS


def _joined(first: Example, second: Example, source: str, rng: random.Random) -> Example:
    head, tail = first.claim.strip().rstrip("."), second.claim.strip().rstrip(".")
    begin = len(head) + len(joint := rng.choice(_JOINTS))
    claim = f"{head}{joint}{tail}."
    known = [first, second]
    if rng.random() < _HALF_OF_EVIDENCE:
        known.remove(rng.choice(known))
    labels = {part.label for part in known}
    label = "contradiction" if "contradiction" in labels else "entailment"
    if len(known) == 1 and label == "entailment":
        label = "neutral"
    items = [item for part in known for item in _sentences(part)]
    rng.shuffle(items)
    places = ((0, len(head), first), (begin, begin + len(tail), second))
    return Example(
        claim,
        tuple(sentence for sentence, _ in items),
        label,
        f"{source}-joined",
        tuple(name for _, name in items),
        tuple((b, e, part.label if part in known else "neutral") for b, e, part in places),
    )


def _sentences(part: Example) -> list[Labelled]:
    """Return the sentences of a part with what each does to the claim, if that is known."""
    if len(part.evidence) > 1:
        return [(sentence, None) for sentence in part.evidence]
    return [(part.evidence[0], part.label if part.label == "contradiction" else RELEVANT)]


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
    found = corpus.search(queries, _SEARCHED_CANDIDATES)
    gold = set(claim.all_titles)
    titles = dict.fromkeys(r.title for results in found for r in results if r.title not in gold)
    documents = [corpus.document(title) for title in titles]
    (ranked,) = BM25Reranker().score([query], [documents], [[]])
    return [(s.title, s.text) for s in ranked[:_HARD_SENTENCES]]


def _characters(items: Sequence[Labelled]) -> int:
    return sum(len(title) + len(text) + 4 for (title, text), _ in items)
