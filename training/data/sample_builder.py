"""Build training samples from claims with gold evidence, and count the claims left out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from proofs.drafting.contextual_similarity import ContextualSimilarity
from training.data.claim_sampler import BuildSettings, ClaimSampler
from training.data.claim_sources import Source, SourceClaim
from training.data.evidence_corpora import Corpus, PassageCorpus, missing_evidence
from training.data.negatives import Bm25Negatives, Negatives, NegativeSampler
from training.data.samples import Sample

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
    similarity: ContextualSimilarity | None = None,
    excluded: Collection[str] = (),
    report: Callable[[str], None],
) -> Iterator[Sample]:
    """Yield the samples of all sources, one source after the other.

    Parameters
    ----------
    sources
        Files of claims.
    corpus, settings, seed, negatives, similarity, excluded
        See `SampleBuilder`.
    missing
        What to do with claims whose gold sentences the corpus lacks, one of `MISSING`.
    report
        Called with a summary of each source and, for ``list``, with each claim that is left out.

    Raises
    ------
    AdmiralError
        If a file is bad, a source yields no samples, or, for ``error``, the corpus lacks a gold
        sentence.
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

    Parameters
    ----------
    corpus
        Provides gold sentences and negatives of claims without passages.
    settings
        Number and size of the samples of a claim.
    seed
        Seed of splits, negatives and orders.
    negatives
        Finds the negatives of claims without passages; by default `Bm25Negatives`.
    handle_missing
        Called with each claim whose gold sentences the corpus lacks, and with a message.
    similarity
        Contextual similarity, by which the spans of proofs are aligned in addition to words.
    excluded
        Titles of documents that development claims need. Claims that need one are left out.

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
        similarity: ContextualSimilarity | None = None,
        excluded: Collection[str] = (),
    ) -> None:
        self._corpus, self._settings, self._seed = corpus, settings, seed
        self._negatives = negatives or Bm25Negatives(corpus, settings.candidates)
        self._handle_missing, self._similarity = handle_missing, similarity
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
        return ClaimSampler(claim, corpus, negatives, self._settings, rng, self._similarity)
