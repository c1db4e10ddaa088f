"""Score the sources of a claim, with what supports the score: passage, sentences, missing words."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from admiral.citations.aggregate import SourceScore, SourceScorer
from admiral.citations.citation_records import CitedClaim, ScoredSentence, ScoredSource
from admiral.citations.citation_weights import CitationWeights
from admiral.citations.score_calibration import ScoreCalibration
from admiral.citations.verifiers.term_weights import TermWeights, text_stems
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.library.source_records import Passage

# Sentences of a passage that are shown.
_SENTENCES = 2


class SourceJudge:
    """Scores sources and says what supports the score.

    Parameters
    ----------
    scorer
        Scores sources.
    stems
        Weights of stems, for the sentences that are shown.
    weights
        Finds missing words.
    calibration
        The meaning of the scores; None if it is unknown.
    """

    def __init__(
        self,
        scorer: SourceScorer,
        stems: TermWeights,
        weights: CitationWeights,
        calibration: ScoreCalibration | None,
    ) -> None:
        self._scorer, self._stems = scorer, stems
        self._missing, self._calibration = weights.missing, calibration

    def judge(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[ScoredSource]:
        """Return the scored source of each claim; each source has at least one passage."""
        scores = self._scorer.score_sources(claims, sources)
        return [self._scored(*each) for each in zip(claims, sources, scores, strict=True)]

    def _scored(
        self, claim: CitedClaim, passages: Sequence[Passage], score: SourceScore
    ) -> ScoredSource:
        best = passages[score.best]
        calibration = self._calibration
        return ScoredSource(
            best.url,
            best.title,
            "scored",
            score.score,
            None if calibration is None else calibration.probability(score.score),
            None if calibration is None else calibration.percentile(score.score),
            best,
            self._best_sentences(claim, best),
            score.parts,
            self._missing.spans(claim.claim, passages, score.best),
        )

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
