"""The report of a run: one HTML page with every claim, its outcome, and gold evidence if given.

The input files are untrusted: all text is escaped, and the page's Content-Security-Policy allows
only the page's own script and no external resources.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from admiral.evaluation.graph_picture import STYLE as PICTURE_STYLE
from admiral.evaluation.graph_picture import graph_picture
from admiral.evaluation.pairing import count_noun
from admiral.evaluation.traces import HopTrace, Outcome, Trace
from admiral.gold import EvidenceSet, GoldClaim
from admiral.graph.neighbourhood import NeighbourhoodFinder
from admiral.io.judgement_page import page_head
from admiral.io.text_rendering import STOPPED
from proofs import Verdict
from proofs.logic.wording import STYLE as PROOF_STYLE
from proofs.logic.wording import escaped

STYLE = """
:root { color-scheme: light dark; --line: #d0d0d0; --dim: #5c5c5c; --soft: #f3f3f3;
  --gold: #dff0e3; --bad: #b3261e; --good: #2a7d4f; --mid: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --dim: #aaa; --soft: #232323; --gold: #1f3a28; --bad: #f2867e;
    --good: #7cc79a; --mid: #dfb45c; } }
body { font-family: sans-serif; line-height: 1.4; max-width: 76em; margin: auto; padding: 1em;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; } h3 { font-size: 1em; margin: 1em 0 0.3em; }
.scroll { overflow-x: auto; }
.summary { border-collapse: collapse; }
.summary th, .summary td { padding: 0.25em 0.7em; border-bottom: 1px solid var(--line);
  text-align: right; }
.summary th:first-child { text-align: left; }
form { display: flex; flex-wrap: wrap; gap: 0.6em; align-items: end; padding: 0.6em 0;
  position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--line); }
label { display: grid; font-size: 0.85em; color: var(--dim); }
input, select { font: inherit; padding: 0.3em; max-width: 100%; }
details { border: 1px solid var(--line); border-radius: 0.4em; margin: 0.6em 0; }
summary { cursor: pointer; padding: 0.6em; }
details[open] > summary { border-bottom: 1px solid var(--line); background: var(--soft); }
.facts { display: block; font-size: 0.85em; color: var(--dim); }
.stage { font-weight: bold; } .found { color: var(--good); } .failed { color: var(--bad); }
.neutral { color: var(--mid); }
.sides { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); gap: 1.5em;
  padding: 0 0.8em 0.8em; }
@media (max-width: 50em) { form { position: static; }
  .sides { grid-template-columns: minmax(0, 1fr); gap: 0; } }
.connections { padding: 0 0.8em 0.8em; }
ul, ol { padding-left: 1.4em; margin: 0.3em 0; }
.gold { background: var(--gold); }
cite, .dim { color: var(--dim); }
.proof { font-size: 0.9em; } .proof cite { color: var(--dim); }
.proof tr { border-bottom-color: var(--line); }
.proof tr:first-child { border-left-color: var(--line); }
.proof td { overflow-wrap: normal; }
"""

SCRIPT = """
const form = document.querySelector("form");
const claims = [...document.querySelectorAll("details")];
const texts = claims.map((claim) => claim.textContent.toLowerCase());
function filter() {
  const words = form.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  claims.forEach((claim, at) => {
    const fits = (!form.stage.value || claim.dataset.stage === form.stage.value)
      && (!form.hops.value || claim.dataset.hops === form.hops.value)
      && words.every((word) => texts[at].includes(word));
    claim.hidden = !fits;
    shown += fits;
  });
  document.querySelector("output").value = shown + " of " + claims.length + " claims";
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
"""


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
    """One claim of the report.

    Attributes
    ----------
    gold
        The claim with its gold evidence; without any if there is no gold file.
    trace
        What the run did for the claim; None if it has no result.
    outcome
        Whether the gold documents were found, or where they were lost; None if that is not known,
        because there is no gold file or the run has only documents.
    excerpts
        A sentence of each document of the ranking to show, by title.
    """

    gold: GoldClaim
    trace: Trace | None
    outcome: Outcome | None
    excerpts: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> _Status:
        """The outcome of the claim, as the filters of the page name it."""
        if self.outcome is not None:
            return _Status(self.outcome.name, self.outcome.value, _css_class(self.outcome))
        stopped = self.trace.stopped if self.trace and self.trace.hops else ""
        if stopped not in _ENDINGS:  # of a record that was changed
            return _Status("other", "other", "neutral")
        css = "found" if stopped == "sufficient" else "neutral"
        return _Status(stopped or "ranking", _ENDINGS[stopped], css)

    @property
    def hops(self) -> int:
        """Number of hops that the gold evidence needs, or else that the search made."""
        if self.outcome is not None or self.gold.evidence or self.trace is None:
            return self.gold.hops
        return len(self.trace.hops)


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

    Parameters
    ----------
    title
        Subject of the report, such as the name of the results file.
    sentence_text
        Returns a sentence by title and number, or None if it is not known.
    graph
        Finds how the documents of a claim are connected; None to leave this out.
    """
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield page_head("Report", PROOF_STYLE + STYLE + PICTURE_STYLE, policy)
    yield f"<h1>Report: {escaped(title)}</h1>\n"
    yield "".join(f"<p>{escaped(note)}</p>\n" for note in notes)
    yield from _summary(cases)
    yield _filters(cases)
    for case in cases:
        yield "".join(_claim(case, sentence_text, graph))
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _summary(cases: Sequence[ReportCase]) -> Iterator[str]:
    counts = Counter((case.hops, case.status) for case in cases)
    hops = sorted({number for number, _ in counts})
    statuses = _statuses(cases)
    yield '<h2>Claims by outcome</h2>\n<div class="scroll"><table class="summary">\n'
    yield "<tr><th></th>"
    yield (
        "".join(f"<th>{count_noun(number, 'hop')}</th>" for number in hops) + "<th>all</th></tr>\n"
    )
    for status in statuses:
        row = [counts[number, status] for number in hops]
        cells = "".join(f"<td>{count}</td>" for count in row)
        share = f"{sum(row)} ({sum(row) / len(cases):.0%})"
        yield f'<tr><th class="{status.css}">{status.text}</th>{cells}<td>{share}</td></tr>\n'
    totals = "".join(
        f"<td>{sum(counts[number, status] for status in statuses)}</td>" for number in hops
    )
    yield f"<tr><th>claims</th>{totals}<td>{len(cases)}</td></tr>\n</table></div>\n"
    present = {case.outcome for case in cases}
    if explained := [outcome for outcome in Outcome if outcome in present]:
        items = "".join(f"<li><b>{each.value}</b>: {each.meaning}</li>\n" for each in explained)
        yield f"<ul>\n{items}</ul>\n"


def _statuses(cases: Sequence[ReportCase]) -> list[_Status]:
    """Return what became of any claim, in the order of outcomes and endings."""
    order = [*(outcome.value for outcome in Outcome), *_ENDINGS.values(), "other"]
    return sorted({case.status for case in cases}, key=lambda status: order.index(status.text))


def _filters(cases: Sequence[ReportCase]) -> str:
    outcomes = "".join(
        f'<option value="{status.name}">{status.text}</option>' for status in _statuses(cases)
    )
    hops = "".join(
        f'<option value="{number}">{count_noun(number, "hop")}</option>'
        for number in sorted({case.hops for case in cases})
    )
    return (
        '<h2>Claims</h2>\n<form>\n<label>Stage<select name="stage"><option value="">any</option>'
        f'{outcomes}</select></label>\n<label>Hops<select name="hops"><option value="">any</option>'
        f'{hops}</select></label>\n<label>Words<input name="words" type="search"></label>\n'
        "<output></output>\n</form>\n"
    )


def _claim(
    case: ReportCase, sentence_text: SentenceLookup, graph: NeighbourhoodFinder | None
) -> Iterator[str]:
    gold, trace = case.gold, case.trace
    verdict = trace.prediction.verdict if trace else None
    probability = trace.prediction.probability if trace else None
    status = case.status
    facts = [
        f'<span class="stage {status.css}">{status.text}</span>',
        count_noun(case.hops, "hop"),
        f"id {escaped(gold.id)}",
        *([f"label {gold.label.value}"] if gold.label else []),
        *([_verdict_text(verdict, probability)] if verdict else []),
    ]
    yield (
        f'<details data-stage="{status.name}" data-hops="{case.hops}">\n<summary>'
        f'{escaped(gold.claim)}<span class="facts">{" · ".join(facts)}</span></summary>\n'
        '<div class="sides">\n<div>\n'
    )
    gold_sentences = {sentence for evidence_set in gold.evidence for sentence in evidence_set}
    gold_titles = {title for title, _ in gold_sentences}

    def look_up(title: str, number: int) -> str:
        recorded = trace.sentence_texts.get((title, number)) if trace else None
        return recorded or sentence_text(title, number) or ""

    if trace is None:
        yield "<p>The run has no answer.</p>\n"
    else:
        for hop in trace.hops:
            yield from _hop(hop, gold_sentences, gold_titles, look_up)
        if trace.stopped:
            stopped = STOPPED.get(trace.stopped, trace.stopped)
            yield f"<p>Stopped because {escaped(stopped)}.</p>\n"
    yield "</div>\n<div>\n"
    if case.outcome is not None or gold.evidence:
        yield from _gold(gold, trace, look_up)
    yield _ranking(gold, trace, case.excerpts)
    yield "</div>\n</div>\n"
    if graph is not None:
        yield from _connections(case, graph)
    yield "</details>\n"


def _connections(case: ReportCase, graph: NeighbourhoodFinder) -> Iterator[str]:
    """Yield the picture of a claim's neighbourhood and the sentences that connect its documents."""
    trace, gold = case.trace, {title for names in case.gold.title_sets for title in names}
    evidence = trace.hops[-1].evidence if trace and trace.hops else ()
    ranking = trace.prediction.documents if trace else ()
    titles = [title for title, _ in evidence] or list(ranking[:MAX_DOCUMENTS])
    around = graph.around(case.gold.claim, [*dict.fromkeys([*titles, *sorted(gold)])])
    if not around.edges:
        return
    yield '<div class="connections">\n<h3>How the documents are connected</h3>\n'
    yield f'<div class="scroll">{graph_picture(around, gold)}</div>\n'
    yield "<ul>\n"
    for one, other, path in around.paths:
        through = f" through {_title(path.between, gold)}" if path.between is not None else ""
        yield f"<li>{_title(one, gold)} and {_title(other, gold)}{through}:\n<ul>\n"
        for sentence in path.sentences:
            yield f"<li>{_sentence(sentence.title, sentence.index, sentence.text)}</li>\n"
        yield "</ul>\n</li>\n"
    yield "</ul>\n</div>\n"


def _verdict_text(verdict: Verdict, probability: float | None) -> str:
    if probability is None:
        return f"the proof's verdict {verdict.value}"
    return f"verdict {verdict.value} ({probability:.2f})"


def _hop(
    hop: HopTrace,
    gold_sentences: set[tuple[str, int | None]],
    gold_titles: set[str],
    look_up: Callable[[str, int], str],
) -> Iterator[str]:
    yield f"<h3>Hop {hop.number}</h3>\n<ul>\n"
    for title, number in hop.evidence:
        is_gold = not gold_sentences.isdisjoint({(title, number), (title, None)})
        yield f"<li>{_sentence(title, number, look_up(title, number), is_gold=is_gold)}</li>\n"
    yield "</ul>\n"
    if hop.number > 1 and hop.document_sets:
        document_sets = "; ".join(
            " + ".join(_title(title, gold_titles) for title in titles)
            for titles in hop.document_sets[:_MAX_SETS]
        )
        yield f'<p class="dim">Best document sets: {document_sets}</p>\n'
    if hop.proof is not None:
        sentences = [(title, look_up(title, number)) for title, number in hop.evidence]
        yield f'<div class="scroll">{hop.proof.to_html(sentences, styled=False)}</div>\n'
    share = "probability" if hop.sufficient else "probability that it is:"
    note = "" if hop.probability is None else f" ({share} {hop.probability:.2f})"
    yield f"<p>Judged {'' if hop.sufficient else 'not '}sufficient{note}.</p>\n"


def _gold(
    gold: GoldClaim, trace: Trace | None, look_up: Callable[[str, int], str]
) -> Iterator[str]:
    ranking = trace.prediction.documents if trace else ()
    yield "<h3>Gold</h3>\n"
    for number, evidence_set in enumerate(gold.evidence):
        yield "<p>or</p>\n<ul>\n" if number else "<ul>\n"
        yield from _gold_set(evidence_set, ranking, look_up)
        yield "</ul>\n"
    if not gold.evidence:
        yield "<p>No evidence.</p>\n"


def _ranking(gold: GoldClaim, trace: Trace | None, excerpts: Mapping[str, str]) -> str:
    ranking = trace.prediction.documents if trace else ()
    if not ranking:
        return ""
    titles = {title for names in gold.title_sets for title in names}
    sources = trace.sources if trace else {}
    items = "".join(
        f"<li>{_title(title, titles)}{_source(sources.get(title))}"
        f"{_excerpt(excerpts.get(title))}</li>\n"
        for title in ranking[:MAX_DOCUMENTS]
    )
    return f"<h3>First documents of the ranking</h3>\n<ol>\n{items}</ol>\n"


def _gold_set(
    evidence_set: EvidenceSet, ranking: Sequence[str], look_up: Callable[[str, int], str]
) -> Iterator[str]:
    for title, number in evidence_set:
        text = look_up(title, number) if number is not None else ""
        rank = f"rank {ranking.index(title) + 1}" if title in ranking else "not in the ranking"
        yield f'<li>{_sentence(title, number, text)} <span class="dim">({rank})</span></li>\n'


def _sentence(title: str, number: int | None, text: str, *, is_gold: bool = False) -> str:
    position = "" if number is None else f", {number}"
    tag = '<span class="gold">' if is_gold else "<span>"
    content = f" {escaped(text)}" if text else ""
    return f"{tag}<cite>[{escaped(title)}{position}]</cite>{content}</span>"


def _source(source: str | None) -> str:
    return f' <span class="dim">{escaped(source)}</span>' if source else ""


def _excerpt(sentence: str | None) -> str:
    return f"<p>{escaped(sentence)}</p>" if sentence else ""


def _title(title: str, gold_titles: set[str]) -> str:
    if title in gold_titles:
        return f'<span class="gold">{escaped(title)}</span>'
    return escaped(title)


def _css_class(outcome: Outcome) -> str:
    if outcome is Outcome.FOUND:
        return "found"
    return "neutral" if outcome in (Outcome.LATE, Outcome.NO_GOLD) else "failed"
