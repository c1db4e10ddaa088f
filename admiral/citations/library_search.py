"""Search a library for sources that may support claims."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from admiral.citations.citation_records import CitedClaim
from admiral.citations.source_collections import cut_source, passage_texts
from admiral.citations.verifiers.term_weights import TermWeights
from admiral.library import Library
from admiral.library.canonical_urls import canonical

# The sources whose passages the weights of stems come from; more change them little.
_STEM_SOURCES = 500


def library_stems(library: Library) -> TermWeights:
    """Return the weights of stems over the first sources of a library and the demo corpus."""
    sources = islice(library.sources(), _STEM_SOURCES)
    own = TermWeights.of(
        text for source in sources for text in passage_texts(cut_source(source, 100, 100))
    )
    return own + TermWeights.background()


class LibrarySearch:
    """Finds sources by BM25, as `CandidateSearch` describes.

    The query is the title of the page and the claim, which served SIDE best without expansion.
    Pages of Wikipedia are left out, since it cannot cite itself.

    Parameters
    ----------
    library
        The library.
    passages
        Number of passages that are searched for.
    """

    def __init__(self, library: Library, passages: int) -> None:
        self._library, self._passages = library, passages

    def candidates(self, claims: Sequence[CitedClaim], k: int) -> list[tuple[str, tuple[str, ...]]]:
        """Return the query of each claim and the URLs of at most `k` sources, best first."""
        queries = [f"{claim.page} {claim.claim}".strip() for claim in claims]
        found = self._library.search(queries, self._passages)
        results = []
        for claim, query, passages in zip(claims, queries, found, strict=True):
            urls = dict.fromkeys(each.passage.url for each in passages)
            kept = [url for url in urls if not self.blocks(claim, url)]
            results.append((query, tuple(kept[:k])))
        return results

    def blocks(self, claim: CitedClaim, url: str) -> bool:
        """Return whether a page cannot be a source of a claim."""
        host = canonical(url).partition("/")[0]
        return host == "wikipedia.org" or host.endswith(".wikipedia.org")
