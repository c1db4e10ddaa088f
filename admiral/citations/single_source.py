"""One claim checked against one source, without a library."""

from __future__ import annotations

from admiral.citations.citation_records import Citation, CitationVerdict, CitedClaim
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer
from admiral.citations.source_collections import LoadedSources
from admiral.citations.verifiers.term_weights import TermWeights
from admiral.library.source_records import Source


def check_source(
    claim: str, source: Source, config: CitationConfig, page: str = ""
) -> CitationVerdict:
    """Return the verdict on a claim that cites one source.

    Parameters
    ----------
    claim
        The claim.
    source
        The source, with its text.
    config
        Settings. There is nothing else to suggest.
    page
        Title of the page that makes the claim; empty if unknown.
    """
    cited = CitedClaim("1", claim, page=page, citations=(Citation(source.url),))
    return Citer.over(LoadedSources([source]), TermWeights.background(), config).verify(cited)
