"""Rank sources by their passages: page-level ranks, the union of rankings, and their fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from admiral.library.canonical_urls import canonical
from admiral.library.source_records import ScoredPassage

#: The usual constant of reciprocal rank fusion (Cormack et al., 2009).
RRF_CONSTANT = 60

Fusion = Literal["union", "rrf"]


def best_passages(found: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    """Return the best passage of each source, best first: the rank of a source is that of it.

    Sources are the same if their canonical URLs are. Of equal scores, the first counts.

    Parameters
    ----------
    found
        Passages, best first.
    """
    best: dict[str, ScoredPassage] = {}
    for scored in found:
        best.setdefault(canonical(scored.passage.url), scored)
    return list(best.values())


def union(rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    """Return the best passage of each source of all rankings, in turns: the firsts, the seconds...

    SIDE leaves the order to its verifier. Scores are those of the ranking that is first in turn.
    """
    ranked = [best_passages(ranking) for ranking in rankings]
    longest = max(map(len, ranked), default=0)
    turns = [ranking[rank] for rank in range(longest) for ranking in ranked if rank < len(ranking)]
    return best_passages(turns)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[ScoredPassage]], weights: Sequence[float] | None = None
) -> list[ScoredPassage]:
    """Rank sources by the sum of ``weight / (60 + rank)`` over rankings of sources.

    Parameters
    ----------
    rankings
        Passages, best first, of each ranking.
    weights
        Weight of each ranking; None for 1.

    Returns
    -------
    list
        For each source, its passage of the first ranking that holds it, with the sum as the score.
        Equal sums keep the order in which the sources first occur.
    """
    scores: dict[str, float] = {}
    passages: dict[str, ScoredPassage] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, scored in enumerate(best_passages(ranking), start=1):
            url = canonical(scored.passage.url)
            scores[url] = scores.get(url, 0.0) + weight / (RRF_CONSTANT + rank)
            passages.setdefault(url, scored)
    order = sorted(scores, key=lambda url: -scores[url])
    return [ScoredPassage(passages[url].passage, scores[url]) for url in order]
