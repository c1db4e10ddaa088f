"""Examples of passages: what decides a claim among the sentences around it, as sources have it.

Citations are checked against passages of a source, of which each sentence has the source's title,
or against sentences without titles, of which the source's own title is one. An entailed claim has
the same passage once more without the sentences that decide it, and with others of the document in
their place, so that neither the claim nor the length gives the label away.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from admiral.gold import GoldClaim
from admiral.io.sentence_splitter import split_sentences
from training.data.evidence_corpora import Corpus, holds_gold
from training.data.evidence_examples import LABELS, UNCERTAIN, closest_sentences, known_titles
from training.data.examples import NOT_ENTAILMENT, RELEVANT, Example, Labelled, content_words
from training.data.inference_examples import DECIDED

_WORDS = (80, 220)  # of a claim with its passage, so that most fit the model
_PIECE_WORDS = 90  # of sentences that are joined
_MAX_SENTENCES = 12
# Shares of claims whose passages have titles, and whose sentences are joined.
_TITLED, _JOINED = 0.5, 0.3
_SEARCHED_DOCUMENTS = 3
_ALIKE = 0.75  # share of words that two versions of a sentence have in common
Numbers = Mapping[str, Sequence[int]]  # of sentences, by title


def passage_examples(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield the examples of a claim with gold documents; none if the corpus lacks them.

    Where gold sentences are unknown, the closest ones of each document are taken for them if they
    have half of the words of the claim. Such examples count less.
    """
    deciding: dict[str, list[int]] = {}
    if claim.sentences and holds_gold(corpus, claim):
        for title, number in claim.sentences:
            deciding.setdefault(title, []).append(number)
    elif not claim.sentences:
        titles = known_titles(claim, corpus)
        said = content_words(claim.claim) - content_words(" ".join(titles))
        closest = closest_sentences(" ".join(said), corpus, titles, 1)
        if 2 * len(said & content_words(" ".join(text for _, text in closest))) >= len(said):
            deciding = {t: [corpus.document(t).sentences.index(text)] for t, text in closest}
    if claim.label is not None and deciding:
        documents = {title: corpus.document(title).sentences for title in deciding}
        weight = 1.0 if claim.sentences else UNCERTAIN
        bare = Example(claim.claim, (), LABELS[claim.label], source, group=claim.id, weight=weight)
        yield from _Passages(bare, documents, deciding, rng).examples()


def inference_passages(
    examples: Sequence[Example], corpus: Corpus, excluded: Set[str], seed: int
) -> Iterator[Example]:
    """Yield entailed and contradicted examples in the documents of their evidence.

    A document is one that BM25 finds for the evidence and that has all sentences of it, up to a few
    words. Its own version of them is used: sentences of a data set differ from those around them in
    style. Examples without such a document are left out.

    `excluded`: titles of documents that are not used.
    """
    chosen = [e for e in examples if e.label in DECIDED]
    texts = [[t for _, text in e.evidence for t in split_sentences(text)] for e in chosen]
    results = corpus.search([" ".join(own) for own in texts], _SEARCHED_DOCUMENTS)
    for at, (example, own, found) in enumerate(zip(chosen, texts, results, strict=True)):
        for title in (result.title for result in found if result.title not in excluded):
            sentences = corpus.document(title).sentences
            numbers = {number for text in own for number in _versions(text, sentences)[:1]}
            if numbers and len(numbers) == len(own):
                name = f"{example.source}-passage"
                group = example.group or f"{name}-{at}"
                bare = replace(example, evidence=(), sentences=(), source=name, group=group)
                rng = random.Random(f"{seed} {example.claim} {own}")
                deciding = {title: sorted(numbers)}
                yield from _Passages(bare, {title: sentences}, deciding, rng).examples()
                break


def _versions(text: str, sentences: Sequence[str]) -> list[int]:
    """Return the numbers of sentences that have the numerals and nearly all words of a text."""
    words = content_words(text)
    numerals = set(filter(str.isdigit, words))
    return [
        n
        for n, others in enumerate(map(content_words, sentences))
        if len(words & others) >= _ALIKE * len(words | others) > 0
        and numerals == set(filter(str.isdigit, others))
    ]


@dataclass(frozen=True, slots=True)
class _Passages:
    """Passages for an example without evidence, from the documents that decide its claim."""

    bare: Example
    documents: Mapping[str, Sequence[str]]  # sentences by title
    deciding: Numbers
    rng: random.Random

    def examples(self) -> Iterator[Example]:
        claim, label, rng = self.bare.claim, self.bare.label, self.rng
        hidden = rng.choice(list(self.deciding))
        text = " ".join(self.documents[hidden][number] for number in self.deciding[hidden])
        said = content_words(claim) & content_words(text) - content_words(hidden)
        gone = {(hidden, number) for number in self.deciding[hidden]}
        for title, sentences in self.documents.items():
            for number, text in enumerate(sentences):
                # Other sentences may repeat what the hidden ones say; then they decide.
                repeats = 2 * len(said & content_words(text)) >= max(len(said), 1)
                if repeats and number not in self.deciding[title]:
                    gone.add((title, number))
        # With no more words than those of the sentences that may be left, both can be of one
        # length.
        least, rest = self._size(self.deciding), self._size(self._usable(gone))
        room = min(rng.randint(*_WORDS) - _words(claim), max(least, rest))
        titled, joined = rng.random() < _TITLED, rng.random() < _JOINED
        # One of several sentences that refute a claim together need not refute it alone.
        alone = label == "entailment" or sum(map(len, self.deciding.values())) == 1
        known = label if alone and label != NOT_ENTAILMENT else RELEVANT
        if whole := self._grown(self.deciding, set(), room):
            yield self._presented(whole, known, label, titled, joined)
            without = self._grown(whole, gone, self._size(whole))
            if label == "entailment" and said and without:
                yield self._presented(without, known, "neutral", titled, joined)

    def _size(self, numbers: Numbers) -> int:
        return sum(_words(self.documents[title][n]) for title, own in numbers.items() for n in own)

    def _usable(self, gone: Set[tuple[str, int]]) -> dict[str, list[int]]:
        return {
            title: [n for n, text in enumerate(texts) if text.strip() and (title, n) not in gone]
            for title, texts in self.documents.items()
        }

    def _grown(self, start: Numbers, gone: Set[tuple[str, int]], room: int) -> dict[str, list[int]]:
        """Return sentences with those around them; none without room for those to begin with.

        `start`: the sentences to begin with. `gone`: sentences to leave out. `room`: number of
        words.
        """
        usable = self._usable(gone)
        chosen = {
            title: [n for n in own if n in start.get(title, ())] for title, own in usable.items()
        }
        room -= self._size(chosen)
        while room >= 0:
            fitting = [
                (title, n)
                for title, own in chosen.items()
                for n in _beside(own, usable[title])
                if _words(self.documents[title][n]) <= room
            ]
            if not fitting or sum(map(len, chosen.values())) >= _MAX_SENTENCES:
                return {title: own for title, own in chosen.items() if own}
            title, number = self.rng.choice(fitting)
            chosen[title] = sorted([*chosen[title], number])
            room -= _words(self.documents[title][number])
        return {}

    def _presented(
        self, numbers: Numbers, known: str, label: str, titled: bool, joined: bool
    ) -> Example:
        """Return an example; `known` is what deciding sentences do."""
        items: list[Labelled] = []
        for title, own in numbers.items():
            if not titled:
                items.append((("", title), None))
            pieces: list[list[int]] = []
            size = _PIECE_WORDS
            for number in own:
                size += _words(text := self.documents[title][number])
                if not joined or size > _PIECE_WORDS:
                    size = _words(text)
                    pieces.append([])
                pieces[-1].append(number)
            for piece in pieces:
                text = " ".join(self.documents[title][number] for number in piece)
                decides = not set(piece).isdisjoint(self.deciding[title])
                name = known if decides and self.bare.weight == 1 else None
                items.append(((title if titled else "", text), name))
        return self.bare.with_evidence(items, label)


def _beside(chosen: Sequence[int], usable: Sequence[int]) -> Sequence[int]:
    """Return the sentences between chosen ones, or else the two around them."""
    if not chosen:
        return usable
    before, after = ([n for n in usable if n < chosen[0]], [n for n in usable if n > chosen[-1]])
    between = [n for n in usable if n not in (*before, *chosen, *after)]
    return between or before[-1:] + after[:1]


def _words(text: str) -> int:
    return len(text.split())
