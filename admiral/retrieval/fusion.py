"""Stage 5: merge the document sets of all hops and the first stage into one ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from admiral.records import DocumentSet, RankedDocument, ScoredTitle

#: The constant of reciprocal rank fusion, ``1 / (constant + rank)`` (Cormack et al. 2009). They use
#: 60 for long lists; the lists of a hop are short, and their first ranks matter.
RANK_CONSTANT = 5
#: Weight of a hop's ranking by best sentence, relative to its ranking by generated sets.
READING_WEIGHT = 0.6
#: Weight of a hop's ranking of the documents that its evidence mentions.
MENTION_WEIGHT = 0.8
#: Document sets below this log probability do not vote: the beam holds them only because it found
#: nothing better among the titles of the knowledge base.
MIN_SET_LOG_PROBABILITY = -12.0


def rank_documents(
    hops: Sequence[Sequence[DocumentSet]],
    first_stage: Sequence[ScoredTitle],
    *,
    read: Sequence[Sequence[str]] = (),
    mentioned: Sequence[Sequence[str]] = (),
    claim_mentions: Sequence[str] = (),
    fused: bool = True,
) -> list[RankedDocument]:
    """Rank the documents of all hops and of the first stage, best first.

    If `fused`, rankings are merged by weighted reciprocal rank fusion:

    - the first stage and the document sets of each hop have weight 1; from hop 2 on, a hop ranks
      its documents by the sum of the probabilities of the sets that contain them;
    - from hop 2 on, the order in which a hop read its documents has weight `READING_WEIGHT`;
    - the documents that the evidence of a hop mentions have weight `MENTION_WEIGHT`. They are
      ranked by the reading of the next hop, since evidence mentions many documents, few of which
      are relevant;
    - each document that the claim mentions gets the vote of a first rank, if it was found at all.

    A document's score is the sum of its votes, and its hop is the hop of its largest vote (0: the
    first stage). A document that an early hop found with certainty thus keeps a high rank even if
    a later hop goes astray.

    Otherwise, the documents of the last hop's sets come first, in the order of the sets (as in the
    paper), then those of the hop before, and so on, then those of the first stage. The score is
    that of the set or candidate that first contained the document.

    Parameters
    ----------
    hops
        The document sets of hop 1, 2, ..., each best first. Scores are log probabilities from hop 2
        on.
    first_stage
        The first stage's candidates, best first.
    read
        The titles that were read at hop 1, 2, ..., in the order of their best sentences.
    mentioned
        The titles that the evidence of hop 1, 2, ... mentions; see
        `admiral.protocols.MentionFinder`.
    claim_mentions
        The titles that the claim mentions.
    fused
        Merge all rankings; if False, list the last hop first.
    """
    if not fused:
        return list(_last_hop_first(hops, first_stage))
    found = {c.title for c in first_stage} | {t for s in chain(*hops) for t in s.titles}
    # The weight, hop and titles of each ranking that votes.
    rankings: list[tuple[float, int, Iterable[str]]] = [(1.0, 0, [c.title for c in first_stage])]
    rankings += [(1.0, 0, [title]) for title in claim_mentions if title in found]
    if hops:
        rankings.append((1.0, 1, [t for s in hops[0] for t in s.titles]))
    rankings += [(1.0, hop, _by_probability(sets)) for hop, sets in enumerate(hops[1:], start=2)]
    rankings += [(READING_WEIGHT, hop, titles) for hop, titles in enumerate(read[1:], start=2)]
    rankings += [
        (MENTION_WEIGHT, hop, in_reading_order(titles, read[hop : hop + 1] or read[-1:]))
        for hop, titles in enumerate(mentioned, start=1)
    ]
    scores: dict[str, float] = {}
    largest: dict[str, tuple[float, int]] = {}  # the largest vote for each title, and its hop
    for weight, hop, titles in rankings:
        for rank, title in enumerate(dict.fromkeys(titles), start=1):
            vote = weight / (RANK_CONSTANT + rank)
            scores[title] = scores.get(title, 0.0) + vote
            largest[title] = max(largest.get(title, (0.0, 0)), (vote, hop))
    for hop, sets in enumerate(hops, start=1):
        for title in (t for s in sets for t in s.titles):
            scores.setdefault(title, 0.0)  # of improbable sets, which rank last
            largest.setdefault(title, (0.0, hop))
    ranked = [RankedDocument(t, score, largest[t][1]) for t, score in scores.items()]
    return sorted(ranked, key=lambda d: -d.score)  # stable: ties keep the order of the rankings


def in_reading_order(titles: Sequence[str], read: Sequence[Sequence[str]]) -> list[str]:
    """Return titles in the order in which they were read; those not read come last."""
    position = {title: number for number, title in enumerate(chain(*read))}
    return sorted(titles, key=lambda title: position.get(title, len(position)))


def title_probabilities(sets: Sequence[DocumentSet]) -> dict[str, float]:
    """Return, for each title, the sum of the probabilities of the sets that contain it.

    Sets below `MIN_SET_LOG_PROBABILITY` do not count.
    """
    sums: dict[str, float] = {}
    for document_set in sets:
        if document_set.score >= MIN_SET_LOG_PROBABILITY:
            for title in document_set.titles:
                sums[title] = sums.get(title, 0.0) + math.exp(document_set.score)
    return sums


def _by_probability(sets: Sequence[DocumentSet]) -> list[str]:
    sums = title_probabilities(sets)
    return sorted(sums, key=lambda title: -sums[title])


def _last_hop_first(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> Iterator[RankedDocument]:
    seen: set[str] = set()
    for document in _all_entries(hops, first_stage):
        if document.title not in seen:
            seen.add(document.title)
            yield document


def _all_entries(
    hops: Sequence[Sequence[DocumentSet]], first_stage: Sequence[ScoredTitle]
) -> Iterator[RankedDocument]:
    for number in range(len(hops), 0, -1):
        for document_set in hops[number - 1]:
            for title in document_set.titles:
                yield RankedDocument(title, document_set.score, number)
    for candidate in first_stage:
        yield RankedDocument(candidate.title, candidate.score, 0)
