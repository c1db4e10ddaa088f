"""Expand queries: text that the cited source may contain and the claim does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from admiral.citations.citation_records import CitedClaim


@dataclass(frozen=True, slots=True)
class Expansion:
    """A text that is added to a query, with its natural log probability."""

    text: str
    log_probability: float = 0.0


class QueryExpander(Protocol):
    """Finds expansions of claims."""

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return the expansions of each claim, best first."""
        ...


class NoExpansion:
    """Expand nothing."""

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return no expansion for any claim."""
        return [[] for _ in claims]


class PageTitleExpansion:
    """Expand a claim by the title of its page."""

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return the title of the page of each claim, unless it has none."""
        return [[Expansion(claim.page)] if claim.page else [] for claim in claims]
