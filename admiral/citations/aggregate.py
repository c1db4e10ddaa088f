"""From the scores of passages and of parts of a claim to the score of a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from admiral.citations.citation_records import CitedClaim, ScoredPart
from admiral.citations.subclaims import subclaims
from admiral.citations.verifiers.verifier_protocol import CitationVerifier
from admiral.library.source_records import Passage


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The score of a source for a claim.

    Attributes
    ----------
    score
        The score of the source.
    passages
        The scores of its passages.
    parts
        The parts of the claim, each with its best passage.
    """

    score: float
    passages: tuple[float, ...]
    parts: tuple[ScoredPart, ...] = ()

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
    of SIDE.

    Parameters
    ----------
    verifier
        Scores passages.
    whole_weight
        The weight `w` of the whole claim, from 0 to 1.
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
    verifier: CitationVerifier,
    claims: Sequence[CitedClaim],
    sources: Sequence[Sequence[Passage]],
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
