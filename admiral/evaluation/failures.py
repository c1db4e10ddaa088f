"""Error analysis: the pipeline stage at which a claim's gold evidence was lost."""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import Enum

from admiral.evaluation.traces import Trace


class Outcome(Enum):
    """Outcome of a claim. A gold document is found if the evidence has a sentence of it."""

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
        """The outcome explained in one sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.FOUND: "The last evidence has a sentence of every gold document.",
    Outcome.LATE: "The evidence of an earlier hop had one of every gold document; it went on.",
    Outcome.FIRST: "No gold document was among those that the first hop read, or found later.",
    Outcome.RERANKER: "A missing document was read, and the last evidence has no sentence of it.",
    Outcome.HOP: "No hop read a missing document, and no more hops were made.",
    Outcome.EARLY: "It stopped as sufficient before any hop read a missing document.",
    Outcome.NO_ANSWER: "The run does not answer the claim.",
    Outcome.NO_GOLD: "There is nothing to find.",
}


def classify_outcome(
    gold_sets: Sequence[Set[str]],
    trace: Trace | None,
    *,
    min_hops: int = 1,
    dynamic: bool = True,
) -> Outcome:
    """Return the outcome of a claim: found, or the first stage that lost its gold documents.

    Parameters
    ----------
    gold_sets
        Alternative sets of gold documents.
    trace
        What the run did for the claim; None if it has no result.
    min_hops
        Minimum number of hops of the run.
    dynamic
        Whether the run decides itself when to stop. A run with a fixed number of hops can stop
        neither early nor late.
    """
    if not gold_sets:
        return Outcome.NO_GOLD
    if trace is None or not trace.hops:
        return Outcome.NO_ANSWER
    last = trace.hops[-1]
    complete = [hop.number for hop in trace.hops if any(s <= hop.titles for s in gold_sets)]
    if dynamic and any(min_hops <= number < last.number for number in complete):
        return Outcome.LATE
    if last.number in complete:
        return Outcome.FOUND
    nearest = max(gold_sets, key=lambda titles: len(titles & last.titles) / len(titles))
    missing = nearest - last.titles
    in_evidence = frozenset().union(*(hop.titles for hop in trace.hops))
    if not nearest & (set(trace.hops[0].read) | in_evidence):
        return Outcome.FIRST
    if missing & (frozenset().union(*(hop.read for hop in trace.hops)) | in_evidence):
        return Outcome.RERANKER
    return Outcome.EARLY if dynamic and trace.stopped == "sufficient" else Outcome.HOP
