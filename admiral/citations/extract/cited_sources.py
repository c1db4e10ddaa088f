"""The sources that claims cite, each once: those on the web, and others such as books."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.library.canonical_urls import canonical, is_web


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source and the number of claims that cite it."""

    citation: Citation  # the first one, with the archived copy that any of them names
    claims: int

    @property
    def day(self) -> str:
        """When the source was read by the editor, as YYYYMMDD; empty if unknown."""
        match = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", self.citation.access_date)
        return "".join(match.groups()) if match else ""


def cited_sources(claims: Iterable[CitedClaim]) -> tuple[list[CitedSource], list[CitedSource]]:
    """Return the sources of claims on the web, and those that are not, in the order of the claims.

    Sources on the web are the same if their canonical URLs are; others, if title, author and ISBN
    are.
    """
    web: dict[str, CitedSource] = {}
    others: dict[str, CitedSource] = {}
    for claim in claims:
        for citation in dict.fromkeys(claim.citations):
            url = citation.url or citation.archive_url
            if is_web(url):
                known, key = web, canonical(url)
                citation = replace(citation, url=url)
            else:
                known = others
                key = "\n".join((citation.title, citation.author, citation.isbn))
            earlier = known.get(key)
            if earlier is None:
                known[key] = CitedSource(citation, 1)
                continue
            first = earlier.citation
            archive_url = first.archive_url or citation.archive_url
            title = first.title or citation.title
            first = replace(first, archive_url=archive_url, title=title)
            known[key] = CitedSource(first, earlier.claims + 1)
    return list(web.values()), list(others.values())
