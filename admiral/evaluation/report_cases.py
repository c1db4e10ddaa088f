"""The cases of a report: each claim with its trace, and its outcome if there is gold evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.evaluation.html_report import MAX_DOCUMENTS, ReportCase
from admiral.evaluation.pairing import pair_claims
from admiral.evaluation.predictions import (
    Prediction,
    is_trec_run,
    normalise_title,
    read_predictions,
)
from admiral.evaluation.traces import Trace, classify_outcome, read_traces
from admiral.gold import GoldClaim, read_gold
from admiral.gold.qrels import is_qrels, read_qrels
from admiral.io.claims import read_claims
from admiral.io.trec import id_column, unescape_title
from admiral.kb import KnowledgeBase
from admiral.kb.matching_sentences import best_sentences


def build_report_cases(
    results: Path,
    gold: Path | None,
    settings: Mapping[str, Any],
    *,
    claims: Path | None = None,
    kb: KnowledgeBase | None = None,
) -> tuple[list[ReportCase], list[str]]:
    """Return the claims of a run, paired with gold claims if there are any.

    - `results`: results of `admiral retrieve`, or a TREC run, for which no outcomes are known.
    - `settings`: settings of the run, which give its minimum number of hops; empty if they are not
      known.
    - `claims`: claims of the run, whose texts a TREC run and qrels do not have, if any.
    - `kb`: the knowledge base of the run, if any: the titles of documents that a TREC run or qrels
      name by their ids, and a sentence of each document of a run without hops.
    - Returns one case for each gold claim, in the order of the gold file, or else for each result.

    Raises AdmiralError if a file is invalid, or the files do not belong together.
    """
    names = _DocumentNames(kb)
    traces, has_hops = _traces_by_id(results, names)
    texts = {} if claims is None else {claim.id: claim.text for claim in read_claims(claims)}
    if claims is not None and texts.keys().isdisjoint(traces):
        raise AdmiralError(f"{claims}: no claim of it is in the run. Give the claims of the run")

    def excerpts(claim: str, trace: Trace | None) -> Mapping[str, str]:
        return {} if has_hops or kb is None or trace is None else _excerpts(claim, trace, kb)

    if gold is None:
        cases = []
        for id, trace in traces.items():
            claim = GoldClaim(id, trace.prediction.claim or texts.get(id) or id, None, ())
            cases.append(ReportCase(claim, trace, None, excerpts(claim.claim, trace)))
        return cases, []
    gold_claims = _judged_claims(gold, texts, names) if is_qrels(gold) else read_gold(gold)
    paired = pair_claims(gold_claims, {id: trace.prediction for id, trace in traces.items()})
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
        predicted = "" if pair.prediction is None else pair.prediction.claim
        claim = replace(pair.gold, claim=pair.gold.claim or predicted or pair.gold.id)
        cases.append(ReportCase(claim, claim_trace, outcome, excerpts(claim.claim, claim_trace)))
    return cases, paired.notes()


class _DocumentNames:
    """The titles of documents as TREC runs and qrels name them."""

    def __init__(self, kb: KnowledgeBase | None) -> None:
        titles = {} if kb is None else kb.titles_of_ids()
        self._titles = {id_column(id): title for id, title in titles.items()}

    def title(self, column: str) -> str:
        """Return the title of the document with an id, or else the title that a column is."""
        return normalise_title(self._titles.get(column) or unescape_title(column))


def _traces_by_id(results: Path, names: _DocumentNames) -> tuple[dict[str, Trace], bool]:
    """Return the traces of a run by claim id, and whether the run has hops.

    A TREC run has none, and neither have results of ``hops=0``.
    """
    traces: dict[str, Trace] = {}
    if is_trec_run(results):
        for id, ranking in read_predictions(results, by_id=True).items():
            titles = tuple(dict.fromkeys(map(names.title, ranking.documents)))
            traces[id] = Trace(Prediction(id, titles), (), {}, "")
        return traces, False
    for trace in read_traces(results):
        id = trace.prediction.id
        if id in traces:
            raise RecordError(
                str(results), "id", f"{id!r} occurs twice", "Keep one result for each claim"
            )
        traces[id] = trace
    return traces, any(trace.hops for trace in traces.values())


def _judged_claims(
    qrels: Path, texts: Mapping[str, str], names: _DocumentNames
) -> Iterator[GoldClaim]:
    for query in read_qrels(qrels):
        relevant = tuple((names.title(column), None) for column, grade in query.grades if grade > 0)
        evidence = (relevant,) if relevant else ()
        yield GoldClaim(query.id, texts.get(query.id, ""), None, evidence)


def _excerpts(claim: str, trace: Trace, kb: KnowledgeBase) -> dict[str, str]:
    """Return the best sentence of each document that the report shows, by title."""
    shown = trace.prediction.documents[:MAX_DOCUMENTS]
    titles = [title for title in shown if kb.row(title) is not None]
    sentences = best_sentences(claim, [kb.document(title) for title in titles])
    return {t: s.text for t, s in zip(titles, sentences, strict=True) if s is not None}


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
