"""The references of a page of MediaWiki in HTML: the notes that its marks lead to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qs, unquote

from lxml import etree, html

from admiral.citations.citation_records import Citation
from admiral.citations.extract.marked_blocks import Reference
from admiral.citations.extract.names import is_note_group, tag_of
from admiral.citations.extract.source_links import (
    ISBN,
    LONGEST_TITLE,
    add_citation,
    archived_page,
    title_of,
    unwrapped,
    web_url,
)

_NOTE = "cite_note"
_NUMBER = re.compile(r"(?:(.*\S)\s+)?(\S+)")
_ROMAN = re.compile(r"[ivxlc]+", re.IGNORECASE)
_BACKLINKS = frozenset({"mw-cite-backlink", "renvois_vers_le_texte"})
_SIGNS = frozenset({"Inline-Template", "noprint"})  # classes of maintenance tags
_NAME = ("rft.aulast", "rft.aufirst")
# What COinS call the parts of a description; the first that is there counts.
_COINS = {
    "title": ("rft.atitle", "rft.btitle", "rft.title"),
    "date": ("rft.date",),
    "work": ("rft.jtitle",),
    "publisher": ("rft.pub",),
    "isbn": ("rft.isbn",),
}


def classes_of(element: html.HtmlElement) -> frozenset[str]:
    """Return the classes of an element."""
    return frozenset((element.get("class") or "").split())


def text_of(element: html.HtmlElement, without: Collection[html.HtmlElement] = ()) -> str:
    """Return the text of an element on one line, without style sheets and given elements."""
    pieces: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end", "comment"))
    for event, each in walk:
        if event != "start":
            pieces.append(each.tail or "" if each is not element else "")
        elif each.tag in ("style", "script") or each in without:
            walk.skip_subtree()
        else:
            pieces.append(each.text or "")
    return " ".join("".join(pieces).split())


def note_id(link: html.HtmlElement) -> str:
    """Return the id of the note that a link leads to; empty for other links."""
    target = _target(link)
    return target if target.startswith(_NOTE) else ""


def _target(link: html.HtmlElement) -> str:
    return unquote((link.get("href") or "").partition("#")[2])


class HtmlReferences:
    """The notes of a page by their ids."""

    def __init__(self, root: html.HtmlElement) -> None:
        self._notes: dict[str, html.HtmlElement] = {}
        self._sources: dict[str, html.HtmlElement] = {}
        for element in root.iter("li", "cite", "span"):
            name = element.get("id") or ""
            if name.startswith(_NOTE) and element.tag == "li":
                self._notes.setdefault(name, element)
            elif name.startswith("CITEREF"):
                self._sources.setdefault(name, element)

    def resolved(self, numbers: Mapping[str, str]) -> dict[str, Reference]:
        """Return the references that marks use.

        `numbers`: what the marks of each note show, such as ``3`` or ``note 1``.
        """
        return {note: self._reference(note, shown) for note, shown in numbers.items()}

    def explanatory(self, numbers: dict[str, str]) -> Iterator[html.HtmlElement]:
        """Yield the explanatory notes among those that marks use, which may be added meanwhile."""
        done: set[str] = set()
        while new := [note for note in numbers if note not in done]:
            done.update(new)
            for note in new:
                if _is_note(numbers[note]) and (element := self._notes.get(note)) is not None:
                    yield element

    def _reference(self, note: str, shown: str) -> Reference:
        if _is_note(shown):
            return Reference(is_note=True)
        element = self._notes.get(note)
        if element is None:
            return Reference((Citation("", shown),))
        around = text_of(element, [*filter(_is_backlink, element.iter("a", "span"))]).strip("↑^ ")
        citations = [_of_cite(cite, shown) for cite in self._cites(element)]
        for link in element.iter("a"):
            if _is_within_cite(link, element) or not (url := _external(link)):
                continue
            page, archive_url = unwrapped(url)
            if citations and citations[-1].template and not citations[-1].url:  # after its <cite>
                citations[-1] = replace(citations[-1], url=page, archive_url=archive_url)
            elif not _is_host(link, url, citations):
                title = title_of(text_of(link), around)
                add_citation(citations, Citation(page, shown, title, archive_url))
        if not citations:
            data = _coins(element)
            isbn = data.pop("isbn", "") or next(iter(ISBN.findall(around)), "")
            title, author = (data.get("title") or around)[:LONGEST_TITLE], data.get("author", "")
            citations.append(Citation("", shown, title, author=author, isbn=isbn))
        signs = (e for e in element.iter("sup", "span") if classes_of(e) & _SIGNS)
        tags = dict.fromkeys(tag_of(text_of(each).strip("[] ")) for each in signs)
        return Reference(tuple(citations), tuple(filter(None, tags)))

    def _cites(self, element: html.HtmlElement) -> Iterator[html.HtmlElement]:
        """Yield the descriptions of sources in a note, and those that its links lead to."""
        for each in element.iter("cite", "a"):
            if each.tag == "a":
                target = _target(each)
                if target.startswith("CITEREF") and target in self._sources:
                    yield self._sources[target]
            elif not _is_within_cite(each, element):
                yield each


def _of_cite(cite: html.HtmlElement, name: str) -> Citation:
    """Return the source that ``<cite>`` describes; its COinS data say more than its text."""
    data = _coins(cite)
    links = [(url, text_of(link)) for link in cite.iter("a") if (url := _external(link))]
    pages = [link for link in links if not archived_page(link[0])]
    archives = [url for url, _ in links if archived_page(url)]
    text = text_of(cite)
    titles = (title_of(shown) for _, shown in [*pages, *links])
    title = data.pop("title", "") or next(filter(None, titles), "") or title_of("", text) or text
    url, archive_url = unwrapped(pages[0][0] if pages else "", archives[0] if archives else "")
    kinds = classes_of(cite) - {"citation", "cs1", "cs2", "Z3988"}
    template = f"cite {min(kinds)}" if kinds else "citation"
    return Citation(url, name, title[:LONGEST_TITLE], archive_url, template=template, **data)


def _coins(cite: html.HtmlElement) -> dict[str, str]:
    following = cite.getnext()
    spans = [] if following is None or following.tag != "span" else [following]
    span = next((e for e in [*spans, *cite.iter("span")] if "Z3988" in classes_of(e)), None)
    if span is None:
        return {}
    try:
        given = parse_qs(span.get("title") or "")
    except ValueError:
        return {}
    found = {
        name: next((given[key][0] for key in keys if key in given), "")
        for name, keys in _COINS.items()
    }
    names = [", ".join(given[key][0] for key in _NAME if key in given)]
    authors = filter(None, given.get("rft.au", names))
    return {**found, "author": "; ".join(dict.fromkeys(authors))[:LONGEST_TITLE]}


def _is_host(link: html.HtmlElement, url: str, citations: Sequence[Citation]) -> bool:
    """Return whether a link leads to the site of a source before it, whose name it shows."""
    site = re.sub(r"^https?://", "", url).rstrip("/")
    return site == text_of(link).rstrip("/") and any(site in each.url for each in citations)


def _external(link: html.HtmlElement) -> str:
    """Return the URL of a link out of the wiki; empty for others."""
    if classes_of(link) & {"external", "extiw"} or "mw:ExtLink" in (link.get("rel") or ""):
        return web_url(link.get("href") or "")
    return ""


def _is_note(shown: str) -> bool:
    """Return whether a mark is that of an explanatory note, by what it shows."""
    match = _NUMBER.fullmatch(shown)
    if match is None:
        return False
    group, number = match[1] or "", match[2]
    if group:
        return is_note_group(group)
    return number.isalpha() and (len(number) <= 2 or bool(_ROMAN.fullmatch(number)))


def _is_backlink(element: html.HtmlElement) -> bool:
    is_reference = element.get("rel") == "mw:referencedBy"
    to_mark = (element.get("href") or "").startswith("#cite_ref")
    return is_reference or to_mark or bool(classes_of(element) & _BACKLINKS)


def _is_within_cite(element: html.HtmlElement, note: html.HtmlElement) -> bool:
    cite = next(element.iterancestors("cite"), None)
    return cite is not None and note in cite.iterancestors()
