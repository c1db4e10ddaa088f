"""Hops without a generator: the hop retriever of the setting ``generator=false``."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.records import DocumentSet, Sentence


class NoGenerator:
    """Generate nothing.

    The hop loop continues all the same: a hop then reads the documents of the evidence, those that
    the evidence mentions, and the candidates of the first stage.
    """

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return no document set for any claim."""
        return [[] for _ in claims]
