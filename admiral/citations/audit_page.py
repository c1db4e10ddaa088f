"""The audit of a page: one HTML page with its statements, their sources and better ones.

Texts and URLs are untrusted: all text is escaped, only ``http`` and ``https`` URLs become links,
and the page's Content-Security-Policy allows only its own script and no external resources.

The sources that an editor accepts are put into the page, in place of its marks.

A page is cut into pieces: texts, which stay as they are, and marks, each with what becomes of it
once a statement is accepted. The script of the audit page joins them:

| `does` | with a source | without one |
|---|---|---|
| `replace` | the new reference takes the place of the mark | the mark stays |
| `drop` | the mark is removed | the mark stays |
| `after` | the new reference follows the mark | the mark stays |

A mark with `tagged` is followed by the tag for a failed verification, if a statement is accepted
without a source. Where a mark that is replaced defines a reference which others name, the first of
the others gets the definition.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from admiral.citations.citation_records import (
    CitationVerdict,
    CitedClaim,
    ScoredSource,
    covered_claim,
)
from admiral.citations.decide import FAILING_TAG, no_suggestion, summary, tone
from admiral.citations.extract import ReadPage
from admiral.citations.extract.marked_blocks import UNSOURCED, Mark
from admiral.citations.extract.wikitext_nodes import Place
from admiral.io.rendering import page_file, page_head, script_policy
from admiral.library import Passage, Source
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
#: Returns a source by its URL, or None if it is not known.
FindSource = Callable[[str], Source | None]

_CONTEXT = 240  # characters of a claim's and of a passage's surroundings
_MAX_SUGGESTIONS = 3


def audit_page(
    title: str,
    verdicts: Sequence[CitationVerdict],
    notes: Sequence[str] = (),
    find_source: FindSource = lambda url: None,
    page: ReadPage | None = None,
) -> Iterator[str]:
    """Yield the HTML of an audit in parts.

    - `verdicts`: the verdicts, in the order in which statements are shown; those whose sources were
      not checked are shown apart, at the end.
    - `find_source`: gives sources by their URLs, to show what surrounds a passage.
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
        yield _statement(verdict, find_source, is_html=page is not None and page.is_html)
    if unchecked:
        yield "<h2>Not checked</h2>\n<p class='dim'>These sources could not be read, which says "
        yield "nothing about whether they support the statements.</p>\n"
    for verdict in unchecked:
        yield _statement(verdict, find_source, is_html=page is not None and page.is_html)
    yield f"</main>\n{_data(title, verdicts, page)}<script>{SCRIPT}</script>\n</body>\n</html>\n"


def linked(url: str, text: str) -> str:
    """Return a text as a link to a URL, or without one if the URL is not of the web."""
    if _LINKED.fullmatch(url):
        address = html.escape(url)
        return f'<a href="{address}" rel="noreferrer noopener">{escaped(text)}</a>'
    return escaped(text)


def _claim_html(claim: CitedClaim, missing: Sequence[str] = ()) -> str:
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


def _statement(verdict: CitationVerdict, find_source: FindSource, *, is_html: bool) -> str:
    claim = verdict.claim
    place = " › ".join([claim.page, *claim.section])
    tags = "".join(f" · tagged {escaped(tag.replace('-', ' '))}" for tag in claim.tags)
    parts = [
        f'<article id="{anchor(claim.id)}" class="{tone(verdict)}" '
        f'data-decision="{verdict.decision}" tabindex="-1">\n',
        f'<p class="decision">{escaped(summary(verdict))}</p>\n',
        f'<p class="claim">{_claim_html(claim, verdict.missing)}</p>\n',
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
        parts.append(_source(source, find_source, label))
    if not verdict.existing:
        parts.append("<p>No source.</p>\n")
    if verdict.together is not None:
        parts.append(f"<p>All of them together:</p>\n{_score(verdict.together)}")
    parts.append("</div>\n<div>\n")
    suggestions = [_source(each, find_source) for each in verdict.suggestions[:_MAX_SUGGESTIONS]]
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


def _source(source: ScoredSource, find_source: FindSource, label: str = "") -> str:
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
        parts.append(_passage(source.passage, sentences, find_source))
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


def _passage(passage: Passage, sentences: Sequence[str], find_source: FindSource) -> str:
    """Return a passage marked in its surroundings, at its offsets in the text of the source.

    The best sentences are bold.
    """
    source = find_source(passage.url)
    text = None if source is None else source.text
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


Piece = str | dict[str, Any]
#: Tags that are about the sources of a statement, and go with them.
_OF_SOURCES = frozenset(
    (
        *(FAILING_TAG, UNSOURCED, "dead-link", "better-source-needed", "unreliable-source"),
        *("verify-source", "page-needed"),
    )
)
_FAILED = {
    False: "{{failed verification}}",
    True: '<sup class="noprint Inline-Template">[<i>failed verification</i>]</sup>',
}
# References of wikitext, and what is skipped since it only looks like one.
_REFERENCE = re.compile(
    r"<!--.*?-->|<nowiki>.*?</nowiki>"
    r"|<ref(?P<alone>\s[^<>]*?)?/>|<ref(?P<given>\s[^<>]*)?>(?P<content>.*?)</ref\s*>"
    r"|\{\{\s*(?:r|named ref|ref name)\s*\|(?P<names>[^{}]*)\}\}",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(name|group)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""", re.I)
_LIST = re.compile(
    r"<references\s*>|\{\{\s*(?:reflist|refs|reference list)\b[^{}]*\|\s*refs\s*=", re.I
)


@dataclass(frozen=True, slots=True)
class PagePatch:
    """The pieces of a page; see the module."""

    pieces: list[Piece]
    tag: str  # for a failed verification
    suffix: str  # of the name of the file


def reference_to(source: ScoredSource, *, is_html: bool) -> str:
    """Return the mark that cites a suggested source; empty if it has no web address."""
    if not source.wikitext:
        return ""
    if not is_html:
        return f"<ref>{source.wikitext}</ref>"
    title = html.escape(" ".join((source.title or source.url).split()))
    return f'<sup class="reference"><a href="{html.escape(source.url)}">[{title}]</a></sup>'


def page_patch(page: ReadPage, names: Mapping[str, CitationVerdict]) -> PagePatch:
    """Return the pieces of a page.

    `names`: the verdicts by the name that stands for each statement in the pieces. A statement with
    a mark whose place is not known has none.
    """
    marks = {each.claim.id: each.marks for each in page.claims}
    slots: dict[Place, dict[str, Any]] = {}
    for name, verdict in names.items():
        for place, change in _changes(page, verdict, marks.get(verdict.claim.id, ())):
            slots.setdefault(place, {"statement": name, **change})
    if not page.is_html:
        shown = {mark.place for each in page.claims for mark in each.marks}
        for place, fact in _named_references(page.text, shown):
            slots.setdefault(place, {}).update(fact)
    return PagePatch(
        list(_pieces(page.text, slots)), _FAILED[page.is_html], ".html" if page.is_html else ".wiki"
    )


def _pieces(text: str, slots: Mapping[Place, dict[str, Any]]) -> Iterator[Piece]:
    position = 0
    for start, end in sorted(slots):
        if start < position:  # within a mark that is a piece already
            continue
        yield text[position:start]
        yield {"text": text[start:end], **slots[start, end]}
        position = end
    yield text[position:]


def _changes(
    page: ReadPage, verdict: CitationVerdict, marks: Sequence[Mark]
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield what becomes of the marks of a statement."""
    if any(mark.place is None for mark in marks):
        return
    sources: dict[Place, list[str]] = {}
    tags: dict[Place, str] = {}
    for mark in marks:
        assert mark.place is not None  # checked above
        if mark.tag:
            tags[mark.place] = mark.tag
        else:
            cited = page.references[mark.reference].citations
            sources.setdefault(mark.place, []).extend(each.url for each in cited)
    replaced = _replaced(verdict, sources)
    if not sources:
        replaced = [place for place, tag in tags.items() if tag == UNSOURCED][:1]
    last = max(sources, default=None)
    for place in sources:
        change: dict[str, Any] = {}
        if place in replaced:
            change["does"] = "replace" if place == replaced[0] else "drop"
        elif place == last and not replaced:
            change["does"] = "after"
        if place == last and verdict.flagged and FAILING_TAG not in verdict.claim.tags:
            change["tagged"] = True
        if change:
            yield place, change
    for place, tag in tags.items():
        if place in replaced:
            yield place, {"does": "replace"}
        elif tag in _OF_SOURCES and replaced:
            yield place, {"does": "drop"}


def _replaced(verdict: CitationVerdict, sources: Mapping[Place, Sequence[str]]) -> list[Place]:
    """Return the marks that a new source replaces: those that fail, or else all that were read."""
    if verdict.decision == "not_checked":
        return []
    rows = zip(verdict.claim.citations, verdict.existing, strict=True)
    found = {citation.url: source.finding for citation, source in rows}

    def marks_of(findings: set[str | None]) -> list[Place]:
        return sorted(
            place for place, urls in sources.items() if {found.get(url) for url in urls} <= findings
        )

    failing = marks_of({"not_found", "contradicted"})
    return failing or marks_of({"not_found", "contradicted", "partly", "supported"})


def _named_references(
    text: str, shown: Collection[Place | None]
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the references of wikitext that define a name, or use one.

    `shown`: the places of marks; what defines a name elsewhere, in a list of references, is
    `listed`.
    """
    start = match.end() if (match := _LIST.search(text)) else len(text)
    for match in _REFERENCE.finditer(text):
        if match["names"]:
            parts = [" ".join(part.split()) for part in match["names"].split("|")]
            yield match.span(), {"uses": [f"\n{part}" for part in parts if "=" not in part]}
            continue
        given = match["alone"] or match["given"] or ""
        attributes = {
            each[1].lower(): each[2] or each[3] or each[4] or ""
            for each in _ATTRIBUTE.finditer(given)
        }
        if not (name := " ".join(attributes.get("name", "").split())):
            continue
        key = f"{attributes.get('group', '')}\n{name}"
        if (match["content"] or "").strip():
            listed = match.start() >= start and match.span() not in shown
            yield match.span(), {"defines": key, "listed": listed}
        else:
            yield match.span(), {"uses": [key]}
