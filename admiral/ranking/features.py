"""What the hops of a claim say about a document: what `admiral.ranking.document_scorer` weighs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from admiral.ranking.fusion import FUSION, as_read, probabilities
from admiral.records import DocumentSet, Hop, ScoredTitle
from admiral.reranking.sentence_scores import standings

#: Of a document: its reciprocal rank in the first stage; whether the claim names it, and its
#: reciprocal place among the titles that the claim names, since what it is about comes early in it;
#: its reciprocal rank in the reading of the first hop and of the last one, and among the documents
#: that the last evidence mentions, in the order of that reading; the reciprocal place of its best
#: sentence in the last evidence, and the share of all hops that have a sentence of it in theirs; by
#: how many standard deviations its best sentence exceeds those of the others, at the first hop and
#: at the last one; whether the last hop read it; the share of all hops whose evidence mentions it;
#: the log probability of the last hop's sets that hold it.
CLUES = (
    "first_stage",
    "named",
    "named_early",
    "read_first",
    "read_last",
    "mentioned_last",
    "evidence_last",
    "evidence_share",
    "standing_first",
    "standing_last",
    "seen_last",
    "mentioned_share",
    "probability",
)

# The standing of a document that a hop did not read, and the log probability of a set that the
# beam did not find, or that is hardly possible.
_UNREAD = -1.0
_LEAST = math.log(1e-6)


class Found(Protocol):
    """What the hops of a claim have found, as `admiral.retrieval.state.Progress` holds it."""

    candidates: list[ScoredTitle] | None
    named: list[str]
    sets: list[list[DocumentSet]]
    hops: list[Hop]
    read: list[list[str]]
    best: list[dict[str, float]]
    linked: list[list[str]]


def document_clues(progress: Found) -> dict[str, tuple[float, ...]]:
    """Return the values of `CLUES` for every document that was found, read or mentioned.

    Parameters
    ----------
    progress
        A claim that has made some hops.
    """
    first = _reciprocal(c.title for c in progress.candidates or ())
    read = [_reciprocal(titles) for titles in progress.read]
    read_first = _reciprocal(t for one in progress.sets[:1] for found in one for t in found.titles)
    evidence = [[s.title for s in hop.evidence] for hop in progress.hops]
    standing = [standings(scores) for scores in progress.best]
    mentioned = _share(progress.linked)
    shown = _share(evidence)
    last_read = read[-1] if len(read) > 1 else {}
    last_mentioned = _reciprocal(as_read(_last(progress.linked), progress.read[-1:]))
    last_shown = _places(_last(evidence))
    named = _places(progress.named)
    sums = probabilities(progress.sets[-1] if len(progress.sets) > 1 else ())
    found = [
        *first,
        *(t for hop in progress.sets for one in hop for t in one.titles),
        *(t for hop in progress.read for t in hop),
        *(t for hop in progress.linked for t in hop),
    ]
    return {
        title: (
            first.get(title, 0.0),
            float(title in named),
            named.get(title, 0.0),
            read_first.get(title, 0.0),
            last_read.get(title, 0.0),
            last_mentioned.get(title, 0.0),
            last_shown.get(title, 0.0),
            shown.get(title, 0.0),
            standing[0].get(title, _UNREAD) if standing else _UNREAD,
            standing[-1].get(title, _UNREAD) if standing else _UNREAD,
            float(bool(standing) and title in standing[-1]),
            mentioned.get(title, 0.0),
            max(math.log(sums[title]), _LEAST) if title in sums else _LEAST,
        )
        for title in dict.fromkeys(found)
    }


def _reciprocal(titles: Iterable[str]) -> dict[str, float]:
    """Return the reciprocal rank of each title, as in reciprocal rank fusion."""
    return {t: 1.0 / (FUSION + rank) for rank, t in enumerate(dict.fromkeys(titles), start=1)}


def _places(titles: Iterable[str]) -> dict[str, float]:
    """Return the reciprocal of each title's first place."""
    return {title: 1.0 / at for at, title in reversed([*enumerate(titles, start=1)])}


def _share(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the share of lists that hold each title."""
    counts: dict[str, float] = {}
    for titles in lists:
        for title in dict.fromkeys(titles):
            counts[title] = counts.get(title, 0.0) + 1.0 / len(lists)
    return counts


def _last(lists: Sequence[Sequence[str]]) -> Sequence[str]:
    return lists[-1] if lists else ()
