"""The page with the sources that an editor accepts, in place of its marks.

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

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from admiral.citations.citation_records import CitationVerdict, ScoredSource
from admiral.citations.decide import FAILING_TAG
from admiral.citations.extract import ReadPage
from admiral.citations.extract.marked_blocks import UNSOURCED, Mark, Place
from admiral.sources import Source

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
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\s|{}\[\]<>\"]|[\ud800-\udfff]")
# What ends a parameter or opens markup, and how it is written inside one.
_MARKUP = {"|": "{{!}}", "{{": "{&#123;", "}}": "}&#125;", "[": "&#91;", "]": "&#93;", "<": "&lt;"}
_ANY_MARKUP = re.compile("|".join(map(re.escape, _MARKUP)))


def cite_web(source: Source) -> str:
    """Return a source as a ``{{cite web}}`` template; empty if it has no web address.

    The editor who reads the source adds the access date.
    """
    if not re.match(r"https?://", source.url, re.IGNORECASE):
        return ""
    language = "" if source.states_english else source.language
    parameters = {
        "url": _address(source.url),
        "title": _value(source.title) or _address(source.url),
        "website": _value(source.site),
        "date": _value(source.date),
        "language": _value(language),
        "archive-url": _address(source.archive_url),
    }
    given = "".join(f" |{name}={value}" for name, value in parameters.items() if value)
    return f"{{{{cite web{given}}}}}"


def _address(url: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))

    return _UNSAFE.sub(escaped, url)


def _value(text: str) -> str:
    printable = "".join(c for c in text if c.isprintable() or c.isspace())
    return _ANY_MARKUP.sub(lambda match: _MARKUP[match[0]], " ".join(printable.split()))


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
    marks = {one.claim.id: one.marks for one in page.claims}
    slots: dict[Place, dict[str, Any]] = {}
    for name, verdict in names.items():
        for place, change in _changes(page, verdict, marks.get(verdict.claim.id, ())):
            slots.setdefault(place, {"statement": name, **change})
    for each in page.named:
        fact: dict[str, Any] = {"uses": list(each.keys)}
        if each.defines:
            fact = {"defines": each.keys[0], "listed": each.listed}
        slots.setdefault(each.place, {}).update(fact)
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
    sources: dict[Place, list[str]] = {}
    tags: dict[Place, str] = {}
    for mark in marks:
        if mark.place is None:
            return
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
    findings = {place: {found.get(url) for url in urls} for place, urls in sources.items()}
    read = sorted(place for place, own in findings.items() if None not in own)
    return [p for p in read if findings[p] <= {"not_found", "contradicted"}] or read
