"""Retrieve sources for claims: BM25 and dense passages, fused into a ranking of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_queries import QueryForm, claim_query
from admiral.citations.query_expansion import NoExpansion, QueryExpander
from admiral.citations.source_ranking import Fusion, reciprocal_rank_fusion, union
from admiral.library.source_filters import SourceFilter
from admiral.library.source_records import ScoredPassage, Source

#: Passages that each index returns for a query; as in SIDE.
PASSAGES = 100


class PassageIndex(Protocol):
    """An index of passages, sparse or dense."""

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query, best first."""
        ...


class SourceTexts(Protocol):
    """Sources by URL, such as a library."""

    def source(self, url: str) -> Source | None:
        """Return the source with the same canonical URL, or None."""
        ...


class SourceSearch:
    """Find sources that may support claims.

    Parameters
    ----------
    texts
        The library.
    sparse
        Index that is searched with the expanded query; None for none.
    dense
        Index that is searched with the query; None for none.
    form
        What a query holds beside the claim.
    expander
        Finds text to add to sparse queries.
    fusion
        How both rankings of pages become one: by reciprocal ranks (``rrf``), or in turns
        (``union``).
    filter
        Which sources are left out.
    passages
        Number of passages that each index returns.
    """

    def __init__(
        self,
        texts: SourceTexts,
        *,
        sparse: PassageIndex | None,
        dense: PassageIndex | None = None,
        form: QueryForm | None = None,
        expander: QueryExpander | None = None,
        fusion: Fusion = "rrf",
        filter: SourceFilter | None = None,
        passages: int = PASSAGES,
    ) -> None:
        self._texts, self._sparse, self._dense = texts, sparse, dense
        self._form, self._expander = form or QueryForm(), expander or NoExpansion()
        self._fuse = union if fusion == "union" else reciprocal_rank_fusion
        self._filter, self._passages = filter or SourceFilter(), passages

    def queries(self, claims: Sequence[CitedClaim]) -> list[str]:
        """Return the sparse query of each claim, with its expansions at the end."""
        expansions = self._expander.expand(claims)
        return [
            " ".join([claim_query(claim, self._form), *(each.text for each in expanded)])
            for claim, expanded in zip(claims, expansions, strict=True)
        ]

    def search(self, claims: Sequence[CitedClaim], k: int) -> list[list[ScoredPassage]]:
        """Return the best passage of each of the `k` best sources for each claim."""
        return [found for _, found in self._search(claims, k)]

    def candidates(self, claims: Sequence[CitedClaim], k: int) -> list[tuple[str, tuple[str, ...]]]:
        """Return the query of each claim and the URLs of at most `k` sources, best first."""
        return [
            (query, tuple(scored.passage.url for scored in found))
            for query, found in self._search(claims, k)
        ]

    def blocks(self, claim: CitedClaim, url: str) -> bool:
        """Return whether a page cannot be a source of a claim, as Wikipedia or a copy of it."""
        if self._filter.blocks_url(url):
            return True
        source = self._texts.source(url)
        return source is not None and self._filter.blocks(url, source.text, _context(claim))

    def _search(
        self, claims: Sequence[CitedClaim], k: int
    ) -> list[tuple[str, list[ScoredPassage]]]:
        queries = self.queries(claims)
        rankings: list[list[list[ScoredPassage]]] = []
        if self._sparse is not None:
            rankings.append(self._sparse.search(queries, self._passages))
        if self._dense is not None:
            plain = [claim_query(claim, self._form) for claim in claims]
            rankings.append(self._dense.search(plain, self._passages))
        return [
            (query, self._allowed(claim, self._fuse([ranking[n] for ranking in rankings]), k))
            for n, (claim, query) in enumerate(zip(claims, queries, strict=True))
        ]

    def _allowed(
        self, claim: CitedClaim, ranking: Sequence[ScoredPassage], k: int
    ) -> list[ScoredPassage]:
        """Return the first `k` sources that are not left out."""
        allowed: list[ScoredPassage] = []
        for scored in ranking:
            if len(allowed) == k:
                break
            if not self.blocks(claim, scored.passage.url):
                allowed.append(scored)
        return allowed


def _context(claim: CitedClaim) -> str:
    return f"{claim.before} {claim.claim} {claim.after}"
