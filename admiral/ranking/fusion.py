"""Stage 5: one ranking of documents from the document sets of all hops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from admiral.records import DocumentSet, RankedDocument, ScoredTitle

# Reciprocal rank fusion uses 60 for long lists; the lists of a hop are short and their tops count.
FUSION = 5
# The weight of a ranking by sentences beside that by generated sets, and the log probability below
# which a set says nothing: the beam had nothing better among the titles of the knowledge base.
_READ = 0.6
_LEAST = -12.0
# The weight of a hop's ranking of the documents that its evidence mentions.
_LINKED = 0.8


def rank_documents(
    hops: Sequence[Sequence[DocumentSet]],
    first_stage: Sequence[ScoredTitle],
    *,
    read: Sequence[Sequence[str]] = (),
    linked: Sequence[Sequence[str]] = (),
    named: Sequence[str] = (),
    fused: bool = True,
) -> list[RankedDocument]:
    """Rank the documents of all hops and of the first stage.

    Fused, every hop and the first stage vote by reciprocal rank, and of the documents found the
    claim gives each one that it names the vote of a first place. A hop from the second on votes
    twice: it ranks its documents by the sum of the probabilities of the sets that hold them, where
    hardly possible sets do not count, and, with less weight, by their best sentence. Every hop also
    votes for the documents that its evidence mentions, since gold documents mention each other, in
    the order in which the next hop reads them: much is mentioned, little of it matters. A
    document's score is the sum of its votes, and its hop the one whose vote was the largest (0: the
    first stage). What an early hop found with certainty thus survives a later hop that went astray.

    Otherwise the documents of the last hop's sets come first, in the order of the sets
    (as in the paper); the hop before fills up, and so on, then the first stage. A score
    is then that of the entry that put the document there.

    Parameters
    ----------
    hops
        The document sets of hop 1, 2, ..., each best first.
    first_stage
        The first stage's candidates, best first.
    read
        The documents that were read at hop 1, 2, ..., that of the best sentence first.
    linked
        The documents that the evidence of hop 1, 2, ... mentions, see `MentionFinder.in_evidence`.
    named
        The documents that the claim names.
    fused
        Which of the two.
    """
    entries = (
        _fused(hops, first_stage, read, linked, named) if fused else _last_first(hops, first_stage)
    )
    return list(entries)


def _fused(
    hops: Sequence[Sequence[DocumentSet]],
    first_stage: Sequence[ScoredTitle],
    read: Sequence[Sequence[str]],
    linked: Sequence[Sequence[str]],
    named: Sequence[str],
) -> list[RankedDocument]:
    # Weight, hop and ranking of each voter.
    voters: list[tuple[float, int, Iterable[str]]] = [(1.0, 0, [c.title for c in first_stage])]
    known = {c.title for c in first_stage} | {t for one in chain(*hops) for t in one.titles}
    voters += [(1.0, 0, [title]) for title in named if title in known]
    if hops:
        voters.append((1.0, 1, [t for found in hops[0] for t in found.titles]))
    voters += [(1.0, hop, _by_probability(found)) for hop, found in enumerate(hops[1:], start=2)]
    voters += [(_READ, hop, titles) for hop, titles in enumerate(read[1:], start=2)]
    voters += [
        (_LINKED, hop, as_read(found, read[hop : hop + 1] or read[-1:]))
        for hop, found in enumerate(linked, start=1)
    ]
    scores: dict[str, float] = {}
    best: dict[str, tuple[float, int]] = {}
    for weight, hop, titles in voters:
        for rank, title in enumerate(dict.fromkeys(titles), start=1):
            vote = weight / (FUSION + rank)
            scores[title] = scores.get(title, 0.0) + vote
            best[title] = max(best.get(title, (0.0, 0)), (vote, hop))
    for hop, found in enumerate(hops, start=1):
        for title in (t for one in found for t in one.titles):
            scores.setdefault(title, 0.0)  # hardly possible, but better than nothing
            best.setdefault(title, (0.0, hop))
    ranked = [RankedDocument(t, score, best[t][1]) for t, score in scores.items()]
    return sorted(ranked, key=lambda d: -d.score)  # stable: ties stay in the order of the lists


def as_read(titles: Sequence[str], read: Sequence[Sequence[str]]) -> list[str]:
    """Return titles in the order of a reading, those that were not read last."""
    place = {title: number for number, title in enumerate(chain(*read))}
    return sorted(titles, key=lambda title: place.get(title, len(place)))


def _by_probability(found: Sequence[DocumentSet]) -> list[str]:
    """Return the titles of sets by the sum of their sets' probabilities."""
    sums = probabilities(found)
    return sorted(sums, key=lambda title: -sums[title])


def probabilities(found: Sequence[DocumentSet]) -> dict[str, float]:
    """Return the sum of the probabilities of the sets that hold each title.

    Hardly possible sets do not count.
    """
    sums: dict[str, float] = {}
    for one in found:
        if one.score >= _LEAST:
            for title in one.titles:
                sums[title] = sums.get(title, 0.0) + math.exp(one.score)
    return sums


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
