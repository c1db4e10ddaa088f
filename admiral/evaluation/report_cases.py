"""The cases of a report: each claim with its trace, and its outcome if there is gold evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.evaluation.failures import classify_outcome
from admiral.evaluation.html_report import ReportCase
from admiral.evaluation.pairing import pair_claims
from admiral.evaluation.predictions import is_trec_run, read_predictions
from admiral.evaluation.traces import Trace, read_traces
from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase


def build_report_cases(
    results: Path, gold: Path | None, settings: Mapping[str, Any]
) -> tuple[list[ReportCase], list[str]]:
    """Return the claims of a run, paired with gold claims if there are any.

    Parameters
    ----------
    results
        Results of `admiral retrieve`, or a TREC run, for which no outcomes are known.
    gold
        Claims with gold evidence, if any.
    settings
        Settings of the run, which give its minimum number of hops; empty if they are not known.

    Returns
    -------
    cases
        One case for each gold claim, in the order of the gold file, or else for each result.
    notes
        Remarks for the reader, one sentence each.

    Raises
    ------
    AdmiralError
        If a file is invalid, or the two files do not belong together.
    """
    traces, has_hops = _traces_by_id(results)
    if gold is None:
        return [
            ReportCase(GoldClaim(id, trace.prediction.claim or id, None, ()), trace, None)
            for id, trace in traces.items()
        ], []
    paired = pair_claims(read_gold(gold), {id: trace.prediction for id, trace in traces.items()})
    min_hops = settings.get("min_hops")
    if not isinstance(min_hops, int):
        min_hops = 1
    dynamic = settings.get("hops", "dynamic") == "dynamic"
    cases = []
    for pair in paired.pairs:
        claim_trace = traces.get(pair.gold.id)
        outcome = None
        if has_hops:
            outcome = classify_outcome(
                pair.title_sets, claim_trace, min_hops=min_hops, dynamic=dynamic
            )
        cases.append(ReportCase(pair.gold, claim_trace, outcome))
    return cases, paired.notes()


def _traces_by_id(results: Path) -> tuple[dict[str, Trace], bool]:
    """Return the traces of a run by claim id, and whether the run has hops; a TREC run has none."""
    if is_trec_run(results):
        rankings = read_predictions(results)
        return {id: Trace(ranking, (), {}, "") for id, ranking in rankings.items()}, False
    traces: dict[str, Trace] = {}
    for trace in read_traces(results):
        id = trace.prediction.id
        if id in traces:
            raise RecordError(
                str(results), "id", f"{id!r} occurs twice", "Keep one result for each claim"
            )
        traces[id] = trace
    return traces, True


def sentence_lookup(kb: KnowledgeBase | None) -> Callable[[str, int], str | None]:
    """Return a function from (title, sentence number) to the sentence in a knowledge base.

    The function returns None for a sentence that the knowledge base does not have.
    """

    def look_up(title: str, number: int) -> str | None:
        if kb is None or kb.row(title) is None:
            return None
        sentences = kb.document(title).sentences
        return sentences[number] if number < len(sentences) else None

    return look_up
