"""How well a run judged its evidence, and where it stopped, against gold documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from admiral.evaluation.predictions import same_title
from admiral.evaluation.traces import Trace
from admiral.gold import GoldClaim


def stopping(gold: Iterable[GoldClaim], traces: Mapping[str, Trace]) -> dict[str, Any]:
    """Return what the judge said at every hop that was made, beside what was true.

    Evidence is complete if it has a sentence of every document of one of the gold sets. Claims
    without gold evidence, or without an answer, do not count.

    Returns
    -------
    dict
        ``hops``: their mean; ``stopped``: claims by the reason of the end; ``precision`` and
        ``recall`` of the verdict "insufficient" over all hops (None where nothing is to be
        divided); ``decisions``: for each hop how many were ``sufficient`` and ``insufficient`` by
        the judge, and how many of either were complete.
    """
    counts: Counter[tuple[int, bool, bool]] = Counter()
    ends: Counter[str] = Counter()
    made = []
    for claim in gold:
        trace = traces.get(claim.id)
        if trace is None or not claim.evidence:
            continue
        sets = [frozenset(map(same_title, titles)) for titles in claim.title_sets]
        for hop in trace.hops:
            complete = any(one <= hop.titles for one in sets)
            counts[hop.number, hop.sufficient, complete] += 1
        ends[trace.stopped] += 1
        made.append(len(trace.hops))
    wrong = sum(n for (_, said, complete), n in counts.items() if not said and complete)
    right = sum(n for (_, said, complete), n in counts.items() if not said and not complete)
    lacking = sum(n for (_, _, complete), n in counts.items() if not complete)
    return {
        "hops": sum(made) / len(made) if made else None,
        "stopped": dict(sorted(ends.items())),
        "precision": right / (right + wrong) if right + wrong else None,
        "recall": right / lacking if lacking else None,
        "decisions": [
            {
                "hop": hop,
                "sufficient": counts[hop, True, True] + counts[hop, True, False],
                "sufficient_complete": counts[hop, True, True],
                "insufficient": counts[hop, False, True] + counts[hop, False, False],
                "insufficient_complete": counts[hop, False, True],
            }
            for hop in sorted({hop for hop, _, _ in counts})
        ],
    }
