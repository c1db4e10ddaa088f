"""Stage 5: one ranking of documents from the document sets of all hops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from admiral.records import DocumentSet, RankedDocument, ScoredTitle

# Reciprocal rank fusion uses 60 for long lists; the lists of a hop are short and their tops count.
_FUSION = 5


def rank_documents(
    hops: Sequence[Sequence[DocumentSet]],
    first_stage: Sequence[ScoredTitle],
    k: int,
    *,
    fused: bool = True,
) -> list[RankedDocument]:
    """Rank the documents of all hops and of the first stage.

    Fused, every hop and the first stage vote by reciprocal rank; a hop ranks its documents by the
    sum of the probabilities of the sets that hold them. A document's score is the sum of its votes,
    and its hop the one whose vote was the largest (0: the first stage). What an early hop found
    with certainty thus survives a later hop that went astray.

    Otherwise the documents of the last hop's sets come first, in the order of the sets
    (as in the paper); the hop before fills up, and so on, then the first stage. A score
    is then that of the entry that put the document there.

    Parameters
    ----------
    hops
        The document sets of hop 1, 2, ..., each best first.
    first_stage
        The first stage's candidates, best first.
    k
        Documents to return at most.
    fused
        Which of the two.
    """
    entries = _fused(hops, first_stage) if fused else _last_first(hops, first_stage)
    return list(entries)[:k]


def _fused(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> list[RankedDocument]:
    lists = [[c.title for c in first_stage]]
    if hops:
        lists.append(list(dict.fromkeys(t for found in hops[0] for t in found.titles)))
    lists += [_by_probability(found) for found in hops[1:]]
    scores: dict[str, float] = {}
    best: dict[str, tuple[float, int]] = {}
    for hop, titles in enumerate(lists):
        for rank, title in enumerate(dict.fromkeys(titles), start=1):
            vote = 1.0 / (_FUSION + rank)
            scores[title] = scores.get(title, 0.0) + vote
            best[title] = max(best.get(title, (0.0, 0)), (vote, hop))
    ranked = [RankedDocument(t, score, best[t][1]) for t, score in scores.items()]
    return sorted(ranked, key=lambda d: -d.score)  # stable: ties stay in the order of the lists


def _by_probability(found: Sequence[DocumentSet]) -> list[str]:
    """Return the titles of sets by the sum of their sets' probabilities."""
    sums: dict[str, float] = {}
    for one in found:
        for title in one.titles:
            sums[title] = sums.get(title, 0.0) + math.exp(one.score)
    return sorted(sums, key=lambda title: -sums[title])


def _last_first(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> Iterator[RankedDocument]:
    seen: set[str] = set()
    for document in _entries(hops, first_stage):
        if document.title not in seen:
            seen.add(document.title)
            yield document


def _entries(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> Iterator[RankedDocument]:
    for number in range(len(hops), 0, -1):
        for found in hops[number - 1]:
            for title in found.titles:
                yield RankedDocument(title, found.score, number)
    for candidate in first_stage:
        yield RankedDocument(candidate.title, candidate.score, 0)
