"""The audit of a page: one HTML page with its statements, their sources and better ones.

Texts and URLs are untrusted: all text is escaped, only ``http`` and ``https`` URLs become links,
and the page's Content-Security-Policy allows only its own script and no external resources.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from admiral.citations.citation_records import (
    CitationVerdict,
    CitedClaim,
    JointScore,
    ScoredSource,
    missing_everywhere,
)
from admiral.io.judgement_page import page_head
from admiral.library.source_records import Passage
from proofs.logic.wording import escaped

STYLE = """
:root { color-scheme: light dark; --line: #c9c9c9; --dim: #595959; --soft: #f4f4f4;
  --bad: #a13d00; --bad-soft: #fbe6d6; --good: #00558c; --good-soft: #dcebf7; --mid: #6b5a00;
  --mark: #fff0a8; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --line: #4a4a4a; --dim: #b0b0b0; --soft: #232323; --bad: #ff9d5c; --bad-soft: #43230c;
    --good: #7cc0f5; --good-soft: #10304a; --mid: #e0c766; --mark: #5a4b00; --link: #8ab4f8; } }
body { font-family: sans-serif; line-height: 1.45; max-width: 78em; margin: auto; padding: 1em;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5em; margin: 0.3em 0; } h2 { font-size: 1.2em; margin: 1.6em 0 0.4em; }
h3 { font-size: 0.95em; margin: 0.8em 0 0.3em; }
a { color: var(--link); } a:focus-visible, summary:focus-visible, input:focus-visible,
select:focus-visible, article:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.dim { color: var(--dim); } .small { font-size: 0.85em; }
.counts { display: flex; flex-wrap: wrap; gap: 0.5em; list-style: none; padding: 0; }
.counts li { border: 1px solid var(--line); border-radius: 0.4em; padding: 0.3em 0.7em; }
form { display: flex; flex-wrap: wrap; gap: 0.8em; align-items: end; padding: 0.6em 0;
  position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--line); z-index: 1; }
label { display: grid; font-size: 0.85em; color: var(--dim); }
input, select { font: inherit; padding: 0.3em; max-width: 100%; }
article { border: 1px solid var(--line); border-left: 0.5em solid var(--line);
  border-radius: 0.4em; margin: 0.8em 0; padding: 0.6em 0.9em; scroll-margin-top: 6em; }
article.bad { border-left-color: var(--bad); } article.good { border-left-color: var(--good); }
article.mid { border-left-color: var(--mid); border-left-style: double; }
.decision { font-weight: bold; } .bad > .decision { color: var(--bad); }
.good > .decision { color: var(--good); } .mid > .decision { color: var(--mid); }
.claim { font-size: 1.08em; margin: 0.4em 0; } .claim .rest { color: var(--dim); }
.lacks { text-decoration: underline wavy var(--bad); text-underline-offset: 0.2em;
  background: var(--bad-soft); }
.sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.2em; }
@media (max-width: 48em) { .sides { grid-template-columns: minmax(0, 1fr); gap: 0; }
  form { position: static; } }
.source { background: var(--soft); border-radius: 0.4em; padding: 0.5em 0.8em; margin: 0.4em 0; }
.source p { margin: 0.3em 0; } mark { background: var(--mark); color: inherit; }
.best { font-weight: bold; }
.gauge { display: inline-block; width: 6em; height: 0.6em; border: 1px solid var(--line);
  border-radius: 0.3em; vertical-align: middle; overflow: hidden; background: Canvas; }
.gauge span { display: block; height: 100%; background: var(--good); }
.gauge .low { background: var(--bad); }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
th, td { text-align: left; vertical-align: top; padding: 0.2em 0.6em 0.2em 0;
  border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
summary { cursor: pointer; color: var(--dim); } [hidden] { display: none; }
kbd { border: 1px solid var(--line); border-radius: 0.2em; padding: 0 0.3em; }
@media print { form { display: none; } article { break-inside: avoid; } }
"""

SCRIPT = """
const form = document.querySelector("form");
const claims = [...document.querySelectorAll("article")];
const texts = claims.map((claim) => claim.textContent.toLowerCase());
function filter() {
  const words = form.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  claims.forEach((claim, at) => {
    const fits = (!form.decision.value || claim.dataset.decision === form.decision.value)
      && words.every((word) => texts[at].includes(word));
    claim.hidden = !fits;
    shown += fits;
  });
  document.querySelector("output").value = shown + " of " + claims.length + " statements";
}
function move(step) {
  const shown = claims.filter((claim) => !claim.hidden);
  const at = shown.indexOf(document.activeElement.closest("article"));
  const next = shown[at < 0 && step < 0 ? shown.length - 1 : at + step];
  if (next) { next.focus(); next.scrollIntoView({block: "nearest"}); }
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select")) return;
  if (event.key === "j" || event.key === "k") { move(event.key === "j" ? 1 : -1); }
});
filter();
"""


#: Returns the text of a source by its URL, or None if it is not known.
SourceText = Callable[[str], str | None]

_DECISIONS = {
    "replace": ("bad", "Replace: another source supports it better"),
    "flag": ("bad", "Check: the source does not seem to support it"),
    "add": ("mid", "Add: a source was found for a statement without one"),
    "keep": ("good", "Keep: nothing was found against it"),
    "not_checked": ("mid", "Not checked: the source could not be read"),
}
_STATUSES = {
    "scored": "read",
    "not_in_library": "not in the library, so it was not checked",
    "no_text": "no text could be read, so it was not checked",
    "too_short": "too short to be checked",
    "not_english": "not in English, so it was not checked",
    "not_web": "not on the web, so it was not checked",
    "blocked": "of a blocked site, so it was not checked",
}
_LINKED = re.compile(r"https?://[^\s\"'<>\\\x00-\x20\x7f\ud800-\udfff]+", re.IGNORECASE)
_CONTEXT = 240  # characters of a claim's and of a passage's surroundings
_MAX_SUGGESTIONS = 3


def audit_page(
    title: str,
    verdicts: Sequence[CitationVerdict],
    notes: Sequence[str] = (),
    source_text: SourceText = lambda url: None,
) -> Iterator[str]:
    """Yield the HTML of an audit in parts.

    `verdicts`: the verdicts; statements are shown by the score of their best source, lowest first,
    and those whose sources were not checked apart. `source_text`: gives the texts of sources, to
    show what surrounds a passage.
    """
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield page_head("Audit of citations", STYLE, policy)
    yield f"<h1>Citations of {escaped(title)}</h1>\n"
    yield "".join(f"<p>{escaped(note)}</p>\n" for note in notes)
    yield _counts(verdicts)
    yield _filters(verdicts)
    checked = sorted(
        (each for each in verdicts if each.decision != "not_checked"), key=_sorting_key
    )
    unchecked = [each for each in verdicts if each.decision == "not_checked"]
    yield "<main>\n<h2>Statements, those with the least support first</h2>\n"
    if not checked:
        yield "<p>None.</p>\n"
    for verdict in checked:
        yield _statement(verdict, source_text)
    if unchecked:
        yield "<h2>Not checked</h2>\n<p class='dim'>These sources could not be read, which says "
        yield "nothing about whether they support the statements.</p>\n"
    for verdict in unchecked:
        yield _statement(verdict, source_text)
    yield f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def linked(url: str, text: str) -> str:
    """Return a text as a link to a URL, or without one if the URL is not of the web."""
    if _LINKED.fullmatch(url):
        address = html.escape(url)
        return f'<a href="{address}" rel="noreferrer noopener">{escaped(text)}</a>'
    return escaped(text)


def claim_html(claim: CitedClaim, missing: Sequence[str] = ()) -> str:
    """Return a claim, with the parts that no source covers marked, and its context dimmed."""
    start, end = claim.span or (0, len(claim.claim))
    before, after = claim.before[-_CONTEXT:], claim.after[:_CONTEXT]
    cut = "…" if len(claim.before) > _CONTEXT else ""
    rest = "…" if len(claim.after) > _CONTEXT else ""
    parts = [
        f'<span class="rest small">{cut}{escaped(before)} </span>' if before else "",
        f'<span class="rest">{_piece(claim.claim[:start])}</span>' if start else "",
        f"<strong>{_with_marked(claim.claim[start:end], missing, 'lacks')}</strong>",
        f'<span class="rest">{_piece(claim.claim[end:])}</span>',
        f'<span class="rest small"> {escaped(after)}{rest}</span>' if after else "",
    ]
    return "".join(parts)


def _sorting_key(verdict: CitationVerdict) -> tuple[int, float]:
    score = verdict.existing_score
    return (1, 0.0) if score is None else (0, score)


def _counts(verdicts: Sequence[CitationVerdict]) -> str:
    counts: Counter[str] = Counter(verdict.decision for verdict in verdicts)
    items = "".join(
        f'<li class="{css}"><b>{counts[decision]}</b> {words.partition(":")[0].lower()}</li>\n'
        for decision, (css, words) in _DECISIONS.items()
        if counts[decision]
    )
    citations = sum(len(verdict.existing) for verdict in verdicts)
    total = f"<li><b>{len(verdicts)}</b> statements, <b>{citations}</b> sources</li>\n"
    return f'<ul class="counts">\n{total}{items}</ul>\n'


def _filters(verdicts: Sequence[CitationVerdict]) -> str:
    present = {verdict.decision for verdict in verdicts}
    options = "".join(
        f'<option value="{decision}">{words.partition(":")[0].lower()}</option>'
        for decision, (_, words) in _DECISIONS.items()
        if decision in present
    )
    return (
        '<form>\n<label>Decision<select name="decision"><option value="">any</option>'
        f'{options}</select></label>\n<label>Words<input name="words" type="search"></label>\n'
        '<output></output> <span class="dim small"><kbd>j</kbd> next, <kbd>k</kbd> previous'
        "</span>\n</form>\n"
    )


def _statement(verdict: CitationVerdict, source_text: SourceText) -> str:
    claim = verdict.claim
    css, words = _DECISIONS[verdict.decision]
    missing = missing_everywhere(verdict.existing)
    if verdict.decision == "keep" and missing:
        css, words = "mid", "Keep, but part of it was not found in the source"
    place = " › ".join([claim.page, *claim.section])
    tags = "".join(f" · tagged {escaped(tag.replace('-', ' '))}" for tag in claim.tags)
    parts = [
        f'<article class="{css}" data-decision="{verdict.decision}" tabindex="-1">\n',
        f'<p class="decision">{words}</p>\n',
        f'<p class="claim">{claim_html(claim, missing)}</p>\n',
        f'<p class="dim small">{escaped(place)}{tags}</p>\n',
    ]
    if missing:
        quoted = ", ".join(f"“{escaped(each)}”" for each in missing)
        parts.append(f'<p>Not found in the source: <span class="missing">{quoted}</span></p>\n')
    parts += [f'<p class="dim">{escaped(warning)}</p>\n' for warning in verdict.warnings]
    parts.append('<div class="sides">\n<div>\n<h3>Cited now</h3>\n')
    names = {each.url: each for each in claim.citations}
    for source in verdict.existing:
        citation = names.get(source.url)
        label = f"[{citation.name}] " if citation and citation.name else ""
        parts.append(_source(source, source_text, label))
    if not verdict.existing:
        parts.append("<p>No source.</p>\n")
    if verdict.together is not None:
        parts.append(f"<p>All of them together:</p>\n{_score(verdict.together)}")
    parts.append("</div>\n<div>\n")
    suggestions = [_source(each, source_text) for each in verdict.suggestions[:_MAX_SUGGESTIONS]]
    if suggestions and verdict.decision in ("replace", "add"):
        parts.append(f"<h3>Suggested</h3>\n{suggestions.pop(0)}")
    else:
        parts.append("<h3>Suggested</h3>\n<p>No better source was found.</p>\n")
    if suggestions:
        parts += ["<details><summary>Other sources</summary>\n", *suggestions, "</details>\n"]
    parts.append("</div>\n</div>\n</article>\n")
    return "".join(parts)


def _source(source: ScoredSource, source_text: SourceText, label: str = "") -> str:
    title = source.title or source.url or "a source without a title"
    parts = [f'<div class="source">\n<p>{_piece(label)}{linked(source.url, title)}</p>\n']
    if source.url and source.title:
        parts.append(f'<p class="dim small">{escaped(source.url)}</p>\n')
    if source.status != "scored":
        parts.append(f"<p>{_STATUSES[source.status].capitalize()}.</p>\n")
    else:
        parts.append(_score(source))
    if source.passage is not None:
        sentences = [each.text for each in source.sentences[:1]]
        parts.append(_passage(source.passage, sentences, source_text))
    if len(source.parts) > 1:
        rows = "".join(
            f'<tr><td>{escaped(part.text)}</td><td class="number">{part.score:.2f}</td>'
            f'<td class="number">{"–" if part.passage is None else part.passage + 1}</td></tr>\n'
            for part in source.parts
        )
        parts.append(
            "<details><summary>Parts of the statement</summary>\n<table><tr><th>part</th>"
            f'<th class="number">score</th><th class="number">passage</th></tr>\n{rows}</table>\n'
            "</details>\n"
        )
    return "".join([*parts, "</div>\n"])


def _score(source: ScoredSource | JointScore) -> str:
    facts = []
    if source.probability is not None:
        low = ' class="low"' if source.probability < 0.5 else ""
        width = f"{100 * min(1.0, max(0.0, source.probability)):.0f}%"
        facts.append(
            f'<span class="gauge" aria-hidden="true"><span{low} style="width: {width}"></span>'
            f"</span> support {source.probability:.0%}"
        )
    if source.score is not None:
        facts.append(f"score {source.score:.2f}")
    if source.percentile is not None:
        facts.append(f"above {source.percentile:.0f}% of reference citations")
    return f'<p class="small">{" · ".join(facts)}</p>\n' if facts else ""


def _passage(passage: Passage, sentences: Sequence[str], source_text: SourceText) -> str:
    """Return a passage marked in its surroundings, at its offsets in the text of the source.

    The best sentences are bold.
    """
    text = source_text(passage.url)
    before = after = ""
    if text is not None and text[passage.start : passage.end] == passage.text:
        before = text[max(0, passage.start - _CONTEXT) : passage.start]
        after = text[passage.end : passage.end + _CONTEXT]
        before = ("…" if passage.start > _CONTEXT else "") + before
        after += "…" if len(text) > passage.end + _CONTEXT else ""
    marked = _with_marked(passage.text, sentences, "best")
    return (
        f'<p><span class="dim small">{_piece(before)}</span><mark>{marked}</mark>'
        f'<span class="dim small">{_piece(after)}</span></p>\n<p class="dim small">'
        f"Passage {passage.number + 1}, characters {passage.start:,} to {passage.end:,}</p>\n"
    )


def _with_marked(text: str, parts: Sequence[str], css: str) -> str:
    spans: list[tuple[int, int]] = []
    for part in sorted(filter(None, parts), key=len, reverse=True):
        at = text.find(part)
        if at >= 0 and all(at >= end or at + len(part) <= start for start, end in spans):
            spans.append((at, at + len(part)))
    pieces = []
    position = 0
    for start, end in sorted(spans):
        pieces.append(_piece(text[position:start]))
        pieces.append(f'<span class="{css}">{escaped(text[start:end])}</span>')
        position = end
    return "".join([*pieces, _piece(text[position:])])


def _piece(text: str) -> str:
    """Return a piece of a text, escaped, with a space where it begins or ends with white space."""
    if not text.strip():
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{escaped(text)}{' ' * text[-1].isspace()}"
