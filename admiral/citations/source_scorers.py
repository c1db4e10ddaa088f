"""From the scores of passages, and of parts of a claim, to the score of a source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from admiral.citations.citation_records import CitedClaim, ScoredPart
from admiral.citations.citation_weights import FeatureWeight
from admiral.citations.coverage_verifier import (
    LEXICAL_FEATURES,
    CitationVerifier,
    TermWeights,
    lexical_features,
)
from admiral.citations.source_reading import SourceReader, SourceReading
from admiral.library.source_records import Passage
from admiral.synthesis.clauses import LONGEST_SENTENCE, clause_ends
from proofs.drafting.chunking import chunk
from proofs.logic.words import split_words

#: Most parts of a claim.
MAX_PARTS = 8
# A part needs this many content words to be checked by itself.
_MIN_WORDS = 3
# Cuts before prepositions separate a verb from its complement, so they are not used.
_CLAUSE = re.compile(
    r",|;| (?:and|but) | (?:who|which|that|whose|where|when|while)\b| [a-z]+(?:ing|ed)\b"
)
_EDGE = " ,;"


@dataclass(frozen=True, slots=True)
class SubClaim:
    """A part of a claim."""

    start: int
    end: int
    text: str
    share: float  # its share of the content words of all parts


def subclaims(claim: str) -> tuple[SubClaim, ...]:
    """Return the parts of a claim in order; the whole claim if it cannot be divided.

    The parts do not overlap, and all content words are in one of them. A text without content words
    is one part; an empty text has none.
    """
    spans = [span for span in _spans(claim) if claim[span[0] : span[1]].strip()]
    if not spans:
        return ()
    counts = [content_words(claim[start:end]) for start, end in spans]
    total = sum(counts)
    return tuple(
        SubClaim(start, end, claim[start:end], count / total if total else 1 / len(spans))
        for (start, end), count in zip(spans, counts, strict=True)
    )


def content_words(text: str) -> int:
    """Return the number of content words of a text."""
    return sum(word.is_content for word in split_words(text))


def _spans(claim: str) -> list[tuple[int, int]]:
    if len(claim) > LONGEST_SENTENCE:  # the clause rules take quadratic time
        return chunk(claim, max_words=len(claim), max_chunks=MAX_PARTS)
    cuts = [at for at in clause_ends(claim) if at < len(claim) and _CLAUSE.match(claim, at)]
    edges = [0, *cuts, len(claim)]
    spans = _join_small(claim, list(pairwise(edges)))
    while len(spans) > MAX_PARTS:
        sizes = [content_words(claim[a:b]) for a, b in spans]
        at = min(range(len(spans) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    return [_trimmed(claim, *span) for span in spans]


def _join_small(claim: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join parts with too few content words to the part before them, the first to the next."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        is_small = content_words(claim[start:end]) < _MIN_WORDS
        if joined and (is_small or content_words(claim[slice(*joined[-1])]) < _MIN_WORDS):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _trimmed(claim: str, start: int, end: int) -> tuple[int, int]:
    text = claim[start:end]
    start += len(text) - len(text.lstrip(_EDGE))
    return start, max(start, end - (len(text) - len(text.rstrip(_EDGE))))


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The score of a source for a claim."""

    score: float
    passages: tuple[float, ...]
    parts: tuple[ScoredPart, ...] = ()  # the parts of the claim, each with its best passage
    reading: SourceReading | None = None  # what the verifier says, if it reads sources

    @property
    def best(self) -> int:
        """Position of the best passage, the first of several."""
        return self.passages.index(max(self.passages))


class SourceScorer(Protocol):
    """Scores sources, each as all of its passages, for claims in context."""

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim; sources have at least one passage."""
        ...


class PassageAggregator:
    """Score a source by the scores of its passages.

    The score is ``w * max_p s(c, p) + (1 - w) * sum_j share_j * max_p s(u_j, p)`` for a claim `c`
    with the parts `u_j`, passages `p` and the score `s` of a verifier. With ``w = 1``, it is that
    of SIDE. `whole_weight`: the weight `w` of the whole claim, from 0 to 1.
    """

    def __init__(self, verifier: CitationVerifier, whole_weight: float) -> None:
        self._verifier, self._whole_weight = verifier, whole_weight

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim."""
        passages = self._verifier.score(claims, sources)
        parts: list[tuple[ScoredPart, ...]] = [()] * len(claims)
        if self._whole_weight < 1:
            parts = score_parts(self._verifier, claims, sources)
        return [
            SourceScore(combine(own, texts, claim, self._whole_weight), tuple(own), texts)
            for claim, own, texts in zip(claims, passages, parts, strict=True)
        ]


def score_parts(
    verifier: CitationVerifier, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
) -> list[tuple[ScoredPart, ...]]:
    """Return the parts of each claim with the best passage of its source for each of them."""
    texts = [[part.text for part in subclaims(claim.claim)] for claim in claims]
    variants = [
        replace(claim, claim=text, span=None)
        for claim, own in zip(claims, texts, strict=True)
        for text in own
    ]
    passages = [source for source, own in zip(sources, texts, strict=True) for _ in own]
    scores = iter(verifier.score(variants, passages))
    results = []
    for own in texts:
        parts = []
        for text in own:
            row = next(scores)
            best = row.index(max(row))
            parts.append(ScoredPart(text, row[best], best))
        results.append(tuple(parts))
    return results


def combine(
    passages: Sequence[float], parts: Sequence[ScoredPart], claim: CitedClaim, whole_weight: float
) -> float:
    """Return the score of a source (see `PassageAggregator`)."""
    whole = max(passages)
    if whole_weight == 1 or not parts:
        return whole
    return whole_weight * whole + (1 - whole_weight) * mean_of_parts(claim, parts)


def mean_of_parts(claim: CitedClaim, parts: Sequence[ScoredPart]) -> float:
    """Return the mean of the scores of parts, weighted by their shares of content words."""
    shares = [part.share for part in subclaims(claim.claim)]
    return sum(share * part.score for share, part in zip(shares, parts, strict=True))


#: Suffix of the feature that is the mean score over the parts of the claim.
PARTS = "_parts"
#: The feature of sources that are read: log-odds that their best sentences entail the claim.
ENTAILED = "entailed"


class MixedScorer:
    """Score sources by the weighted sum of standardised features.

    The features are, for each verifier, its highest score of a passage and the mean over the parts
    of the claim of their highest scores (suffix ``_parts``), and `LEXICAL_FEATURES`. A passage is
    scored by the verifiers alone, with the same weights. `verifiers`: the verifiers by name; the
    first one chooses the best passage for the lexical features. `weights`: the weight of each
    feature; verifiers that it does not name are not asked for scores. `reader`: reads the best
    sentences of sources, which gives the feature `ENTAILED`; None for none.
    """

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        stems: TermWeights,
        weights: Mapping[str, FeatureWeight],
        reader: SourceReader | None = None,
    ) -> None:
        self._extractor = MixedFeatures(verifiers, stems, reader)
        self._weights = dict(weights)
        unknown = [name for name in weights if name not in self._extractor.names]
        if unknown:
            raise ValueError(f"no feature {unknown[0]!r} of the verifiers {', '.join(verifiers)}")

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim."""
        extracted = self._extractor.extract(claims, sources)
        return [self._score(features) for features in extracted]

    def _score(self, extracted: ExtractedFeatures) -> SourceScore:
        total = 0.0
        for name, weight in self._weights.items():
            total += weight.weight * (extracted.values[name] - weight.mean) / weight.deviation
        scales = {name: max(self._scale(name), 0.0) for name in extracted.passages}
        rows = zip(*extracted.passages.values(), strict=True)
        passages = tuple(
            sum(scale * score for scale, score in zip(scales.values(), row, strict=True))
            for row in rows
        )
        return SourceScore(total, passages, extracted.parts, extracted.reading)

    def _scale(self, verifier: str) -> float:
        """Return what a point of a verifier is worth, for the whole claim and its parts."""
        own = (self._weights.get(verifier + suffix) for suffix in ("", PARTS))
        return sum(each.weight / each.deviation for each in own if each is not None)


@dataclass(frozen=True, slots=True)
class ExtractedFeatures:
    """The features of a claim and its source."""

    values: Mapping[str, float]
    passages: Mapping[str, Sequence[float]]
    parts: tuple[ScoredPart, ...]  # the parts of the claim with the scores of the first verifier
    reading: SourceReading | None = None


class MixedFeatures:
    """Extracts the features of `MixedScorer`."""

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        stems: TermWeights,
        reader: SourceReader | None = None,
    ) -> None:
        self._verifiers, self._stems, self._reader = dict(verifiers), stems, reader

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        own = [name + suffix for name in self._verifiers for suffix in ("", PARTS)]
        return (*own, *LEXICAL_FEATURES, *([ENTAILED] if self._reader else []))

    def extract(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[ExtractedFeatures]:
        """Return the features of each claim and its source."""
        passages, parts = {}, {}
        for name, verifier in self._verifiers.items():
            passages[name] = verifier.score(claims, sources)
            parts[name] = score_parts(verifier, claims, sources)
        first = next(iter(self._verifiers))
        readings: Sequence[SourceReading | None] = [None] * len(claims)
        if self._reader is not None:
            readings = self._reader.read([claim.claim for claim in claims], sources)
        extracted = []
        for at, (claim, source) in enumerate(zip(claims, sources, strict=True)):
            own = {name: scores[at] for name, scores in passages.items()}
            best = own[first].index(max(own[first]))
            values = lexical_features(claim, source, best, self._stems)
            for name in self._verifiers:
                values[name] = max(own[name])
                values[name + PARTS] = mean_of_parts(claim, parts[name][at])
            reading = readings[at]
            if reading is not None:
                values[ENTAILED] = reading.entailed
            extracted.append(ExtractedFeatures(values, own, parts[first][at], reading))
        return extracted
