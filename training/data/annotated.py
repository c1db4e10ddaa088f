"""Claims with gold evidence as training samples, and a count of those that cannot be used."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from admiral.gold import GoldClaim
from proofs.drafting.contextual_similarity import ContextualLikeness
from training.data.claim_sources import SourceClaim
from training.data.corpora_of_claims import Corpus, PassageCorpus, fault
from training.data.negatives import Bm25Negatives, Negatives, NegativeSampler
from training.data.samples import Sample
from training.data.sampling import BuildSettings, ClaimSampler

_BATCH = 256
_NO_NEGATIVES = Negatives((), ())


class SampleBuilder:
    """Turns gold claims into samples, for the same seed the same ones whatever the others are.

    Parameters
    ----------
    corpus
        Holds the gold sentences of claims that bring no passages.
    settings
        How many samples of a claim.
    seed
        Draws splits, negatives and orders.
    negatives
        Finds the negatives of claims that bring no passages; what the corpus's search finds if
        not given.
    missing
        Is told each claim whose gold sentences the corpus lacks, and what is lacking.
    likeness
        Aligns the spans of proofs by context, too; by words alone if not given.
    excluded
        Titles whose claims are left out, those that development claims need.

    Attributes
    ----------
    counts
        Claims: ``used``, ``missing`` (their gold is not in the corpus), ``without evidence``,
        ``excluded``.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: BuildSettings,
        seed: int = 0,
        *,
        negatives: NegativeSampler | None = None,
        missing: Callable[[GoldClaim, str], None] | None = None,
        likeness: ContextualLikeness | None = None,
        excluded: Collection[str] = (),
    ) -> None:
        self._corpus, self._settings, self._seed = corpus, settings, seed
        self._negatives = negatives or Bm25Negatives(corpus, settings.candidates)
        self._missing, self._likeness = missing, likeness
        self._excluded = frozenset(excluded)
        self.counts: Counter[str] = Counter()

    def samples(
        self, claims: Iterable[GoldClaim | SourceClaim], tasks: Sequence[str]
    ) -> Iterator[Sample]:
        """Yield the samples of all claims that can be used, in order."""
        group: list[GoldClaim] = []
        for item in claims:
            if isinstance(item, SourceClaim) and item.passages:
                yield from self._group(group, tasks)
                group = []
                yield from self._from_passages(item, tasks)
                continue
            claim = item.claim if isinstance(item, SourceClaim) else item
            if self._usable(claim, self._corpus):
                group.append(claim)
            if len(group) == _BATCH:
                yield from self._group(group, tasks)
                group = []
        yield from self._group(group, tasks)

    def _usable(self, claim: GoldClaim, corpus: Corpus) -> bool:
        if not claim.evidence:
            self.counts["without evidence"] += 1
            return False
        if not self._excluded.isdisjoint(claim.titles):
            self.counts["excluded"] += 1
            return False
        wrong = fault(corpus, claim.evidence[0]) if claim.sentences else None
        if wrong is not None:
            self.counts["missing"] += 1
            if self._missing is not None:
                self._missing(claim, wrong)
            return False
        self.counts["used"] += 1
        return True

    def _group(self, claims: Sequence[GoldClaim], tasks: Sequence[str]) -> Iterator[Sample]:
        if not claims:
            return
        # Of a claim with one title and nothing more only the title is generated, at hop 0.
        reading = [claim for claim in claims if claim.sentences or len(claim.titles) > 1]
        found = iter(self._negatives.find(reading) if reading else ())
        for claim in claims:
            negatives = next(found) if claim.sentences or len(claim.titles) > 1 else _NO_NEGATIVES
            yield from self._sampler(claim, self._corpus, negatives).samples(tasks)

    def _from_passages(self, item: SourceClaim, tasks: Sequence[str]) -> Iterator[Sample]:
        corpus = PassageCorpus(item.passages)
        if not self._usable(item.claim, corpus):
            return
        found = Bm25Negatives(corpus, self._settings.candidates).find([item.claim])
        yield from self._sampler(item.claim, corpus, found[0]).samples(tasks)

    def _sampler(self, claim: GoldClaim, corpus: Corpus, negatives: Negatives) -> ClaimSampler:
        rng = random.Random(f"{self._seed} {claim.id} {claim.claim}")
        return ClaimSampler(claim, corpus, negatives, self._settings, rng, self._likeness)
