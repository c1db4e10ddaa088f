"""The audit of a page: one HTML page with its statements, their sources and better ones.

Texts and URLs are untrusted: all text is escaped, only ``http`` and ``https`` URLs become links,
and the page's Content-Security-Policy allows only its own script and no external resources.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.covered_part import covered_claim
from admiral.citations.extract.page_files import ReadPage
from admiral.citations.page_patch import page_patch, reference_to
from admiral.citations.source_collections import SourceText
from admiral.citations.verdict_wording import no_suggestion, summary, tone
from admiral.io.rendering import page_file, page_head, script_policy
from admiral.library.source_records import Passage
from proofs.logic.wording import escaped, escaped_text

STYLE = page_file("audit.css")

SCRIPT = page_file("audit.js")


_DECISIONS = {
    "replace": ("bad", "to replace"),
    "flag": ("bad", "to check"),
    "add": ("mid", "to add a source to"),
    "keep": ("good", "to keep"),
    "not_checked": ("mid", "not checked"),
}
_FINDINGS = {
    "supported": "supports it",
    "partly": "supports it in part, or not surely",
    "contradicted": "denies it",
    "not_found": "was not found to say it",
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
    page: ReadPage | None = None,
) -> Iterator[str]:
    """Yield the HTML of an audit in parts.

    - `verdicts`: the verdicts, in the order in which statements are shown; those whose sources were
      not checked are shown apart, at the end.
    - `source_text`: gives the texts of sources, to show what surrounds a passage.
    - `page`: the page, which is exported with the sources that an editor accepts; None if it is not
      known.
    """
    yield page_head("Audit of citations", STYLE, script_policy(SCRIPT))
    yield f"<h1>Citations of {escaped(title)}</h1>\n"
    yield "".join(f"<p>{escaped(note)}</p>\n" for note in notes)
    yield _counts(verdicts)
    yield _filters(verdicts, is_editable=page is not None)
    checked = [each for each in verdicts if each.decision != "not_checked"]
    unchecked = [each for each in verdicts if each.decision == "not_checked"]
    yield "<main>\n<h2>Statements, those with the least support first</h2>\n"
    if not checked:
        yield "<p>None.</p>\n"
    for verdict in checked:
        yield _statement(verdict, source_text, is_html=page is not None and page.is_html)
    if unchecked:
        yield "<h2>Not checked</h2>\n<p class='dim'>These sources could not be read, which says "
        yield "nothing about whether they support the statements.</p>\n"
    for verdict in unchecked:
        yield _statement(verdict, source_text, is_html=page is not None and page.is_html)
    yield f"</main>\n{_data(title, verdicts, page)}<script>{SCRIPT}</script>\n</body>\n</html>\n"


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


def anchor(claim_id: str) -> str:
    """Return the name of a statement's place on the page, for links."""
    return "s" + hashlib.sha256(claim_id.encode("utf-8", "replace")).hexdigest()[:12]


def _data(title: str, verdicts: Sequence[CitationVerdict], page: ReadPage | None) -> str:
    """Return what the script exports: the statements, and the page in pieces."""
    names = {anchor(each.claim.id): each for each in verdicts}
    patch = None if page is None else asdict(page_patch(page, names))
    statements = {
        name: {"id": each.claim.id, "claim": each.claim.claim, "decision": each.decision}
        for name, each in names.items()
    }
    data = json.dumps({"page": title, "statements": statements, "patch": patch})
    key = hashlib.sha256(data.encode()).hexdigest()[:16]
    written = data.replace("<", "\\u003c")
    return f'<script type="application/json" id="data" data-key="{key}">{written}</script>\n'


def _counts(verdicts: Sequence[CitationVerdict]) -> str:
    counts: Counter[str] = Counter(verdict.decision for verdict in verdicts)
    items = "".join(
        f'<li class="{css}"><b>{counts[decision]}</b> {words}</li>\n'
        for decision, (css, words) in _DECISIONS.items()
        if counts[decision]
    )
    citations = sum(len(verdict.existing) for verdict in verdicts)
    total = f"<li><b>{len(verdicts)}</b> statements, <b>{citations}</b> sources</li>\n"
    return f'<ul class="counts">\n{total}{items}</ul>\n'


def _filters(verdicts: Sequence[CitationVerdict], *, is_editable: bool) -> str:
    present = {verdict.decision for verdict in verdicts}
    options = "".join(
        f'<option value="{decision}">{words}</option>'
        for decision, (_, words) in _DECISIONS.items()
        if decision in present
    )
    return (
        '<form>\n<label>Decision<select name="decision"><option value="">any</option>'
        f'{options}</select></label>\n<label>Words<input name="words" type="search"></label>\n'
        '<output></output> <span class="dim small"><kbd>j</kbd> next, <kbd>k</kbd> previous, '
        "<kbd>a</kbd> accept, <kbd>r</kbd> reject</span>\n"
        '<button type="button" name="decisions">Save decisions</button>\n'
        + '<button type="button" name="patched">Save the page with accepted sources</button>\n'
        * is_editable
        + "</form>\n"
    )


def _choice(verdict: CitationVerdict, *, is_html: bool) -> str:
    """Return the inputs by which an editor decides."""
    name = anchor(verdict.claim.id)
    first = verdict.decision in ("replace", "add")
    options = [
        f'<option value="{html.escape(reference)}" data-url="{html.escape(one.url)}"'
        f"{' selected' * (first and not rank)}>{escaped_text(one.title or one.url)}</option>"
        for rank, one in enumerate(verdict.suggestions[:_MAX_SUGGESTIONS])
        if (reference := reference_to(one, is_html=is_html))
    ]
    sources = (
        '<label>Source<select name="source"><option value="">none</option>'
        f"{''.join(options)}</select></label>\n"
    )
    return (
        '<fieldset class="choice">\n<legend class="small dim">Your decision</legend>\n'
        + "".join(
            f'<label class="answer"><input type="radio" name="{name}" value="{value}"> {value}'
            "</label>\n"
            for value in ("accept", "reject")
        )
        + sources * bool(options)
        + '<label class="note">Note<input name="note"></label>\n</fieldset>\n'
    )


def _statement(verdict: CitationVerdict, source_text: SourceText, *, is_html: bool) -> str:
    claim = verdict.claim
    place = " › ".join([claim.page, *claim.section])
    tags = "".join(f" · tagged {escaped(tag.replace('-', ' '))}" for tag in claim.tags)
    parts = [
        f'<article id="{anchor(claim.id)}" class="{tone(verdict)}" '
        f'data-decision="{verdict.decision}" tabindex="-1">\n',
        f'<p class="decision">{escaped(summary(verdict))}</p>\n',
        f'<p class="claim">{claim_html(claim, verdict.missing)}</p>\n',
        f'<p class="dim small">{escaped(place)}{tags}</p>\n',
    ]
    covered = covered_claim(claim).claim
    if covered != claim.claim:
        parts.append(f'<p class="small">The references cover: {escaped(covered)}</p>\n')
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
    parts.append("<h3>Better sources</h3>\n")
    if suggestions:
        first, *others = suggestions
        parts.append(first)
        if others:
            parts += ["<details><summary>Other sources</summary>\n", *others, "</details>\n"]
    else:
        parts.append(f"<p>{no_suggestion(verdict)}</p>\n")
    parts.append(f"</div>\n</div>\n{_choice(verdict, is_html=is_html)}</article>\n")
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
    if source.denied_by:
        parts.append(f'<p>It says: <b class="denial">{escaped(source.denied_by)}</b></p>\n')
    if source.wikitext:
        parts.append(f"<p><code>{escaped(source.wikitext)}</code></p>\n")
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


def _score(source: ScoredSource) -> str:
    facts = []
    if source.finding is not None:
        facts.append(_FINDINGS[source.finding])
    if source.probability is not None:
        low = ' class="low"' if source.probability < 0.5 else ""
        width = f"{100 * min(1.0, max(0.0, source.probability)):.0f}%"
        facts.append(
            f'<span class="gauge" aria-hidden="true"><span{low} style="width: {width}"></span>'
            f"</span> support {source.probability:.0%}"
        )
    if source.score is not None:
        facts.append(f"score {source.score:.2f}")
    if source.percentile is not None and source.finding != "contradicted":
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
