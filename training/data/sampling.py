"""The samples of one claim for each of the three tasks (paper, appendix A.1)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from admiral.gold import GoldClaim
from admiral.retrieval.title_matching import base_title
from proofs import AnnotationError, annotate
from proofs.drafting.contextual_similarity import ContextualLikeness
from training.data.corpora_of_claims import Corpus, sentence_of
from training.data.negatives import Negatives
from training.data.samples import ProveSample, RerankDocument, RerankSample, RetrieveSample, Sample

#: The tasks of the one checkpoint.
TASKS = ("retrieve", "rerank", "prove")
# Documents a reranking sample draws from, and sentences of a kept document that are negatives.
_HARD_DOCUMENTS, _KEPT_SENTENCES = 10, 6
# Share of documents still to be found that stand among the evidence already.
_ALSO_READ = 0.5
# Share of reranking samples that have read some evidence already.
_WITH_EVIDENCE = 0.4


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How many samples to make of a claim, and with which negatives.

    Attributes
    ----------
    sentences
        The paper's `l`: evidence sentences in an input, gold ones and negatives together.
    splits
        At most so many (kept documents, target document) splits per hop; 0 for all.
    short
        Share of inputs with fewer than `sentences`: they are cheaper, and what is to be copied is
        found in them sooner.
    candidates
        Documents from which negatives are drawn.
    rerankings
        Reranking samples, each with negatives of its own.
    rerank_documents
        Documents in a reranking sample.
    """

    sentences: int = 5
    splits: int = 3
    short: float = 0.0
    candidates: int = 20
    rerankings: int = 1
    rerank_documents: int = 6


class ClaimSampler:
    """Draws the samples of one claim.

    Parameters
    ----------
    claim
        With gold sentences or, for `retrieve` alone, with gold documents; its first evidence set
        is used.
    corpus
        Holds the gold sentences. Of gold documents without sentences it may lack some: these are
        targets only.
    negatives
        What is wrong.
    settings
        How many, and of what.
    rng
        Draws.
    likeness
        Aligns the spans of proofs by context, too; by words alone if not given.
    """

    def __init__(
        self,
        claim: GoldClaim,
        corpus: Corpus,
        negatives: Negatives,
        settings: BuildSettings,
        rng: random.Random,
        likeness: ContextualLikeness | None = None,
    ) -> None:
        self._claim, self._corpus, self._negatives = claim, corpus, negatives
        self._settings, self._random, self._likeness = settings, rng, likeness

    def samples(self, tasks: Sequence[str]) -> Iterator[Sample]:
        """Yield the samples of the tasks that the claim's evidence allows."""
        if "retrieve" in tasks:
            yield from self._retrieve()
        if not self._claim.sentences:
            return
        if "rerank" in tasks:
            for _ in range(self._settings.rerankings):
                yield self._rerank()
        if "prove" in tasks:
            yield from self._prove()

    def _retrieve(self) -> Iterator[RetrieveSample]:
        """Yield splits of the documents into those that are kept and those to be found.

        Often the evidence holds some of the latter as well: in a hop it does, too.
        """
        titles = self._claim.titles
        for count in range(len(titles)):
            splits = list(combinations(titles, count))
            self._random.shuffle(splits)
            for kept in splits[: self._settings.splits or None]:
                left = [title for title in titles if title not in kept]
                more = [title for title in left if count and self._random.random() < _ALSO_READ]
                found = [self._kept(title, left) for title in kept]
                if None in found:
                    continue
                found += [self._kept(title, left) for title in more]
                yield self._retrieve_one([pair for pair in found if pair is not None], count)

    def _retrieve_one(self, gold: list[tuple[str, str]], hop: int) -> RetrieveSample:
        claim = self._claim
        if not hop:  # nothing has been read
            return RetrieveSample(claim.claim, (), 0, claim.titles)
        evidence = gold + self._wrong([title for title, _ in gold], len(gold))
        self._random.shuffle(evidence)
        return RetrieveSample(claim.claim, tuple(evidence), hop, claim.titles)

    def _kept(self, title: str, left: Sequence[str]) -> tuple[str, str] | None:
        """Return a gold sentence of a document.

        Where only documents are annotated, it is one that names a document to be found, else the
        first; None where the corpus lacks the document.
        """
        indices = [index for one, index in self._claim.sentences if one == title]
        if indices:
            return title, sentence_of(self._corpus, title, self._random.choice(indices))
        if self._corpus.row(title) is None:
            return None
        sentences = self._corpus.document(title).sentences
        names = [base_title(other) for other in left if other != title]
        naming = (s for s in sentences if any(name in s for name in names))
        found = next(naming, next(iter(sentences), None))
        return None if found is None else (title, found)

    def _wrong(self, kept: Sequence[str], gold: int) -> list[tuple[str, str]]:
        """Draw sentences that fill an input up: of other documents, and of the kept ones."""
        count = max(self._settings.sentences - gold, 0)
        if self._random.random() < self._settings.short:
            count = self._random.randint(0, count)
        right = {pair for one in self._claim.evidence for pair in one}
        pool = list(self._negatives.sentences)
        if self._claim.sentences:
            pool += [
                (title, sentence)
                for title in kept
                for index, sentence in enumerate(
                    self._corpus.document(title).sentences[:_KEPT_SENTENCES]
                )
                if (title, index) not in right
            ]
        return self._random.sample(pool, min(count, len(pool)))

    def _rerank(self) -> RerankSample:
        claim, titles = self._claim, self._claim.titles
        chosen: tuple[tuple[str, str], ...] = ()
        if len(titles) > 1 and self._random.random() < _WITH_EVIDENCE:
            count = self._random.randint(1, len(titles) - 1)
            kept = titles[:count] if claim.ordered else self._random.sample(titles, count)
            chosen = tuple(pair for pair in self._gold() if pair[0] in kept)
        documents = [
            RerankDocument(
                title,
                self._corpus.document(title).sentences,
                tuple(i for t, i in claim.sentences if t == title),
            )
            for title in titles
        ]
        room = max(self._settings.rerank_documents - len(documents), 1)
        others = self._negatives.documents[:_HARD_DOCUMENTS]
        for other in self._random.sample(others, min(room, len(others))):
            documents.append(RerankDocument(other.title, other.sentences, ()))
        return RerankSample(claim.claim, chosen, tuple(documents))

    def _prove(self) -> Iterator[ProveSample]:
        """Yield the claim with sufficient evidence, and with one document withheld."""
        claim, full = self._claim, self._gold()
        withheld = self._random.choice(claim.titles)
        part = [pair for pair in full if pair[0] != withheld]
        for gold, sufficient in ((full, True), (part, False)):
            evidence = gold + self._wrong((), len(gold))
            self._random.shuffle(evidence)
            if not evidence:
                continue  # nothing to read: insufficient without a model
            lost = [pair for pair in full if pair not in gold]
            refuted = claim.refuted if sufficient else None
            try:
                proof = annotate(
                    claim.claim,
                    evidence,
                    sufficient,
                    refuted=refuted,
                    withheld=lost,
                    likeness=self._likeness,
                )
            except AnnotationError:
                continue  # sufficient, yet it holds no words to quote
            yield ProveSample(claim.claim, tuple(evidence), proof)

    def _gold(self) -> list[tuple[str, str]]:
        return [(t, sentence_of(self._corpus, t, i)) for t, i in self._claim.sentences]
