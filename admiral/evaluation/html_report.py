"""The report of a run: one page that shows every claim beside its gold, and where it was lost.

All texts come from files that may hold anything; they are escaped, and the page's policy lets no
script run but its own and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from admiral.evaluation.failures import Stage
from admiral.evaluation.pairing import counted
from admiral.evaluation.report_style import SCRIPT, STYLE
from admiral.evaluation.traces import HopTrace, Trace
from admiral.gold import EvidenceSet, GoldClaim
from admiral.io.judgement_page import head
from admiral.io.text_rendering import STOPPED
from proofs.logic import proof_html
from proofs.logic.proof_html import escaped

_SETS, _DOCUMENTS = 3, 10
Text = Callable[[str, int], str | None]


@dataclass(frozen=True, slots=True)
class Case:
    """A gold claim, what the run did for it, and what became of it."""

    gold: GoldClaim
    trace: Trace | None
    stage: Stage


def report_page(
    title: str, cases: Sequence[Case], notes: Sequence[str], text: Text
) -> Iterator[str]:
    """Yield the page in parts.

    Parameters
    ----------
    title
        What the report is about.
    cases
        All claims.
    notes
        What a reader must know.
    text
        Gives a sentence by title and number, None where it is not known.
    """
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield head("Report", proof_html.STYLE + STYLE, policy)
    yield f"<h1>Report: {escaped(title)}</h1>\n"
    yield "".join(f"<p>{escaped(note)}</p>\n" for note in notes)
    yield from _summary(cases)
    yield _filters(cases)
    for case in cases:
        yield "".join(_claim(case, text))
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _summary(cases: Sequence[Case]) -> Iterator[str]:
    counts = Counter((case.gold.hops, case.stage) for case in cases)
    hops = sorted({number for number, _ in counts})
    stages = [stage for stage in Stage if any(counts[number, stage] for number in hops)]
    yield '<h2>What became of the claims</h2>\n<div class="scroll"><table class="summary">\n'
    yield "<tr><th></th>"
    yield "".join(f"<th>{counted(number, 'hop')}</th>" for number in hops) + "<th>all</th></tr>\n"
    for stage in stages:
        row = [counts[number, stage] for number in hops]
        cells = "".join(f"<td>{count}</td>" for count in row)
        share = f"{sum(row)} ({sum(row) / len(cases):.0%})"
        yield f'<tr><th class="{_kind(stage)}">{stage.value}</th>{cells}<td>{share}</td></tr>\n'
    totals = "".join(
        f"<td>{sum(counts[number, stage] for stage in stages)}</td>" for number in hops
    )
    yield f"<tr><th>claims</th>{totals}<td>{len(cases)}</td></tr>\n</table></div>\n<ul>\n"
    yield "".join(f"<li><b>{stage.value}</b>: {stage.meaning}</li>\n" for stage in stages)
    yield "</ul>\n"


def _filters(cases: Sequence[Case]) -> str:
    present = {case.stage for case in cases}
    stages = "".join(
        f'<option value="{stage.name}">{stage.value}</option>'
        for stage in Stage
        if stage in present
    )
    hops = "".join(
        f'<option value="{number}">{counted(number, "hop")}</option>'
        for number in sorted({case.gold.hops for case in cases})
    )
    return (
        '<h2>Claims</h2>\n<form>\n<label>Stage<select name="stage"><option value="">any</option>'
        f'{stages}</select></label>\n<label>Hops<select name="hops"><option value="">any</option>'
        f'{hops}</select></label>\n<label>Words<input name="words" type="search"></label>\n'
        "<output></output>\n</form>\n"
    )


def _claim(case: Case, text: Text) -> Iterator[str]:
    gold, trace = case.gold, case.trace
    verdict = trace.answer.verdict if trace else None
    facts = [
        f'<span class="stage {_kind(case.stage)}">{case.stage.value}</span>',
        counted(gold.hops, "hop"),
        f"id {escaped(gold.id)}",
        *([f"label {gold.label.value}"] if gold.label else []),
        *([f"the proof's verdict {verdict.value}"] if verdict else []),
    ]
    yield (
        f'<details data-stage="{case.stage.name}" data-hops="{gold.hops}">\n<summary>'
        f'{escaped(gold.claim)}<span class="facts">{" · ".join(facts)}</span></summary>\n'
        '<div class="sides">\n<div>\n'
    )
    wanted = {sentence for one in gold.evidence for sentence in one}
    titles = {title for title, _ in wanted}

    def known(title: str, number: int) -> str:
        return (trace.texts.get((title, number)) if trace else None) or text(title, number) or ""

    if trace is None:
        yield "<p>The run has no answer.</p>\n"
    else:
        for hop in trace.hops:
            yield from _hop(hop, wanted, titles, known)
        stopped = STOPPED.get(trace.stopped, trace.stopped)
        yield f"<p>Stopped because {escaped(stopped)}.</p>\n"
    yield "</div>\n<div>\n"
    yield from _gold(gold, trace, known)
    yield "</div>\n</div>\n</details>\n"


def _hop(
    hop: HopTrace,
    wanted: set[tuple[str, int | None]],
    titles: set[str],
    known: Callable[[str, int], str],
) -> Iterator[str]:
    yield f"<h3>Hop {hop.number}</h3>\n<ul>\n"
    for title, number in hop.evidence:
        kind = "gold" if (title, number) in wanted or (title, None) in wanted else ""
        yield f"<li>{_sentence(title, number, known(title, number), kind)}</li>\n"
    yield "</ul>\n"
    if hop.number > 1 and hop.sets:
        shown = "; ".join(
            " + ".join(_title(title, titles) for title in one) for one in hop.sets[:_SETS]
        )
        yield f'<p class="dim">Best document sets: {shown}</p>\n'
    if hop.proof is not None:
        pairs = [(title, known(title, number)) for title, number in hop.evidence]
        yield f'<div class="scroll">{hop.proof.to_html(pairs, styled=False)}</div>\n'
    yield f"<p>Judged {'' if hop.sufficient else 'not '}sufficient.</p>\n"


def _gold(gold: GoldClaim, trace: Trace | None, known: Callable[[str, int], str]) -> Iterator[str]:
    ranking = trace.answer.documents if trace else ()
    yield "<h3>Gold</h3>\n"
    for place, one in enumerate(gold.evidence):
        yield "<p>or</p>\n<ul>\n" if place else "<ul>\n"
        yield from _gold_set(one, ranking, known)
        yield "</ul>\n"
    if not gold.evidence:
        yield "<p>No evidence.</p>\n"
    if ranking:
        titles = {title for names in gold.title_sets for title in names}
        listed = "".join(f"<li>{_title(title, titles)}</li>\n" for title in ranking[:_DOCUMENTS])
        yield f"<h3>First documents of the ranking</h3>\n<ol>\n{listed}</ol>\n"


def _gold_set(
    one: EvidenceSet, ranking: Sequence[str], known: Callable[[str, int], str]
) -> Iterator[str]:
    for title, number in one:
        said = known(title, number) if number is not None else ""
        rank = f"rank {ranking.index(title) + 1}" if title in ranking else "not in the ranking"
        yield f'<li>{_sentence(title, number, said)} <span class="dim">({rank})</span></li>\n'


def _sentence(title: str, number: int | None, text: str, kind: str = "") -> str:
    place = "" if number is None else f", {number}"
    marked = f'<span class="{kind}">' if kind else "<span>"
    said = f" {escaped(text)}" if text else ""
    return f"{marked}<cite>[{escaped(title)}{place}]</cite>{said}</span>"


def _title(title: str, titles: set[str]) -> str:
    return f'<span class="gold">{escaped(title)}</span>' if title in titles else escaped(title)


def _kind(stage: Stage) -> str:
    if stage is Stage.FOUND:
        return "found"
    return "neutral" if stage in (Stage.LATE, Stage.NO_GOLD) else "failed"
