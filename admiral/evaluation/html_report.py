"""The report of a run: one HTML page with every claim, its gold evidence and its outcome.

The input files are untrusted: all text is escaped, and the page's Content-Security-Policy allows
only the page's own script and no external resources.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from admiral.evaluation.failures import Outcome
from admiral.evaluation.pairing import count_noun
from admiral.evaluation.traces import HopTrace, Trace
from admiral.gold import EvidenceSet, GoldClaim
from admiral.io.judgement_page import page_head
from admiral.io.text_rendering import STOPPED
from proofs.logic import proof_html
from proofs.logic.proof_html import escaped

_MAX_SETS, _MAX_DOCUMENTS = 3, 10
SentenceLookup = Callable[[str, int], str | None]


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One claim of the report.

    Attributes
    ----------
    gold
        The claim with its gold evidence.
    trace
        What the run did for the claim; None if it has no result.
    outcome
        Whether the gold documents were found, or where they were lost.
    """

    gold: GoldClaim
    trace: Trace | None
    outcome: Outcome


def report_page(
    title: str, cases: Sequence[ReportCase], notes: Sequence[str], sentence_text: SentenceLookup
) -> Iterator[str]:
    """Yield the HTML of the report in parts.

    Parameters
    ----------
    title
        Subject of the report, such as the name of the results file.
    cases
        All claims.
    notes
        Remarks shown at the top.
    sentence_text
        Returns a sentence by title and number, or None if it is not known.
    """
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield page_head("Report", proof_html.STYLE + _STYLE, policy)
    yield f"<h1>Report: {escaped(title)}</h1>\n"
    yield "".join(f"<p>{escaped(note)}</p>\n" for note in notes)
    yield from _summary(cases)
    yield _filters(cases)
    for case in cases:
        yield "".join(_claim(case, sentence_text))
    yield f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def _summary(cases: Sequence[ReportCase]) -> Iterator[str]:
    counts = Counter((case.gold.hops, case.outcome) for case in cases)
    hops = sorted({number for number, _ in counts})
    outcomes = [outcome for outcome in Outcome if any(counts[number, outcome] for number in hops)]
    yield '<h2>What became of the claims</h2>\n<div class="scroll"><table class="summary">\n'
    yield "<tr><th></th>"
    yield (
        "".join(f"<th>{count_noun(number, 'hop')}</th>" for number in hops) + "<th>all</th></tr>\n"
    )
    for outcome in outcomes:
        row = [counts[number, outcome] for number in hops]
        cells = "".join(f"<td>{count}</td>" for count in row)
        share = f"{sum(row)} ({sum(row) / len(cases):.0%})"
        css = _css_class(outcome)
        yield f'<tr><th class="{css}">{outcome.value}</th>{cells}<td>{share}</td></tr>\n'
    totals = "".join(
        f"<td>{sum(counts[number, outcome] for outcome in outcomes)}</td>" for number in hops
    )
    yield f"<tr><th>claims</th>{totals}<td>{len(cases)}</td></tr>\n</table></div>\n<ul>\n"
    yield "".join(f"<li><b>{outcome.value}</b>: {outcome.meaning}</li>\n" for outcome in outcomes)
    yield "</ul>\n"


def _filters(cases: Sequence[ReportCase]) -> str:
    present = {case.outcome for case in cases}
    outcomes = "".join(
        f'<option value="{outcome.name}">{outcome.value}</option>'
        for outcome in Outcome
        if outcome in present
    )
    hops = "".join(
        f'<option value="{number}">{count_noun(number, "hop")}</option>'
        for number in sorted({case.gold.hops for case in cases})
    )
    return (
        '<h2>Claims</h2>\n<form>\n<label>Stage<select name="stage"><option value="">any</option>'
        f'{outcomes}</select></label>\n<label>Hops<select name="hops"><option value="">any</option>'
        f'{hops}</select></label>\n<label>Words<input name="words" type="search"></label>\n'
        "<output></output>\n</form>\n"
    )


def _claim(case: ReportCase, sentence_text: SentenceLookup) -> Iterator[str]:
    gold, trace = case.gold, case.trace
    verdict = trace.prediction.verdict if trace else None
    facts = [
        f'<span class="stage {_css_class(case.outcome)}">{case.outcome.value}</span>',
        count_noun(gold.hops, "hop"),
        f"id {escaped(gold.id)}",
        *([f"label {gold.label.value}"] if gold.label else []),
        *([f"the proof's verdict {verdict.value}"] if verdict else []),
    ]
    yield (
        f'<details data-stage="{case.outcome.name}" data-hops="{gold.hops}">\n<summary>'
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
        stopped = STOPPED.get(trace.stopped, trace.stopped)
        yield f"<p>Stopped because {escaped(stopped)}.</p>\n"
    yield "</div>\n<div>\n"
    yield from _gold(gold, trace, look_up)
    yield "</div>\n</div>\n</details>\n"


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
    yield f"<p>Judged {'' if hop.sufficient else 'not '}sufficient.</p>\n"


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
    if ranking:
        titles = {title for names in gold.title_sets for title in names}
        items = "".join(f"<li>{_title(title, titles)}</li>\n" for title in ranking[:_MAX_DOCUMENTS])
        yield f"<h3>First documents of the ranking</h3>\n<ol>\n{items}</ol>\n"


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


def _title(title: str, gold_titles: set[str]) -> str:
    if title in gold_titles:
        return f'<span class="gold">{escaped(title)}</span>'
    return escaped(title)


def _css_class(outcome: Outcome) -> str:
    if outcome is Outcome.FOUND:
        return "found"
    return "neutral" if outcome in (Outcome.LATE, Outcome.NO_GOLD) else "failed"


_STYLE = """
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
ul, ol { padding-left: 1.4em; margin: 0.3em 0; }
.gold { background: var(--gold); }
cite, .dim { color: var(--dim); }
.proof { font-size: 0.9em; } .proof cite { color: var(--dim); }
.proof tr { border-bottom-color: var(--line); }
.proof tr:first-child { border-left-color: var(--line); }
.proof td { overflow-wrap: normal; }
"""

_SCRIPT = """
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
