"""Where a claim was lost: the first stage of the pipeline that is to blame."""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import Enum

from admiral.evaluation.traces import Trace


class Stage(Enum):
    """What became of a claim; a document is found if a sentence of it is in the evidence."""

    FOUND = "found"
    LATE = "stopped late"
    FIRST = "first stage missed"
    RERANKER = "reranker dropped"
    HOP = "hop missed"
    EARLY = "stopped early"
    NO_ANSWER = "no answer"
    NO_GOLD = "no gold evidence"

    @property
    def meaning(self) -> str:
        """The stage in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Stage.FOUND: "The last evidence has a sentence of every gold document.",
    Stage.LATE: "The evidence of an earlier hop had one of every gold document; it went on.",
    Stage.FIRST: "No gold document was among those that the first hop read, or found later.",
    Stage.RERANKER: "A missing document was read, and the last evidence has no sentence of it.",
    Stage.HOP: "No hop read a missing document, and no more hops were made.",
    Stage.EARLY: "It stopped as sufficient before any hop read a missing document.",
    Stage.NO_ANSWER: "The run does not answer the claim.",
    Stage.NO_GOLD: "There is nothing to find.",
}


def stage_of(
    sets: Sequence[Set[str]], trace: Trace | None, *, min_hops: int = 1, dynamic: bool = True
) -> Stage:
    """Return the stage that a claim was lost at.

    Parameters
    ----------
    sets
        The alternative sets of gold documents.
    trace
        What the run did; None without an answer.
    min_hops
        The hops that the run had to make.
    dynamic
        Whether it could stop by itself; otherwise it can be neither early nor late.
    """
    if not sets:
        return Stage.NO_GOLD
    if trace is None or not trace.hops:
        return Stage.NO_ANSWER
    last = trace.hops[-1]
    whole = [hop.number for hop in trace.hops if any(one <= hop.titles for one in sets)]
    if dynamic and any(min_hops <= number < last.number for number in whole):
        return Stage.LATE
    if last.number in whole:
        return Stage.FOUND
    target = max(sets, key=lambda one: len(one & last.titles) / len(one))
    missing = target - last.titles
    kept = frozenset().union(*(hop.titles for hop in trace.hops))
    if not target & (set(trace.hops[0].read) | kept):
        return Stage.FIRST
    if missing & (frozenset().union(*(hop.read for hop in trace.hops)) | kept):
        return Stage.RERANKER
    return Stage.EARLY if dynamic and trace.stopped == "sufficient" else Stage.HOP
