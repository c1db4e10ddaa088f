"""Score sources for claims, and say what the scores mean and what supports them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from admiral.citations.citation_records import CitedClaim, ScoredSentence, ScoredSource
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.coverage_verifier import CoverageVerifier, TermWeights, text_stems
from admiral.citations.decide import FindingRule
from admiral.citations.source_scorers import SourceScore, open_scorer, open_weights
from admiral.io.sentence_splitter import split_sentences
from admiral.sources import Passage

# Sentences of a passage that are shown.
_SENTENCES = 2


class SourceJudge:
    """Scores sources by the verifier of the settings, and says what supports the score."""

    def __init__(self, config: CitationConfig, stems: TermWeights) -> None:
        weights = open_weights(config)
        #: The meaning of the scores; None if it is unknown.
        self.calibration = weights.calibrations.get(config.verifier)
        self._missing, self._missing_below = weights.missing, config.missing_below
        self._scorer, self._stems = open_scorer(config, weights, stems), stems
        thresholds = (config.not_found, config.supported)  # of probabilities
        if self.calibration is None:
            thresholds = (config.fail_below, config.accept_above)  # of scores
        self._rule = FindingRule(*thresholds, config.contradicted)

    def judge(self, pairs: Sequence[tuple[CitedClaim, Sequence[Passage]]]) -> list[ScoredSource]:
        """Return the scored source of each claim, which is given as all of its passages."""
        claims, sources = [claim for claim, _ in pairs], [source for _, source in pairs]
        scores = self._scorer.score_sources(claims, sources)
        return [self._scored(*each) for each in zip(claims, sources, scores, strict=True)]

    def _scored(
        self, claim: CitedClaim, passages: Sequence[Passage], score: SourceScore
    ) -> ScoredSource:
        best = passages[score.best]
        calibration, reading = self.calibration, score.reading
        denial = None if reading is None else reading.denial
        probability = None if calibration is None else calibration.probability(score.score)
        if probability is not None and denial is not None:
            probability = min(probability, 1 - denial)  # it cannot support what it denies
        support = score.score if probability is None else probability
        finding = self._rule.finding(support, denial)
        missing: tuple[str, ...] = ()
        if finding == "partly" and (probability is None or probability < self._missing_below):
            missing = self._missing.spans(claim.claim, passages, score.best)[:1]  # the surest one
        return ScoredSource(
            best.url,
            best.title,
            "scored",
            score.score,
            probability,
            None if calibration is None else calibration.percentile(score.score),
            best,
            self._best_sentences(claim, best),
            score.parts,
            missing,
            finding=finding,
            denial=denial,
            denied_by=reading.denied_by if reading and finding == "contradicted" else "",
        )

    def most_covering(
        self, claim: CitedClaim, sources: Sequence[Sequence[Passage]], limit: int
    ) -> list[Sequence[Passage]]:
        """Return the sources whose best passages cover most of a claim, in the given order.

        `limit`: how many; 0 for all.
        """
        if not limit or len(sources) <= limit:
            return list(sources)
        coverage = CoverageVerifier(self._stems)
        best = [max(row) for row in coverage.score([claim] * len(sources), sources)]
        chosen = sorted(range(len(sources)), key=lambda at: -best[at])[:limit]
        return [sources[at] for at in sorted(chosen)]

    def _best_sentences(self, claim: CitedClaim, passage: Passage) -> tuple[ScoredSentence, ...]:
        """Return the sentences of a passage that cover most of the claim, in order."""
        stems = sorted(set(text_stems(claim.claim)))
        # A title or heading is a line of its own, which often ends without a full stop.
        texts = [text for line in passage.text.splitlines() for text in split_sentences(line)]
        scores = [self._stems.coverage(stems, set(text_stems(text))) for text in texts]
        chosen = heapq.nlargest(_SENTENCES, range(len(texts)), key=scores.__getitem__)
        return tuple(
            ScoredSentence(texts[at], scores[at]) for at in sorted(chosen) if scores[at] > 0
        )
