"""What every verifier does: score passages by how well they support a claim."""

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
