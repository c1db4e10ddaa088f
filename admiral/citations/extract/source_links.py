"""The addresses and titles that references give: pages, and their copies in archives."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs, unquote, urlsplit

from admiral.citations.citation_records import Citation

_WEB = re.compile(r"(?:https?|ftp):/*|//", re.IGNORECASE)
_ARCHIVED = (
    re.compile(r"https?://(?:web\.|www\.)?archive\.org/(?:web/)?[0-9*][^/]*/(.+)", re.I | re.S),
    re.compile(
        r"https?://(?:www\.)?archive\.(?:today|is|ph|li|vn|fo|md)/(?:o/\w+|\d[\d.-]*|newest|oldest)"
        r"/(.+)",
        re.I | re.S,
    ),
    re.compile(
        r"https?://webcache\.googleusercontent\.com/search\?(?:.*&)?q=cache:(?:[\w-]{12}:)?([^&]+)",
        re.I | re.S,
    ),
)
_WEBCITATION = re.compile(r"https?://(?:www\.)?webcitation\.org/", re.IGNORECASE)
_TRAILING = ".,;:!?'\"”’"


def web_url(text: str) -> str:
    """Return the URL that a text is, without outer white space; empty if it is none of the web."""
    url = text.strip()
    if not _WEB.match(url) or re.search(r"\s", url):
        return ""
    return f"https:{url}" if url.startswith("//") else url


def archived_page(url: str) -> str:
    """Return the URL of the page that an archive's URL is a copy of; empty if it is no such URL."""
    for pattern in _ARCHIVED:
        if match := pattern.match(url):
            page = match[1]
            if re.match(r"https?%3a", page, re.IGNORECASE) or pattern is _ARCHIVED[-1]:
                page = unquote(page)
            page = re.sub(r"^(https?):/*", r"\1://", page, flags=re.IGNORECASE)
            return page if _WEB.match(page) else f"http://{page}"
    if _WEBCITATION.match(url):
        try:
            given = parse_qs(urlsplit(url).query).get("url", [""])[0]
        except ValueError:
            return ""
        return web_url(given)
    return ""


def unwrapped(url: str, archive_url: str = "") -> tuple[str, str]:
    """Return the URL of a page and that of its archived copy, of which either may be empty.

    Archives of archives are unwrapped to the page itself.
    """
    if page := archived_page(url):
        archive_url = archive_url or url
        url = page
    elif not url and archive_url:
        url = archived_page(archive_url) or archive_url
    while page := archived_page(url):
        url = page
    return url, archive_url


def bare_url(url: str) -> str:
    """Return a bare URL without the punctuation of the sentence that it stands in."""
    url = url.partition("|")[0]  # of a template that is not closed
    while url and (url[-1] in _TRAILING or (url[-1] == ")" and url.count("(") < url.count(")"))):
        url = url[:-1]
    return url


LONGEST_TITLE = 300
# What links to an archived copy, or to a part of it, show.
_NO_TITLE = re.compile(
    r"(the )?original(s|en|e)?|(an )?archived?( copy| version| link| page| url)?( here)?"
    r"|archiv(é|iert|ado|iato|erad|ert|kopie|version)?|copie archivée"
    r"|(from |at )*(the )?(wayback machine|internet archive|archive\.(today|is|org)|webcite)"
    r"|from the original|link|online|here|pdf|html|full text|doi|download|website"
    r"|lire en ligne|en ligne|online lesen|eingeschränkte vorschau.*|10\.\d{4,9}/\S+|\W*\d*\W*",
    re.IGNORECASE,
)
#: An ISBN within a text.
ISBN = re.compile(r"ISBN[\s:]*((?:97[89][- ]?)?\d[\d -]{7,14}[\dXx])")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{3,300})[\"”“»]")


def title_of(shown: str, around: str = "") -> str:
    """Return the title of a source: what its link shows, unless that is no title.

    `around`: the text of the reference, of which the first words in quotation marks then count.
    """
    title = " ".join(shown.split()).strip('"“”„‘’«» ').rstrip(",")
    if not _NO_TITLE.fullmatch(title) and not web_url(title):
        return title[:LONGEST_TITLE]
    match = _QUOTED.search(around)
    return match[1].strip(" ,.") if match else ""


def _comparable(url: str) -> str:
    """Return a URL without scheme, ``www.`` and final slashes."""
    return re.sub(r"^https?://(www\.)?", "", url, flags=re.IGNORECASE).rstrip("/")


def add_citation(citations: list[Citation], citation: Citation) -> None:
    """Append a citation, or add it to an earlier one that it is an archived copy of."""
    if not citation.url and not citation.template:
        return
    for at, earlier in enumerate(citations):
        if earlier.url and _comparable(earlier.url) == _comparable(citation.url):
            archive_url = earlier.archive_url or citation.archive_url
            title = earlier.title or citation.title
            citations[at] = replace(earlier, archive_url=archive_url, title=title)
            return
    if citation.archive_url and not archived_page(citation.archive_url) and citations:
        # An archive whose URL does not say what it is a copy of: of the link before it.
        citations[-1] = replace(citations[-1], archive_url=citation.archive_url)
    else:
        citations.append(citation)
