"""Claims in context from texts and files of pages: wikitext, HTML, or dumps of MediaWiki."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from lxml import etree
from pydantic import TypeAdapter

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.citations.extract.marked_blocks import (
    MarkedClaim,
    NamedReference,
    Reference,
    marked_claims,
)
from admiral.errors import AdmiralError
from admiral.io.limited_reading import (
    FileLimits,
    OverTimeError,
    ReaderEndedError,
    read_limited,
)
from admiral.io.streams import Place, open_binary
from admiral.sources.canonical_urls import canonical, is_web

_logger = logging.getLogger(__name__)
_ARTICLES = "0"  # the namespace of articles
_DUMP = re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki\b", re.DOTALL)


def read_dump(path: Place) -> Iterator[tuple[str, str]]:
    """Yield title and latest wikitext of the articles of an XML dump, compressed or not.

    Redirects and other namespaces are left out.
    """
    count = 0
    with open_binary(path) as stream:
        events = etree.iterparse(
            stream, tag="{*}page", huge_tree=True, resolve_entities=False, no_network=True
        )
        try:
            for _, element in events:
                count += 1
                namespace = element.findtext("{*}ns", _ARTICLES).strip()
                if namespace == _ARTICLES and element.find("{*}redirect") is None:
                    *_, text = ["", *(e.text or "" for e in element.findall("{*}revision/{*}text"))]
                    yield element.findtext("{*}title", ""), text
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise AdmiralError(
                f"{path}: is not a whole XML dump of MediaWiki: after {count} pages: "
                f"{error.msg}. Fetch it again, or name another --format"
            ) from error
    if not count:
        raise AdmiralError(f"{path}: holds no <page>. Give an XML dump of MediaWiki")


PageFormat = Literal["auto", "wikitext", "html", "dump"]
#: A longer page is an error: the longest of Wikipedia have 2.5 MB.
LONGEST_PAGE = 32 * 2**20  # bytes
#: Processor time that a page may take. Pages of Wikipedia take less than 3 seconds.
MOST_SECONDS = 10.0
_HTML = re.compile(
    r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body|section|div|p)\b",
    re.IGNORECASE | re.DOTALL,
)
_SUFFIXES = re.compile(r"(\.(wiki|wikitext|mediawiki|txt|html?|gz|bz2|xz|zst))+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its claims and the places of their marks in its text.

    Lines of `text` end with a line feed.
    """

    title: str
    text: str
    is_html: bool
    claims: tuple[MarkedClaim, ...]
    references: Mapping[str, Reference]
    unknown: Mapping[str, int]  # the templates of wikitext that are not known, by name
    named: tuple[NamedReference, ...]  # the references of wikitext that have names


_READ_PAGE = TypeAdapter(ReadPage)


def read_page(
    text: str, title: str = "", *, format: PageFormat = "auto", lists: bool = True
) -> ReadPage:
    """Return a page with its claims in the order of reading.

    - `title`: title of the page; by default that which HTML states.
    - `format`: ``wikitext``, ``html``, or ``auto`` to tell them by their beginning.
    - `lists`: also return items of lists that are no sentences, of the kind ``list``.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_html = format == "html" or (format == "auto" and bool(_HTML.match(text)))
    try:
        page = read_limited(
            f"{__name__}:{read_marked.__name__}",
            text.encode("utf-8", "replace"),
            FileLimits(seconds=MOST_SECONDS),
            title=title,
            format="html" if is_html else "wikitext",
            lists="with" if lists else "without",
        )
    except OverTimeError:
        raise AdmiralError(
            f"page {title!r}: takes longer than {MOST_SECONDS:g} seconds to read. Close its "
            "references, templates and links, or give its sections one by one"
        ) from None
    except ReaderEndedError as error:
        raise AdmiralError(f"page {title!r}: cannot be read: {error}") from None
    return replace(_READ_PAGE.validate_python(page), text=text)


def read_marked(data: bytes, title: str, format: str, lists: str) -> Any:
    """Return what `read_page` returns, without the text of the page, in JSON."""
    text = data.decode()
    if format == "html":
        from admiral.citations.extract.html_page import read_html

        page = read_html(text, title)
    else:
        from admiral.citations.extract.wikitext_page import read_wikitext

        page = read_wikitext(text, title)
    claims = tuple(marked_claims(page, lists=lists == "with"))
    read = ReadPage(
        page.title, "", format == "html", claims, page.references, page.unknown, page.named
    )
    return _READ_PAGE.dump_python(read, mode="json")


def extract_claims(
    text: str, title: str = "", *, format: PageFormat = "auto", lists: bool = True
) -> list[CitedClaim]:
    """Return the claims of a page that have references (see `read_page`)."""
    return [each.claim for each in read_page(text, title, format=format, lists=lists).claims]


def claims_of_file(path: Path, **options: Any) -> Iterator[CitedClaim]:
    """Yield the claims of a file that have references (see `pages_of_file`)."""
    return (each.claim for page in pages_of_file(path, **options) for each in page.claims)


def pages_of_file(
    path: Path, *, format: PageFormat = "auto", lists: bool = True
) -> Iterator[ReadPage]:
    """Yield the page of a file, or the pages of a dump.

    `path`: a page or a dump, compressed or not. The title of a page of wikitext is the name of its
    file. `format`: ``wikitext``, ``html`` or ``dump``, or ``auto`` to tell them by their beginning.
    """
    if format in ("auto", "dump"):
        with open_binary(path) as stream:
            start = stream.read(1 << 12).removeprefix(b"\xef\xbb\xbf")
        if format == "dump" or _DUMP.match(start):
            for title, text in read_dump(path):
                try:
                    yield read_page(text, title, format="wikitext", lists=lists)
                except AdmiralError as error:
                    _logger.warning("%s: left out: %s", path, error)
            return
    text = _read_text(path)
    is_html = format == "html" or (format == "auto" and _HTML.match(text))
    title = "" if is_html else " ".join(_SUFFIXES.sub("", path.name).replace("_", " ").split())
    yield read_page(text, title, format=format, lists=lists)


def page_of_file(path: Path, *, format: PageFormat = "auto", lists: bool = True) -> ReadPage:
    """Return the page of a file, which may be a dump of one page (see `pages_of_file`)."""
    first, *others = islice(pages_of_file(path, format=format, lists=lists), 2)
    if others:
        raise AdmiralError(
            f"{path}: holds several pages. Give one page; for all claims of a dump, use `admiral "
            "extract-citations` and `admiral verify-citation`"
        )
    return first


def _read_text(path: Path) -> str:
    with open_binary(path) as stream:
        data = stream.read(LONGEST_PAGE + 1)
    if len(data) > LONGEST_PAGE:
        raise AdmiralError(
            f"{path}: is longer than {LONGEST_PAGE >> 20} MiB. Give pages one by one, or a dump"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AdmiralError(
            f"{path}: is not UTF-8 (byte {error.start + 1}). Convert it, for example with iconv"
        ) from error


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source and the number of claims that cite it."""

    citation: Citation  # the first one, with the archived copy that any of them names
    claims: int

    @property
    def day(self) -> str:
        """When the source was read by the editor, as YYYYMMDD; empty if unknown."""
        match = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", self.citation.access_date)
        return "".join(match.groups()) if match else ""


def cited_sources(claims: Iterable[CitedClaim]) -> tuple[list[CitedSource], list[CitedSource]]:
    """Return the sources of claims on the web, and those that are not, in the order of the claims.

    Sources on the web are the same if their canonical URLs are; others, if title, author and ISBN
    are.
    """
    found: tuple[dict[str, CitedSource], dict[str, CitedSource]] = ({}, {})
    for citation in (each for claim in claims for each in dict.fromkeys(claim.citations)):
        url = citation.url or citation.archive_url
        if is_web(url):
            known, key = found[0], canonical(url)
            citation = replace(citation, url=url)
        else:
            known, key = found[1], "\n".join((citation.title, citation.author, citation.isbn))
        first = known.get(key, CitedSource(citation, 0))
        archive_url = first.citation.archive_url or citation.archive_url
        title = first.citation.title or citation.title
        merged = replace(first.citation, archive_url=archive_url, title=title)
        known[key] = CitedSource(merged, first.claims + 1)
    return list(found[0].values()), list(found[1].values())
