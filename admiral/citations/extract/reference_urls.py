"""URLs of references: which are of the web, and which are archived copies of others."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

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


def without_trailing_punctuation(url: str) -> str:
    """Return a bare URL without the punctuation of the sentence that it stands in."""
    url = url.partition("|")[0]  # of a template that is not closed
    while url and (url[-1] in _TRAILING or (url[-1] == ")" and url.count("(") < url.count(")"))):
        url = url[:-1]
    return url
