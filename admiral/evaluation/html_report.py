"""The report of a run: one HTML page with every claim, its outcome, and gold evidence if given.

The input files are untrusted: all text is escaped, and the page's Content-Security-Policy allows
only the page's own script and no external resources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from admiral.errors import AdmiralError
from admiral.evaluation import (
    count_noun,
    is_trec_run,
    normalise_title,
    pair_claims,
    prediction_of,
    read_predictions,
    read_traces,
)
from admiral.evaluation.graph_picture import graph_picture
from admiral.gold import GoldClaim, is_qrels, read_gold, read_qrels
from admiral.graph.subgraph import Neighbourhood, NeighbourhoodFinder
from admiral.io.claims import read_claims
from admiral.io.rendering import STOPPED, page_file, page_head, page_template, script_policy
from admiral.io.result_writer import id_column, unescape_title
from admiral.kb import KnowledgeBase
from admiral.kb.bm25.analysis import best_sentences
from admiral.records import Hop, RankedDocument, RetrievalResult
from proofs.logic.wording import STYLE as PROOF_STYLE


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


def _titles(hop: Hop) -> frozenset[str]:
    return frozenset(sentence.title for sentence in hop.evidence)


def _ranked(trace: RetrievalResult | None) -> list[str]:
    return list(dict.fromkeys(each.title for each in trace.documents)) if trace else []


def classify_outcome(
    gold_sets: Sequence[Set[str]],
    trace: RetrievalResult | None,
    *,
    min_hops: int = 1,
    dynamic: bool = True,
) -> Outcome:
    """Return the outcome of a claim: found, or the first stage that lost its gold documents.

    `dynamic`: whether the run decides itself when to stop. A run with a fixed number of hops can
    stop neither early nor late.
    """
    if not gold_sets:
        return Outcome.NO_GOLD
    if trace is None or not trace.hops:
        return Outcome.NO_ANSWER
    last = trace.hops[-1]
    complete = [hop.number for hop in trace.hops if any(s <= _titles(hop) for s in gold_sets)]
    if dynamic and any(min_hops <= number < last.number for number in complete):
        return Outcome.LATE
    if last.number in complete:
        return Outcome.FOUND
    kept = _titles(last)
    nearest = max(gold_sets, key=lambda titles: len(titles & kept) / len(titles))
    missing = nearest - kept
    in_evidence = frozenset().union(*(_titles(hop) for hop in trace.hops))
    if not nearest & (set(trace.hops[0].read) | in_evidence):
        return Outcome.FIRST
    if missing & (frozenset().union(*(hop.read for hop in trace.hops)) | in_evidence):
        return Outcome.RERANKER
    return Outcome.EARLY if dynamic and trace.stopped == "sufficient" else Outcome.HOP


STYLE = page_file("report.css")

SCRIPT = page_file("report.js")


_MAX_SETS = 3
#: Number of documents of a ranking that are shown.
MAX_DOCUMENTS = 10
# How searches without gold evidence ended, by the field `stopped` of their record.
_ENDINGS = {
    "sufficient": "evidence sufficient",
    "max_hops": "no hops left",
    "dead_end": "nothing found",
    "": "ranking only",
}
SentenceLookup = Callable[[str, int], str | None]


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One claim of the report."""

    gold: GoldClaim  # the claim with its gold evidence; without any if there is no gold file
    trace: RetrievalResult | None
    # whether the gold documents were found, or where they were lost; None if that is not known,
    # because there is no gold file or the run has only documents
    outcome: Outcome | None
    # a sentence of each document of the ranking to show, by title
    excerpts: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> _Status:
        """The outcome of the claim, as the filters of the page name it."""
        if self.outcome is not None:
            return _Status(self.outcome.name, self.outcome.value, _css_class(self.outcome))
        stopped = self.trace.stopped if self.trace and self.trace.hops else ""
        css = "found" if stopped == "sufficient" else "neutral"
        return _Status(stopped or "ranking", _ENDINGS[stopped], css)

    @property
    def hops(self) -> int:
        """Number of hops that the gold evidence needs, or else that the search made."""
        if self.outcome is not None or self.gold.evidence or self.trace is None:
            return self.gold.hops
        return len(self.trace.hops)

    @property
    def gold_sentences(self) -> set[tuple[str, int | None]]:
        """The sentences of all sets of gold evidence."""
        return {each for own in self.gold.evidence for each in own}

    @property
    def gold_titles(self) -> set[str]:
        """The documents of all sets of gold evidence."""
        return {title for title, _ in self.gold_sentences}

    @property
    def ranking(self) -> list[str]:
        """The documents that were found, best first."""
        return _ranked(self.trace)

    @property
    def sources(self) -> dict[str, str]:
        """The sources of the documents that were found, by title."""
        return {each.title: each.source for each in self.trace.documents} if self.trace else {}

    @property
    def verdict(self) -> str:
        """The verdict of the run in words; empty if it has no hops."""
        if self.trace is None or not self.trace.hops:
            return ""
        verdict = self.trace.scored_verdict
        return "no verdict" if verdict is None else f"verdict: {verdict.words}"


class _Status(NamedTuple):
    """The outcome of a claim, or else how its search ended, with a CSS class."""

    name: str
    text: str
    css: str


def report_page(
    title: str,
    cases: Sequence[ReportCase],
    notes: Sequence[str],
    sentence_text: SentenceLookup,
    graph: NeighbourhoodFinder | None = None,
) -> Iterator[str]:
    """Yield the HTML of the report in parts.

    `title`: subject of the report, such as the name of the results file. `sentence_text`: returns a
    sentence by title and number, or None if it is not known. `graph`: finds how the documents of a
    claim are connected; None to leave this out.
    """
    counts = Counter((case.hops, case.status) for case in cases)
    totals: Counter[object] = Counter()
    for (number, status), count in counts.items():
        totals[number] += count
        totals[status] += count
    present = {case.outcome for case in cases}

    def look_up(case: ReportCase, title: str, number: int) -> str:
        recorded = {each.key: each.text for each in case.trace.evidence} if case.trace else {}
        return recorded.get((title, number)) or sentence_text(title, number) or ""

    def proof(case: ReportCase, hop: Hop) -> Markup:
        assert hop.proof is not None
        sentences = [(each.title, look_up(case, *each.key)) for each in hop.evidence]
        return Markup(hop.proof.to_html(sentences, styled=False))

    def around(case: ReportCase) -> Neighbourhood | None:
        trace, titles = case.trace, case.ranking[:MAX_DOCUMENTS]
        if trace and trace.hops and trace.hops[-1].evidence:
            titles = [sentence.title for sentence in trace.hops[-1].evidence]
        titles = [*dict.fromkeys([*titles, *sorted(case.gold_titles)])]
        return None if graph is None else graph.around(case.gold.claim, titles)

    yield page_head("Report", PROOF_STYLE + STYLE, script_policy(SCRIPT))
    yield from _TEMPLATE.generate(
        subject=title,
        notes=notes,
        counts=counts,
        totals=totals,
        hops=sorted({number for number, _ in counts}),
        statuses=_statuses(cases),
        explained=[outcome for outcome in Outcome if outcome in present],
        cases=cases,
        look_up=look_up,
        proof=proof,
        around=around,
    )


def _statuses(cases: Sequence[ReportCase]) -> list[_Status]:
    order = [*(outcome.value for outcome in Outcome), *_ENDINGS.values(), "other"]
    return sorted({case.status for case in cases}, key=lambda status: order.index(status.text))


def _css_class(outcome: Outcome) -> str:
    if outcome is Outcome.FOUND:
        return "found"
    return "neutral" if outcome in (Outcome.LATE, Outcome.NO_GOLD) else "failed"


_TEMPLATE = page_template(
    "report.html",
    {
        **{"most_sets": _MAX_SETS, "most_documents": MAX_DOCUMENTS, "stopped": STOPPED},
        **{"count_noun": count_noun, "script": SCRIPT},
        "picture": lambda around, gold: Markup(graph_picture(around, gold)),
    },
)


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
    """
    names = _DocumentNames(kb)
    traces, has_hops = _traces_by_id(results, names)
    texts = {} if claims is None else {claim.id: claim.text for claim in read_claims(claims)}
    if claims is not None and texts.keys().isdisjoint(traces):
        raise AdmiralError(f"{claims}: no claim of it is in the run. Give the claims of the run")

    def excerpts(claim: str, trace: RetrievalResult | None) -> Mapping[str, str]:
        return {} if has_hops or kb is None or trace is None else _excerpts(claim, trace, kb)

    if gold is None:
        cases = []
        for id, trace in traces.items():
            claim = GoldClaim(id, trace.text or texts.get(id) or id, None, ())
            cases.append(ReportCase(claim, trace, None, excerpts(claim.claim, trace)))
        return cases, []
    gold_claims = _judged_claims(gold, texts, names) if is_qrels(gold) else read_gold(gold)
    paired = pair_claims(gold_claims, {id: prediction_of(trace) for id, trace in traces.items()})
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
        return normalise_title(self._titles.get(column) or unescape_title(column))


def _traces_by_id(results: Path, names: _DocumentNames) -> tuple[dict[str, RetrievalResult], bool]:
    """Return the traces of a run by claim id, and whether the run has hops.

    A TREC run has none, and neither have results of ``hops=0``.
    """
    if not is_trec_run(results):
        traces = read_traces(results)
        return traces, any(trace.hops for trace in traces.values())
    traces = {}
    for id, ranking in read_predictions(results, by_id=True).items():
        documents = tuple(RankedDocument(names.title(each)) for each in ranking.documents)
        traces[id] = RetrievalResult(id, "", documents, (), (), "dead_end")
    return traces, False


def _judged_claims(
    qrels: Path, texts: Mapping[str, str], names: _DocumentNames
) -> Iterator[GoldClaim]:
    for query in read_qrels(qrels):
        relevant = tuple((names.title(column), None) for column, grade in query.grades if grade > 0)
        evidence = (relevant,) if relevant else ()
        yield GoldClaim(query.id, texts.get(query.id, ""), None, evidence)


def _excerpts(claim: str, trace: RetrievalResult, kb: KnowledgeBase) -> dict[str, str]:
    shown = _ranked(trace)[:MAX_DOCUMENTS]
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
