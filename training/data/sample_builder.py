"""Draw the training samples of claims for each of the three tasks (paper, appendix A.1)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim, Label
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from proofs import AnnotationError, SpanLexicon, annotate
from proofs.drafting.contextual_similarity import ContextualSimilarity
from training.data.claim_sources import Source, SourceClaim
from training.data.evidence_corpora import (
    Corpus,
    GivenDocuments,
    Negatives,
    NegativeSampler,
    gold_sentences,
    missing_evidence,
    searched_negatives,
)
from training.data.samples import ProveSample, RerankDocument, RerankSample, RetrieveSample, Sample
from trie.safe_tokenizer import IDENTIFIERS

# A reranking sample draws its negatives from this many documents.
_HARD_DOCUMENTS = 10
# Of a gold document, this many first sentences may be negatives.
_GOLD_DOCUMENT_SENTENCES = 6
# Probability that the evidence of a retrieval sample holds a document still to be retrieved.
_TARGET_IN_EVIDENCE = 0.5
# Share of reranking samples whose input contains evidence.
_WITH_EVIDENCE = 0.4
CANDIDATES = 20  # documents that BM25 retrieves, from which negatives are drawn
_BATCH_SIZE = 256  # claims whose negatives are searched together
_REMEDY = (
    "Give the corpus that the claims were annotated on, add documents with --documents, or leave "
    "such claims out with --missing skip (or list)"
)


class BuildSettings(BaseModel):
    """The samples to draw for a claim, and their negatives."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    missing: Literal["error", "list", "skip"] = "error"
    """Stop at claims whose gold sentences are missing, or leave them out (and list them)."""
    splits: Annotated[int, Field(ge=0)] = 0
    """Maximum number of splits of the gold documents per hop; 0: all."""
    short: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    """Share of inputs with fewer than --sentences, which are cheaper; in them, a model learns
    sooner to find what it has to copy."""
    rerankings: Annotated[int, Field(ge=0)] = 1
    """Reranking samples of a gold claim, each with other negatives."""
    rerank_documents: Annotated[int, Field(ge=2)] = 6
    """Documents in a reranking sample."""
    sentences: Annotated[int, Field(ge=1, le=IDENTIFIERS)] = 5
    """Evidence sentences in an input; use fewer for a first stage of training, in which the model
    learns to copy."""


def gold_document(claim: GoldClaim, document: Document) -> RerankDocument:
    """Return a document of a reranking sample, in which sentences of any evidence set are gold."""
    numbers = claim.sentence_numbers(document.title)
    relevant = tuple(number for number in numbers if number < len(document.sentences))
    return RerankDocument(document.title, document.sentences, relevant)


@dataclass(frozen=True, slots=True)
class ClaimSampler:
    """Draw the samples of one claim.

    It has gold sentences or, for `retrieve` only, gold documents. If it has alternative evidence
    sets, hop 0 may retrieve a document of any, and all other samples use the first. The corpus
    provides the gold sentences. Gold documents without gold sentences may be missing; they are
    targets only.
    """

    claim: GoldClaim
    corpus: Corpus
    negatives: Negatives
    settings: BuildSettings
    rng: random.Random
    lexicon: SpanLexicon | None
    similarity: ContextualSimilarity | None

    def samples(self, tasks: Collection[str]) -> Iterator[Sample]:
        """Yield samples of those tasks that the claim's annotation allows."""
        if "retrieve" in tasks:
            yield from self._retrieve_samples()
        if self.claim.sentences and "rerank" in tasks:
            for _ in range(self.settings.rerankings):
                yield self._rerank_sample()
        if self.claim.sentences and "prove" in tasks:
            yield from self._prove_samples()

    def _retrieve_samples(self) -> Iterator[RetrieveSample]:
        """Yield a sample for each split into kept documents and documents to be retrieved.

        The evidence often holds some of the latter as well, as the evidence of a real hop does.
        """
        claim, titles, rng = self.claim, self.claim.titles, self.rng
        for hop in range(len(titles)):
            splits = list(combinations(titles, hop))
            rng.shuffle(splits)
            for kept in splits[: self.settings.splits or None]:
                missing = [title for title in titles if title not in kept]
                read = [t for t in missing if hop and rng.random() < _TARGET_IN_EVIDENCE]
                sentences = [self._gold_sentence(title, missing) for title in kept]
                if None in sentences:
                    continue
                if hop == 0:
                    yield RetrieveSample(claim.claim, (), 0, claim.all_titles)
                    continue
                sentences += [self._gold_sentence(title, missing) for title in read]
                gold = [sentence for sentence in sentences if sentence is not None]
                evidence = gold + self._negative_sentences([title for title, _ in gold], len(gold))
                rng.shuffle(evidence)
                yield RetrieveSample(claim.claim, tuple(evidence), hop, titles)

    def _gold_sentence(self, title: str, missing: Sequence[str]) -> tuple[str, str] | None:
        """Return a gold sentence of a document; None if the corpus lacks the document.

        Without gold sentences, it is the first sentence that names one of the missing documents, or
        else the first sentence.
        """
        indices = [index for gold_title, index in self.claim.sentences if gold_title == title]
        if not indices and self.corpus.row(title) is None:
            return None
        sentences = self.corpus.document(title).sentences
        if indices:
            return title, sentences[self.rng.choice(indices)]
        names = [base_title(other) for other in missing if other != title]
        naming = (s for s in sentences if any(name in s for name in names))
        sentence = next(naming, next(iter(sentences), None))
        return None if sentence is None else (title, sentence)

    def _negative_sentences(
        self, gold_documents: Sequence[str], gold_count: int
    ) -> list[tuple[str, str]]:
        """Draw negatives that fill an input, also from the gold documents in it."""
        count = max(self.settings.sentences - gold_count, 0)
        if self.rng.random() < self.settings.short:
            count = self.rng.randint(0, count)
        pool = list(self.negatives.sentences)
        for title in gold_documents if self.claim.sentences else ():
            gold = self.claim.sentence_numbers(title)
            first = self.corpus.document(title).sentences[:_GOLD_DOCUMENT_SENTENCES]
            pool += [(title, text) for number, text in enumerate(first) if number not in gold]
        return self.rng.sample(pool, min(count, len(pool)))

    def _rerank_sample(self) -> RerankSample:
        """Return the gold documents and random negatives, sometimes with evidence in the input."""
        claim, titles, rng = self.claim, self.claim.titles, self.rng
        evidence: tuple[tuple[str, str], ...] = ()
        if len(titles) > 1 and rng.random() < _WITH_EVIDENCE:
            count = rng.randint(1, len(titles) - 1)
            kept = titles[:count] if claim.ordered else rng.sample(titles, count)
            evidence = tuple(s for s in gold_sentences(claim, self.corpus) if s[0] in kept)
        documents = [gold_document(claim, self.corpus.document(title)) for title in titles]
        count = max(self.settings.rerank_documents - len(documents), 1)
        negatives = self.negatives.documents[:_HARD_DOCUMENTS]
        for negative in rng.sample(negatives, min(count, len(negatives))):
            documents.append(RerankDocument(negative.title, negative.sentences, ()))
        return RerankSample(claim.claim, evidence, tuple(documents))

    def _prove_samples(self) -> Iterator[ProveSample]:
        """Yield the claim with its evidence, then without one of its documents.

        The evidence is sufficient unless the label says that it is not.
        """
        claim, gold = self.claim, gold_sentences(self.claim, self.corpus)
        withheld_title = self.rng.choice(claim.titles)
        incomplete = [sentence for sentence in gold if sentence[0] != withheld_title]
        is_enough = claim.label is not Label.NOT_ENOUGH_INFO
        for kept, sufficient in ((gold, is_enough), (incomplete, False)):
            evidence = kept + self._negative_sentences((), len(kept))
            self.rng.shuffle(evidence)
            if not evidence:
                continue  # insufficient without a model
            try:
                proof = annotate(
                    claim.claim,
                    evidence,
                    sufficient,
                    refuted=claim.refuted if sufficient else None,
                    withheld=[sentence for sentence in gold if sentence not in kept],
                    lexicon=self.lexicon,
                    similarity=self.similarity,
                )
            except AnnotationError:
                continue  # sufficient evidence without words that a proof may quote
            yield ProveSample(claim.claim, tuple(evidence), proof)


class SampleBuilder:
    """Build the samples of gold claims.

    The samples of a claim depend on the claim and the seed, not on the other claims.

    - `corpus`: provides gold sentences and negatives of claims without passages.
    - `negatives`: finds the negatives of claims without passages; by default, BM25 does.
    - `lexicon`: relates the words of proofs; the built-in lexicon by default.
    - `similarity`: contextual similarity, by which the spans of proofs are aligned in addition to
      words.
    - `excluded`: titles of documents that development claims need. Claims that need one are left
      out.
    - `report`: called with a summary of each source and, if the setting `missing` is ``list``, with
      each claim that is left out.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: BuildSettings,
        seed: int = 0,
        *,
        negatives: NegativeSampler | None = None,
        lexicon: SpanLexicon | None = None,
        similarity: ContextualSimilarity | None = None,
        excluded: Collection[str] = (),
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._corpus, self._settings, self._seed = corpus, settings, seed
        searched = partial(searched_negatives, corpus=corpus, candidates=CANDIDATES)
        self._negatives = negatives or searched
        self._relations = lexicon, similarity
        self._excluded, self._report = frozenset(excluded), report

    def source_samples(self, source: Source) -> Iterator[Sample]:
        """Yield the samples of a file.

        Raises `AdmiralError` if the file is bad, yields no samples or, unless the setting `missing`
        allows it, has a claim whose gold sentences the corpus lacks.
        """
        counts: Counter[str] = Counter()
        count = 0
        for sample in self.samples(source.claims(), source.tasks, counts, f"{source.path}: "):
            count += 1
            yield sample
        claims = ", ".join(f"{number:,} {name}" for name, number in counts.items())
        if not count:
            raise AdmiralError(f"{source.path}: yields no samples (claims: {claims}). {_REMEDY}")
        self._report(f"{source.path}: {count:,} samples (claims: {claims})")

    def samples(
        self,
        claims: Iterable[SourceClaim],
        tasks: Collection[str],
        counts: Counter[str] | None = None,
        where: str = "",
    ) -> Iterator[Sample]:
        """Yield the samples of all usable claims, in the order of the claims.

        `counts`: gets the number of claims that were ``used``, ``missing`` (the corpus lacks their
        gold sentences), ``without evidence`` or ``excluded``. `where`: begins messages.
        """
        remaining = iter(claims)
        while batch := list(islice(remaining, _BATCH_SIZE)):
            usable = []
            for item in batch:
                corpus = GivenDocuments(item.passages) if item.passages else self._corpus
                reason = self._reason_to_leave_out(item.claim, corpus, where)
                if counts is not None:
                    counts[reason or "used"] += 1
                if not reason:
                    usable.append((item, corpus))
            searched = [item.claim for item, _ in usable if _needs_search(item)]
            negatives_of = iter(self._negatives(searched) if searched else ())
            for item, corpus in usable:
                negatives = next(negatives_of) if _needs_search(item) else Negatives()
                if item.passages:
                    (negatives,) = searched_negatives([item.claim], corpus, CANDIDATES)
                rng = random.Random(f"{self._seed} {item.claim.id} {item.claim.claim}")
                settings, relations = self._settings, self._relations
                sampler = ClaimSampler(item.claim, corpus, negatives, settings, rng, *relations)
                yield from sampler.samples(tasks)

    def _reason_to_leave_out(self, claim: GoldClaim, corpus: Corpus, where: str) -> str:
        if not claim.evidence:
            return "without evidence"
        if not self._excluded.isdisjoint(claim.all_titles):
            return "excluded"
        problem = missing_evidence(corpus, claim.evidence[0]) if claim.sentences else None
        if problem is None:
            return ""
        if self._settings.missing == "error":
            raise AdmiralError(f"{where}claim {claim.id!r}: {problem}. {_REMEDY}")
        if self._settings.missing == "list":
            self._report(f"{where}claim {claim.id!r} is left out: {problem}")
        return "missing"


def _needs_search(item: SourceClaim) -> bool:
    # A claim with one gold title and no sentences has a sample of hop 0 only, without evidence.
    return not item.passages and (bool(item.claim.sentences) or len(item.claim.titles) > 1)
