"""The interface of citation verifiers, and a cascade of a cheap one and an accurate one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from admiral.citations.citation_records import CitedClaim
from admiral.library.source_records import Passage


class CitationVerifier(Protocol):
    """Scores passages of sources for claims in context.

    A claim gets the same scores in any batch. Scores are finite; a higher one means more support.
    """

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        ...


class CascadeVerifier:
    """Score the passages that a cheap verifier ranks best by a close one.

    The other passages of a claim get the lowest score of those that the close verifier read.
    `limit`: number of passages of each source that `close` reads; 0 for all.
    """

    def __init__(self, cheap: CitationVerifier, close: CitationVerifier, limit: int) -> None:
        self._cheap, self._close, self._limit = cheap, close, limit

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        if not self._limit:
            return self._close.score(claims, passages)
        chosen = [
            sorted(sorted(range(len(row)), key=lambda at: -row[at])[: self._limit])
            for row in self._cheap.score(claims, passages)
        ]
        read = [[own[at] for at in ats] for own, ats in zip(passages, chosen, strict=True)]
        results = []
        for own, ats, scores in zip(passages, chosen, self._close.score(claims, read), strict=True):
            by_position = dict(zip(ats, scores, strict=True))
            lowest = min(scores, default=0.0)
            results.append([by_position.get(at, lowest) for at in range(len(own))])
        return results
