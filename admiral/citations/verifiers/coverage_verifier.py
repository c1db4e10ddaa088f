"""Verify by counting words: the weighted share of the claim's stems that a passage contains.

It needs no training and is the baseline that other verifiers have to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.citations.verifiers.term_weights import TermWeights, text_stems
from admiral.library.source_records import Passage

_NO_LIMIT = 1 << 30


class CoverageVerifier:
    """Score passages by the share of the claim's stems in them, weighted by rarity, from 0 to 1.

    The title of the source is not counted as part of a passage.

    Parameters
    ----------
    weights
        Weights of stems.
    context
        Whose words must be covered; those of the claim alone by default.
    """

    def __init__(self, weights: TermWeights, context: ContextForm = "claim") -> None:
        self._weights, self._context = weights, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the coverage of each claim by each of its passages."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            text = claim_in_context(claim, self._context, max_tokens=_NO_LIMIT)
            stems = sorted(set(text_stems(text)))  # sorted: sums do not depend on the hash seed
            scores.append(
                [self._weights.coverage(stems, passage_stems(passage.text)) for passage in own]
            )
        return scores


@lru_cache(1 << 13)
def passage_stems(text: str) -> frozenset[str]:
    """Return the distinct stems of a passage, cached: parts of a claim read the same passages."""
    return frozenset(text_stems(text))
