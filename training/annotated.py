"""Claims with gold evidence as training samples (paper, appendix A.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.records import Document, ScoredTitle
from proofs import AnnotationError, annotate
from training.samples import ProveSample, RerankDocument, RerankSample, RetrieveSample, Sample


class Corpus(Protocol):
    """What the builder needs of a knowledge base."""

    def row(self, title: str) -> int | None: ...
    def document(self, title: str) -> Document: ...
    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]: ...


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How many samples to make of a claim, and with which negatives.

    Attributes
    ----------
    sentences
        The paper's `l`: evidence sentences in an input, gold ones and negatives together.
    splits
        At most so many (kept documents, target document) splits per hop.
    candidates
        Documents of the first stage from which negatives are drawn.
    rerankings
        Reranking samples, each with negatives of its own.
    rerank_documents
        Documents in a reranking sample.
    """

    sentences: int = 5
    splits: int = 3
    candidates: int = 20
    rerankings: int = 1
    rerank_documents: int = 6


def holds_gold(corpus: Corpus, claim: GoldClaim) -> bool:
    """Return whether a claim has gold sentences and all of them are in a corpus."""
    return bool(claim.sentences) and all(
        corpus.row(title) is not None and 0 <= index < len(corpus.document(title).sentences)
        for title, index in claim.sentences
    )


class SampleBuilder:
    """Turns gold claims into samples of the three tasks, the same ones for the same seed."""

    def __init__(self, corpus: Corpus, settings: BuildSettings, seed: int = 0) -> None:
        self._corpus = corpus
        self._settings = settings
        self._random = random.Random(seed)
        self.skipped = 0

    def samples(
        self, claims: Iterable[GoldClaim], tasks: Sequence[str], batch: int = 256
    ) -> Iterator[Sample]:
        """Yield the samples of all claims whose gold sentences are in the knowledge base."""
        group: list[GoldClaim] = []
        for claim in claims:
            if not holds_gold(self._corpus, claim):
                self.skipped += 1
                continue
            group.append(claim)
            if len(group) == batch:
                yield from self._group(group, tasks)
                group = []
        yield from self._group(group, tasks)

    def _group(self, claims: Sequence[GoldClaim], tasks: Sequence[str]) -> Iterator[Sample]:
        if not claims:
            return
        found = self._corpus.search([c.claim for c in claims], self._settings.candidates)
        for claim, candidates in zip(claims, found, strict=True):
            negatives = [
                self._corpus.document(c.title) for c in candidates if c.title not in claim.titles
            ]
            if "retrieve" in tasks:
                yield from self._retrieve(claim, negatives)
            if "rerank" in tasks:
                for _ in range(self._settings.rerankings):
                    yield self._rerank(claim, negatives)
            if "prove" in tasks:
                yield from self._prove(claim, negatives)

    def _retrieve(
        self, claim: GoldClaim, negatives: Sequence[Document]
    ) -> Iterator[RetrieveSample]:
        titles = claim.titles
        for kept in range(len(titles)):
            splits = list(combinations(titles, kept))
            if claim.ordered:
                splits = [titles[:kept]]
            self._random.shuffle(splits)
            for split in splits[: self._settings.splits]:
                rest = [t for t in titles if t not in split]
                target = rest[0] if claim.ordered else self._random.choice(rest)
                yield self._retrieve_one(claim, split, target, negatives)

    def _retrieve_one(
        self,
        claim: GoldClaim,
        kept: Sequence[str],
        target: str,
        negatives: Sequence[Document],
    ) -> RetrieveSample:
        if not kept:
            return RetrieveSample(claim.claim, (), (), target)
        gold = [
            self._random.choice([e for e in claim.sentences if e[0] == title]) for title in kept
        ]
        # From none to a full input: short ones are cheap, and pointing is learnt on them first.
        room = max(self._settings.sentences - len(gold), 0)
        wrong = self._wrong(claim, kept, negatives, self._random.randint(0, room))
        evidence = [(t, self._text(t, i)) for t, i in gold] + wrong
        order = list(range(len(evidence)))
        self._random.shuffle(order)
        identifiers = sorted(order.index(position) for position in range(len(gold)))
        return RetrieveSample(
            claim.claim, tuple(evidence[i] for i in order), tuple(identifiers), target
        )

    def _wrong(
        self,
        claim: GoldClaim,
        kept: Sequence[str],
        negatives: Sequence[Document],
        count: int,
    ) -> list[tuple[str, str]]:
        """Draw sentences that are not evidence: of other candidates and of the kept documents."""
        gold = set(claim.sentences)
        pool = [(d.title, s) for d in negatives[:8] for s in d.sentences[:3]]
        pool += [
            (title, sentence)
            for title in kept
            for index, sentence in enumerate(self._corpus.document(title).sentences[:6])
            if (title, index) not in gold
        ]
        return self._random.sample(pool, max(min(count, len(pool)), 0))

    def _rerank(self, claim: GoldClaim, negatives: Sequence[Document]) -> RerankSample:
        chosen: tuple[tuple[str, str], ...] = ()
        if len(claim.titles) > 1 and self._random.random() < 0.4:
            kept = claim.titles[: self._random.randint(1, len(claim.titles) - 1)]
            if not claim.ordered:
                kept = tuple(self._random.sample(claim.titles, len(kept)))
            chosen = tuple((t, self._text(t, i)) for t, i in claim.sentences if t in kept)
        documents = [
            RerankDocument(
                title,
                self._corpus.document(title).sentences,
                tuple(i for t, i in claim.sentences if t == title),
            )
            for title in claim.titles
        ]
        room = max(self._settings.rerank_documents - len(documents), 1)
        # Hard ones mostly, some from further down the list.
        for other in self._random.sample(negatives[:10], min(room, len(negatives[:10]))):
            documents.append(RerankDocument(other.title, other.sentences, ()))
        return RerankSample(claim.claim, chosen, tuple(documents))

    def _prove(self, claim: GoldClaim, negatives: Sequence[Document]) -> Iterator[ProveSample]:
        """Yield the claim with sufficient evidence, and with one document withheld."""
        full = [(t, self._text(t, i)) for t, i in claim.sentences]
        withheld = self._random.choice(claim.titles)
        part = [(t, s) for t, s in full if t != withheld]
        for gold, sufficient in ((full, True), (part, False)):
            room = max(self._settings.sentences - len(gold), 0)
            wrong = self._wrong(claim, (), negatives, self._random.randint(0, room))
            evidence = gold + wrong
            self._random.shuffle(evidence)
            if not evidence:
                continue  # nothing to read: insufficient without a model
            lost = [pair for pair in full if pair not in gold]
            refuted = claim.refuted if sufficient else None
            try:
                proof = annotate(claim.claim, evidence, sufficient, refuted=refuted, withheld=lost)
            except AnnotationError:
                continue  # sufficient, yet it holds no words to quote
            yield ProveSample(claim.claim, tuple(evidence), proof)

    def _text(self, title: str, index: int) -> str:
        sentences = self._corpus.document(title).sentences
        if not 0 <= index < len(sentences):
            raise AdmiralError(
                f"{title!r} has no sentence {index}; was the corpus split otherwise?"
            )
        return sentences[index]
