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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from markupsafe import Markup

from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.claim_texts import covered_claim
from admiral.citations.decide import UNREAD, no_suggestion, summary, tone
from admiral.citations.extract import ReadPage
from admiral.citations.page_patch import page_patch, reference_to
from admiral.io.rendering import page_file, page_head, page_template, script_policy
from admiral.sources import Passage, Source
from admiral.storage.atomic_files import write_atomically
from proofs.logic.wording import escaped, escaped_text

STYLE, SCRIPT = page_file("audit.css"), page_file("audit.js")
_DECISIONS = {
    "replace": ("bad", "to replace"),
    "flag": ("bad", "to check"),
    "add": ("mid", "to add a source to"),
    "keep": ("good", "to keep"),
    "not_checked": ("mid", "not checked"),
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


def write_page(path: Path, parts: Iterable[str]) -> None:
    """Write a page of HTML, atomically."""
    write_atomically(path, (part.encode("utf-8", "replace") for part in parts))


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


_TEMPLATE = page_template(
    "audit.html",
    {
        **{"decisions": _DECISIONS, "unread": UNREAD},
        **{"script": SCRIPT, "most_suggestions": _MAX_SUGGESTIONS, "anchor": anchor},
        **{"summary": summary, "tone": tone, "no_suggestion": no_suggestion},
        **{"covered_claim": covered_claim, "label": _label},
        "plain": lambda text: Markup(escaped_text(text)),
        "piece": lambda text: Markup(_piece(text)),
        "linked": lambda url, text: Markup(linked(url, text)),
        "claim_html": lambda claim, missing: Markup(_claim_html(claim, missing)),
        "marked": lambda *given: Markup(_with_marked(*given)),
    },
)
