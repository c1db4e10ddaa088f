"""Stage 5: one ranking of documents from the document sets of all hops (DESIGN, section 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from admiral.records import DocumentSet, RankedDocument, ScoredTitle


def rank_documents(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle], k: int
) -> list[RankedDocument]:
    """List the documents of the last hop's sets in their order, then fill up.

    The fill-up comes from the hop before, and so on, then from the first stage (hop 0). A
    document's score is that of the entry that put it there; scores of different hops are not
    comparable, the order is what counts.

    Parameters
    ----------
    hops
        The document sets of hop 1, 2, ..., each best first.
    first_stage
        The first stage's candidates, best first.
    k
        Documents to return at most.
    """
    seen: set[str] = set()
    ranking = []
    for document in _entries(hops, first_stage):
        if document.title in seen:
            continue
        seen.add(document.title)
        ranking.append(document)
        if len(ranking) == k:
            break
    return ranking


def _entries(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> Iterator[RankedDocument]:
    for number in range(len(hops), 0, -1):
        for found in hops[number - 1]:
            for title in found.titles:
                yield RankedDocument(title, found.score, number)
    for candidate in first_stage:
        yield RankedDocument(candidate.title, candidate.score, 0)
