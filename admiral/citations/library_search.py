"""The parts of a library, other than its sources, that verifying citations needs."""

from __future__ import annotations

from itertools import islice

from admiral.citations.source_collections import cut_source, passage_texts
from admiral.citations.source_search import SourceSearch
from admiral.citations.verifiers.term_weights import TermWeights
from admiral.library import Library

# The sources whose passages the weights of stems come from; more change them little.
_STEM_SOURCES = 500


def library_stems(library: Library) -> TermWeights:
    """Return the weights of stems over the first sources of a library and the demo corpus."""
    sources = islice(library.sources(), _STEM_SOURCES)
    own = TermWeights.of(
        text for source in sources for text in passage_texts(cut_source(source, 100, 100))
    )
    return own + TermWeights.background()


def library_search(library: Library, passages: int) -> SourceSearch:
    """Return the search for sources by BM25, with the title of the page and the claim.

    Parameters
    ----------
    library
        The library.
    passages
        Number of passages that are searched for.
    """
    return SourceSearch(library, sparse=library, passages=passages)
