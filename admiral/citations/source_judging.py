"""Score the sources of a claim, with what supports the score: passage, sentences, missing words."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence

from admiral.citations.citation_records import (
    Citation,
    CitedClaim,
    ScoredSentence,
    ScoredSource,
    Status,
)
from admiral.citations.citation_weights import CitationWeights, ScoreCalibration
from admiral.citations.coverage_verifier import CoverageVerifier, TermWeights, text_stems
from admiral.citations.decide import FindingRule
from admiral.citations.source_scorers import SourceScore, SourceScorer
from admiral.io.sentence_splitter import split_sentences
from admiral.kb.bm25.analysis import STOP_WORDS
from admiral.library.source_records import Passage, Source

_WORD = re.compile(r"[^\W\d_]+")
# In English prose, a third of the words are among these; in other languages, hardly any.
_ENGLISH_SHARE = 0.1
_READ_WORDS = 2000

#: What each status tells the reader; empty for one that needs no explanation.
REASONS: dict[Status, str] = {
    "scored": "",
    "not_in_library": "is not in the library",
    "no_text": "has no text in the library",
    "too_short": "is too short to be checked",
    "not_english": "is not in English",
    "not_web": "is not a page of the web",
    "blocked": "is a page that cannot be a source, such as one of Wikipedia",
}


def source_status(
    source: Source | None, citation: Citation, *, is_web: bool, is_blocked: bool, min_words: int
) -> Status:
    """Return whether a source can be scored, and otherwise why not.

    `source`: the source that the library holds for the citation, or None. `is_web`: whether its URL
    leads to a page of the web.
    """
    if not citation.url.strip():
        return "not_web"
    if is_blocked:
        return "blocked"
    if source is None:
        return "not_in_library" if is_web else "not_web"
    if not source.text.strip():
        return "no_text"
    words = _WORD.findall(source.text)
    if len(words) < min_words:
        return "too_short"
    return "scored" if _is_english(source, words) else "not_english"


def _is_english(source: Source, words: list[str]) -> bool:
    if source.language:
        return source.states_english
    read = words[:_READ_WORDS]
    common = sum(word.lower() in STOP_WORDS for word in read)
    return common >= _ENGLISH_SHARE * len(read)


# Sentences of a passage that are shown.
_SENTENCES = 2


class SourceJudge:
    """Scores sources and says what supports the score.

    `calibration`: the meaning of the scores; None if it is unknown. `rule`: what follows from them.
    `missing_below`: probability of support below which missing parts are named.
    """

    def __init__(
        self,
        scorer: SourceScorer,
        stems: TermWeights,
        weights: CitationWeights,
        calibration: ScoreCalibration | None,
        rule: FindingRule,
        missing_below: float = 1.0,
    ) -> None:
        self._missing_below = missing_below
        self._scorer, self._stems = scorer, stems
        self._missing, self._calibration, self._rule = weights.missing, calibration, rule

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
        calibration, reading = self._calibration, score.reading
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
            finding,
            denial,
            reading.denied_by if reading is not None and finding == "contradicted" else "",
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
