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

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.covered_claims import covered_claim
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
    "scored": "Read",
    "not_in_library": "Not in the library, so it was not checked",
    "no_text": "No text could be read, so it was not checked",
    "too_short": "Too short to be checked",
    "not_english": "Not in English, so it was not checked",
    "not_web": "Not on the web, so it was not checked",
    "blocked": "Of a blocked site, so it was not checked",
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
    is_html = page is not None and page.is_html
    names = {anchor(each.claim.id): each for each in verdicts}
    statements = {
        name: {"id": each.claim.id, "claim": each.claim.claim, "decision": each.decision}
        for name, each in names.items()
    }
    patch = None if page is None else asdict(page_patch(page, names))
    data = json.dumps({"page": title, "statements": statements, "patch": patch})

    def surroundings(passage: Passage) -> tuple[str, str]:
        return _surroundings(passage, find_source(passage.url))

    def references(verdict: CitationVerdict) -> list[tuple[ScoredSource, str]]:
        shown = verdict.suggestions[:_MAX_SUGGESTIONS]
        rows = ((one, reference_to(one, is_html=is_html)) for one in shown)
        return [(one, reference) for one, reference in rows if reference]

    yield page_head("Audit of citations", STYLE, script_policy(SCRIPT))
    yield from _TEMPLATE.generate(
        title=title,
        verdicts=verdicts,
        notes=notes,
        counts=Counter(verdict.decision for verdict in verdicts),
        n_sources=sum(len(verdict.existing) for verdict in verdicts),
        is_editable=page is not None,
        surroundings=surroundings,
        references=references,
        key=hashlib.sha256(data.encode()).hexdigest()[:16],
        data=data.replace("<", "\\u003c"),
    )


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


def _label(claim: CitedClaim, source: ScoredSource) -> str:
    names = {each.url: each.name for each in claim.citations}
    return f"[{names[source.url]}] " if names.get(source.url) else ""


def _surroundings(passage: Passage, source: Source | None) -> tuple[str, str]:
    """Return what is before and after a passage, at its offsets in the text of the source."""
    text = "" if source is None else source.text
    if text[passage.start : passage.end] != passage.text:
        return "", ""
    before = text[max(0, passage.start - _CONTEXT) : passage.start]
    after = text[passage.end : passage.end + _CONTEXT]
    more = "…" if len(text) > passage.end + _CONTEXT else ""
    return ("…" if passage.start > _CONTEXT else "") + before, after + more


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


_TEMPLATE = Environment(autoescape=True, undefined=StrictUndefined).from_string(
    page_file("audit.html").lstrip(),
    globals={
        **{"decisions": _DECISIONS, "findings": _FINDINGS, "statuses": _STATUSES},
        **{"script": SCRIPT, "most_suggestions": _MAX_SUGGESTIONS, "anchor": anchor},
        **{"summary": summary, "tone": tone, "no_suggestion": no_suggestion},
        **{"covered_claim": covered_claim, "label": _label},
        "text": lambda text: Markup(escaped(text)),
        "plain": lambda text: Markup(escaped_text(text)),
        "piece": lambda text: Markup(_piece(text)),
        "linked": lambda url, text: Markup(linked(url, text)),
        "claim_html": lambda claim, missing: Markup(_claim_html(claim, missing)),
        "marked": lambda *given: Markup(_with_marked(*given)),
    },
)


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
