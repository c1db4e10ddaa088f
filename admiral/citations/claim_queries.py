"""Queries for the sources of a claim: the claim with more or less of its context."""

from __future__ import annotations

from dataclasses import dataclass

from admiral.citations.citation_records import CitedClaim
from admiral.kb.corpus.sentence_splitter import split_sentences


@dataclass(frozen=True, slots=True)
class QueryForm:
    """The parts of a query in addition to the claim.

    Attributes
    ----------
    title
        Whether it holds the title of the page. With it alone, the query is the one that SIDE found
        best for BM25.
    section
        Whether it holds the headings above the claim.
    sentences
        Number of sentences before the claim; None for the whole context.
    """

    title: bool = True
    section: bool = False
    sentences: int | None = 0


#: The forms that `benchmarks.citation_retrieval` compares, by name.
QUERY_FORMS = {
    "claim": QueryForm(title=False),
    "title": QueryForm(),
    "section": QueryForm(section=True),
    "sentence": QueryForm(sentences=1),
    "context": QueryForm(sentences=None),
}


def claim_query(claim: CitedClaim, form: QueryForm) -> str:
    """Return the query of a claim: title, headings, sentences before, claim."""
    parts = [claim.page] if form.title else []
    if form.section:
        parts += claim.section
    if form.sentences is None:
        parts.append(claim.before)
    elif form.sentences:
        parts += split_sentences(claim.before)[-form.sentences :]
    return " ".join(part for part in (*parts, claim.claim) if part)
