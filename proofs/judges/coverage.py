"""Which documents of the evidence have the words of a claim, and which of them alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofs.logic.words import pieces


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which content words of a claim stand in which documents; words are compared by spelling.

    Attributes
    ----------
    holders
        For each content word of the claim the documents that have it.
    """

    holders: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, claim: str, documents: Sequence[Sequence[str]]) -> Coverage:
        """Find the claim's words in documents, each given by its normalised words."""
        known = [frozenset(words) for words in documents]
        return cls(
            tuple(
                frozenset(at for at, words in enumerate(known) if word.norm in words)
                for word in pieces(claim)
                if word.content
            )
        )

    def missing(self, documents: Collection[int]) -> int:
        """Return how many words none of some documents has."""
        return sum(not any(at in documents for at in found) for found in self.holders)

    @property
    def largest_share(self) -> float:
        """The share of the words that stand in the one document that has most of them."""
        counts = [sum(at in found for found in self.holders) for at in self._all]
        return max(counts, default=0) / max(len(self.holders), 1)

    def alone(self) -> dict[int, int]:
        """Return how many words each document has that no other has; those that have any."""
        counts: dict[int, int] = {}
        for found in self.holders:
            if len(found) == 1:
                (at,) = found
                counts[at] = counts.get(at, 0) + 1
        return counts

    @property
    def _all(self) -> frozenset[int]:
        return frozenset[int]().union(*self.holders)
