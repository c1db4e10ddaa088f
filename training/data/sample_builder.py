"""Draw the training samples of one claim for each of the three tasks (paper, appendix A.1)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim, Label
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from proofs import AnnotationError, SpanLexicon, annotate
from proofs.drafting.contextual_similarity import ContextualSimilarity
from training.data.claim_sources import Source, SourceClaim
from training.data.evidence_corpora import (
    Bm25Negatives,
    Corpus,
    Negatives,
    NegativeSampler,
    PassageCorpus,
    missing_evidence,
    sentence_of,
)
from training.data.samples import ProveSample, RerankDocument, RerankSample, RetrieveSample, Sample

# A reranking sample draws its negatives from this many documents.
_HARD_DOCUMENTS = 10
# Of a gold document, this many first sentences may be negatives.
_GOLD_DOCUMENT_SENTENCES = 6
# Probability that the evidence of a retrieval sample holds a document still to be retrieved.
_TARGET_IN_EVIDENCE = 0.5
# Share of reranking samples whose input contains evidence.
_WITH_EVIDENCE = 0.4


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """The number of samples to draw for a claim, and their negatives."""

    # evidence sentences in an input, gold sentences and negatives together (l in the paper)
    sentences: int = 5
    # maximum number of splits per hop into documents that are kept and documents still to be
    # retrieved; 0 for all
    splits: int = 3
    # share of inputs with fewer than `sentences` sentences. They are cheaper, and a model learns
    # sooner to find in them what it has to copy.
    short: float = 0.0
    candidates: int = 20  # number of documents from which negatives are drawn
    rerankings: int = 1  # number of reranking samples, each with other negatives
    rerank_documents: int = 6  # number of documents in a reranking sample


def gold_document(claim: GoldClaim, document: Document) -> RerankDocument:
    """Return a document of a reranking sample, in which sentences of any evidence set are gold."""
    numbers = claim.sentence_numbers(document.title)
    relevant = tuple(number for number in numbers if number < len(document.sentences))
    return RerankDocument(document.title, document.sentences, relevant)


class ClaimSampler:
    """Draw the samples of one claim.

    - `claim`: a claim with gold sentences or, for `retrieve` only, with gold documents. If it has
      alternative evidence sets, hop 0 may retrieve a document of any, and all other samples use the
      first.
    - `corpus`: provides the gold sentences. Gold documents without gold sentences may be missing;
      they are targets only.
    - `rng`: source of randomness.
    - `lexicon`: relates the words of proofs; the built-in lexicon by default.
    - `similarity`: contextual similarity, by which the spans of proofs are aligned in addition to
      words.
    """

    def __init__(
        self,
        claim: GoldClaim,
        corpus: Corpus,
        negatives: Negatives,
        settings: BuildSettings,
        rng: random.Random,
        lexicon: SpanLexicon | None = None,
        similarity: ContextualSimilarity | None = None,
    ) -> None:
        self._claim, self._corpus, self._negatives = claim, corpus, negatives
        self._settings, self._random = settings, rng
        self._lexicon, self._similarity = lexicon, similarity

    def samples(self, tasks: Sequence[str]) -> Iterator[Sample]:
        """Yield samples of those tasks that the claim's annotation allows."""
        if "retrieve" in tasks:
            yield from self._retrieve_samples()
        if not self._claim.sentences:
            return
        if "rerank" in tasks:
            for _ in range(self._settings.rerankings):
                yield self._rerank_sample()
        if "prove" in tasks:
            yield from self._prove_samples()

    def _retrieve_samples(self) -> Iterator[RetrieveSample]:
        """Yield a sample for each split into kept documents and documents to be retrieved.

        The evidence often holds some of the latter as well, as the evidence of a real hop does.
        """
        titles = self._claim.titles
        for hop in range(len(titles)):
            splits = list(combinations(titles, hop))
            self._random.shuffle(splits)
            for kept in splits[: self._settings.splits or None]:
                missing = [title for title in titles if title not in kept]
                read = [t for t in missing if hop and self._random.random() < _TARGET_IN_EVIDENCE]
                sentences = [self._gold_sentence(title, missing) for title in kept]
                if None in sentences:
                    continue
                sentences += [self._gold_sentence(title, missing) for title in read]
                yield self._retrieve_sample([s for s in sentences if s is not None], hop)

    def _retrieve_sample(self, gold: list[tuple[str, str]], hop: int) -> RetrieveSample:
        claim = self._claim
        if hop == 0:
            return RetrieveSample(claim.claim, (), 0, claim.all_titles)
        evidence = gold + self._negative_sentences([title for title, _ in gold], len(gold))
        self._random.shuffle(evidence)
        return RetrieveSample(claim.claim, tuple(evidence), hop, claim.titles)

    def _gold_sentence(self, title: str, missing: Sequence[str]) -> tuple[str, str] | None:
        """Return a gold sentence of a document; None if the corpus lacks the document.

        Without gold sentences, it is the first sentence that names one of the missing documents, or
        else the first sentence.
        """
        indices = [index for gold_title, index in self._claim.sentences if gold_title == title]
        if indices:
            return title, sentence_of(self._corpus, title, self._random.choice(indices))
        if self._corpus.row(title) is None:
            return None
        sentences = self._corpus.document(title).sentences
        names = [base_title(other) for other in missing if other != title]
        naming = (s for s in sentences if any(name in s for name in names))
        sentence = next(naming, next(iter(sentences), None))
        return None if sentence is None else (title, sentence)

    def _negative_sentences(
        self, gold_documents: Sequence[str], gold_count: int
    ) -> list[tuple[str, str]]:
        """Draw negatives that fill an input, also from the gold documents in it."""
        count = max(self._settings.sentences - gold_count, 0)
        if self._random.random() < self._settings.short:
            count = self._random.randint(0, count)
        gold = {sentence for evidence in self._claim.evidence for sentence in evidence}
        pool = list(self._negatives.sentences)
        if self._claim.sentences:
            pool += [
                (title, sentence)
                for title in gold_documents
                for index, sentence in enumerate(
                    self._corpus.document(title).sentences[:_GOLD_DOCUMENT_SENTENCES]
                )
                if (title, index) not in gold
            ]
        return self._random.sample(pool, min(count, len(pool)))

    def _rerank_sample(self) -> RerankSample:
        """Return the gold documents and random negatives, sometimes with evidence in the input."""
        claim, titles = self._claim, self._claim.titles
        evidence: tuple[tuple[str, str], ...] = ()
        if len(titles) > 1 and self._random.random() < _WITH_EVIDENCE:
            count = self._random.randint(1, len(titles) - 1)
            kept = titles[:count] if claim.ordered else self._random.sample(titles, count)
            evidence = tuple(s for s in self._gold_evidence() if s[0] in kept)
        documents = [gold_document(claim, self._corpus.document(title)) for title in titles]
        count = max(self._settings.rerank_documents - len(documents), 1)
        negatives = self._negatives.documents[:_HARD_DOCUMENTS]
        for negative in self._random.sample(negatives, min(count, len(negatives))):
            documents.append(RerankDocument(negative.title, negative.sentences, ()))
        return RerankSample(claim.claim, evidence, tuple(documents))

    def _prove_samples(self) -> Iterator[ProveSample]:
        """Yield the claim with its evidence, then without one of its documents.

        The evidence is sufficient unless the label says that it is not.
        """
        claim, gold = self._claim, self._gold_evidence()
        withheld_title = self._random.choice(claim.titles)
        incomplete = [sentence for sentence in gold if sentence[0] != withheld_title]
        is_enough = claim.label is not Label.NOT_ENOUGH_INFO
        for kept, sufficient in ((gold, is_enough), (incomplete, False)):
            evidence = kept + self._negative_sentences((), len(kept))
            self._random.shuffle(evidence)
            if not evidence:
                continue  # insufficient without a model
            try:
                proof = annotate(
                    claim.claim,
                    evidence,
                    sufficient,
                    refuted=claim.refuted if sufficient else None,
                    withheld=[sentence for sentence in gold if sentence not in kept],
                    lexicon=self._lexicon,
                    similarity=self._similarity,
                )
            except AnnotationError:
                continue  # sufficient evidence without words that a proof may quote
            yield ProveSample(claim.claim, tuple(evidence), proof)

    def _gold_evidence(self) -> list[tuple[str, str]]:
        return [(t, sentence_of(self._corpus, t, i)) for t, i in self._claim.sentences]


#: What to do with claims whose gold sentences the corpus lacks.
MISSING = ("error", "list", "skip")
_BATCH_SIZE = 256  # claims whose negatives are searched together
_NO_NEGATIVES = Negatives((), ())
_REMEDY = (
    "Give the corpus that the claims were annotated on, add documents with --documents, or leave "
    "such claims out with --missing skip (or list)"
)


def build_samples(
    sources: Sequence[Source],
    corpus: Corpus,
    settings: BuildSettings,
    *,
    seed: int = 0,
    negatives: NegativeSampler | None = None,
    missing: str = "error",
    lexicon: SpanLexicon | None = None,
    similarity: ContextualSimilarity | None = None,
    excluded: Collection[str] = (),
    report: Callable[[str], None],
) -> Iterator[Sample]:
    """Yield the samples of all sources, one source after the other.

    `missing`: what to do with claims whose gold sentences the corpus lacks, one of `MISSING`.
    `report`: called with a summary of each source and, for ``list``, with each claim that is left
    out.

    Raises `AdmiralError` if a file is bad, a source yields no samples, or, for ``error``, the
    corpus lacks a gold sentence.
    """
    for source in sources:

        def handle_missing(claim: GoldClaim, problem: str, path: Path = source.path) -> None:
            if missing == "error":
                raise AdmiralError(f"{path}: claim {claim.id!r}: {problem}. {_REMEDY}")
            if missing == "list":
                report(f"{path}: claim {claim.id!r} is left out: {problem}")

        builder = SampleBuilder(
            corpus,
            settings,
            seed,
            negatives=negatives,
            handle_missing=handle_missing,
            lexicon=lexicon,
            similarity=similarity,
            excluded=excluded,
        )
        count = 0
        for sample in builder.samples(source.claims(), source.tasks):
            count += 1
            yield sample
        counts = ", ".join(f"{number:,} {name}" for name, number in builder.counts.items())
        if not count:
            raise AdmiralError(f"{source.path}: yields no samples (claims: {counts}). {_REMEDY}")
        report(f"{source.path}: {count:,} samples (claims: {counts})")


class SampleBuilder:
    """Build the samples of gold claims.

    The samples of a claim depend on the claim and the seed, not on the other claims.

    - `corpus`: provides gold sentences and negatives of claims without passages.
    - `negatives`: finds the negatives of claims without passages; by default `Bm25Negatives`.
    - `handle_missing`: called with each claim whose gold sentences the corpus lacks, and with a
      message.
    - `lexicon`: relates the words of proofs; the built-in lexicon by default.
    - `similarity`: contextual similarity, by which the spans of proofs are aligned in addition to
      words.
    - `excluded`: titles of documents that development claims need. Claims that need one are left
      out.

    Attributes
    ----------
    counts
        Number of claims that were ``used``, ``missing`` (the corpus lacks their gold sentences),
        ``without evidence`` or ``excluded``.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: BuildSettings,
        seed: int = 0,
        *,
        negatives: NegativeSampler | None = None,
        handle_missing: Callable[[GoldClaim, str], None] | None = None,
        lexicon: SpanLexicon | None = None,
        similarity: ContextualSimilarity | None = None,
        excluded: Collection[str] = (),
    ) -> None:
        self._corpus, self._settings, self._seed = corpus, settings, seed
        self._negatives = negatives or Bm25Negatives(corpus, settings.candidates)
        self._handle_missing = handle_missing
        self._lexicon, self._similarity = lexicon, similarity
        self._excluded = frozenset(excluded)
        self.counts: Counter[str] = Counter()

    def samples(
        self, claims: Iterable[GoldClaim | SourceClaim], tasks: Sequence[str]
    ) -> Iterator[Sample]:
        """Yield the samples of all usable claims, in the order of the claims."""
        batch: list[GoldClaim] = []
        for item in claims:
            if isinstance(item, SourceClaim) and item.passages:
                yield from self._from_batch(batch, tasks)
                batch = []
                yield from self._from_passages(item, tasks)
                continue
            claim = item.claim if isinstance(item, SourceClaim) else item
            if self._is_usable(claim, self._corpus):
                batch.append(claim)
            if len(batch) == _BATCH_SIZE:
                yield from self._from_batch(batch, tasks)
                batch = []
        yield from self._from_batch(batch, tasks)

    def _is_usable(self, claim: GoldClaim, corpus: Corpus) -> bool:
        if not claim.evidence:
            self.counts["without evidence"] += 1
            return False
        if not self._excluded.isdisjoint(claim.all_titles):
            self.counts["excluded"] += 1
            return False
        problem = missing_evidence(corpus, claim.evidence[0]) if claim.sentences else None
        if problem is not None:
            self.counts["missing"] += 1
            if self._handle_missing is not None:
                self._handle_missing(claim, problem)
            return False
        self.counts["used"] += 1
        return True

    def _from_batch(self, claims: Sequence[GoldClaim], tasks: Sequence[str]) -> Iterator[Sample]:
        if not claims:
            return
        # A claim with one gold title and no sentences has a sample of hop 0 only, without evidence.
        with_evidence = [claim for claim in claims if claim.sentences or len(claim.titles) > 1]
        negatives_of = iter(self._negatives.find(with_evidence) if with_evidence else ())
        for claim in claims:
            negatives = (
                next(negatives_of) if claim.sentences or len(claim.titles) > 1 else _NO_NEGATIVES
            )
            yield from self._sampler(claim, self._corpus, negatives).samples(tasks)

    def _from_passages(self, item: SourceClaim, tasks: Sequence[str]) -> Iterator[Sample]:
        corpus = PassageCorpus(item.passages)
        if not self._is_usable(item.claim, corpus):
            return
        (negatives,) = Bm25Negatives(corpus, self._settings.candidates).find([item.claim])
        yield from self._sampler(item.claim, corpus, negatives).samples(tasks)

    def _sampler(self, claim: GoldClaim, corpus: Corpus, negatives: Negatives) -> ClaimSampler:
        rng = random.Random(f"{self._seed} {claim.id} {claim.claim}")
        relations = self._lexicon, self._similarity
        return ClaimSampler(claim, corpus, negatives, self._settings, rng, *relations)
