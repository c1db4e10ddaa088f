"""The cases of a report: gold claims beside what the run did, and the texts of sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.evaluation.failures import stage_of
from admiral.evaluation.html_report import Case
from admiral.evaluation.pairing import pair_up
from admiral.evaluation.traces import Trace, read_traces
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase


def cases_of(
    results: Path, gold: Path, settings: Mapping[str, Any]
) -> tuple[list[Case], list[str]]:
    """Return a case for each gold claim, and what is to be said of them.

    Parameters
    ----------
    settings
        Those of the run, which say from which hop on it could stop; empty if they are not known.

    Raises
    ------
    AdmiralError
        For bad files, and for files that do not belong together.
    """
    traces: dict[str, Trace] = {}
    for trace in read_traces(results):
        id = trace.answer.id
        if id in traces:
            raise RecordError(
                str(results), "id", f"{id!r} comes twice", "Give each claim one answer"
            )
        traces[id] = trace
    pairs = pair_up(read_gold(gold), {id: trace.answer for id, trace in traces.items()})
    min_hops = settings.get("min_hops")
    least = min_hops if isinstance(min_hops, int) else 1
    dynamic = settings.get("hops", "dynamic") == "dynamic"
    cases = []
    for pair in pairs.pairs:
        found = traces.get(pair.gold.id)
        stage = stage_of(pair.title_sets, found, min_hops=least, dynamic=dynamic)
        cases.append(Case(pair.gold, found, stage))
    return cases, pairs.notes()


def sentence_text(kb: KnowledgeBase | None) -> Callable[[str, int], str | None]:
    """Return a function that gives the sentences of a knowledge base by title and number."""

    def text(title: str, number: int) -> str | None:
        if kb is None or kb.row(title) is None:
            return None
        sentences = kb.document(title).sentences
        return sentences[number] if number < len(sentences) else None

    return text
