"""Canonical URLs: two URLs that lead to the same page should have the same one.

A canonical URL is that of `w3lib` without scheme, user, ``www.``, default port, tracking parameters
and trailing slash. URLs of web archives and of Google's cache are replaced by that of the archived
page. The function is idempotent.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from w3lib.url import canonicalize_url

# Parameters that say where a reader came from, not what is read.
_TRACKING = re.compile(
    r"(?:utm_\w*|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|mc_[ce]id|_ga|_gl"
    r"|ref_src|cmpid|ocid)=.*",
    re.IGNORECASE,
)
# Names of sources that have no URL. `wice` are those of the data set WiCE.
_IDENTIFIER = re.compile(r"(?:urn|doi|wice):[\w.:/()-]+")
_OUTER = "".join(map(chr, range(33))) + "\x7f\xa0"  # which browsers ignore around a URL
_SCHEME = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)*)\.*(?::(\d*))?", re.ASCII)
_ARCHIVES = (
    # web.archive.org/web/20190801000000id_/http://example.org/
    re.compile(r"(?:web\.)?archive\.org/web/[^/]+/(.+)"),
    re.compile(r"archive\.(?:today|is|ph|li|vn|fo|md)/(?:o/\w+|\d[\d.-]*|newest|oldest)/(.+)"),
    re.compile(
        r"webcache\.googleusercontent\.com/search\?(?:.*&)?q=(cache(?::|%3A)[^&]+).*", re.IGNORECASE
    ),
)
_CACHED = re.compile(r"cache:(?:[\w-]{12}:)?")
_MANGLED_SCHEME = re.compile(r"(https?):/*", re.IGNORECASE)


class _Parts(NamedTuple):
    host: str  # with a port, if it is not the default one
    path: str
    query: str

    def joined(self) -> str:
        # Without the slashes, a name of a local network would not be taken for a host again.
        slashes = "" if "." in self.host or self.host[0] == "[" else "//"
        return f"{slashes}{self.host}{self.path}{self.query and '?'}{self.query}"


def canonical(url: str) -> str:
    """Return the canonical form of a URL, or the URL without outer white space if not of the web.

    Any string is allowed; a URL may have no scheme.
    """
    parts = _page(url)
    return parts.joined() if parts else url.strip()


def depth(url: str) -> int:
    """Return the number of non-empty path elements of a URL; that of the page if it is archived.

    Generic addresses, such as that of a home page, are a sign of a bad reference (Petroni et al.).
    """
    parts = _page(url)
    return len(list(filter(None, parts.path.split("/")))) if parts else 0


def host(url: str) -> str:
    """Return the host of a URL without ``www.``; of an archived page, that of the page."""
    parts = _page(url)
    return re.sub(r":\d+$", "", parts.host) if parts else ""


def is_web(url: str) -> bool:
    """Return whether a URL leads to a page of the web: not ``javascript:``, ``mailto:``..."""
    return _split(url) is not None


def names_source(url: str) -> bool:
    """Return whether a string names a source: a URL of the web, or an identifier as ``doi:...``."""
    return is_web(url) or _IDENTIFIER.fullmatch(url.strip()) is not None


def _page(url: str) -> _Parts | None:
    """Return the parts of a URL, or of the page that an archive holds."""
    parts = _split(url)
    while parts is not None and (page := _archived(parts)):  # each is shorter, so this ends
        parts = page
    return parts


def _archived(parts: _Parts) -> _Parts | None:
    for pattern in _ARCHIVES:
        if copy := pattern.fullmatch(parts.joined()):
            page = copy[1]
            if re.match("https?%3a|cache", page, re.IGNORECASE):
                page = _CACHED.sub("", unquote(page), count=1)
            return _split(_MANGLED_SCHEME.sub(r"\1://", page, count=1))
    return None


def _split(url: str) -> _Parts | None:
    url = re.sub("[\t\n\r]", "", url).strip(_OUTER).encode("utf-8", "replace").decode()
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url
    authority = re.split(r"[/\\?#]", rest, maxsplit=1)[0]
    if not scheme and not re.fullmatch(r"(\[.*\]|[^:@]*\.[^:@]*)(:\d*)?", authority):
        return None  # of another scheme, or no URL
    rest = rest.replace(";", "%3B")  # which else begins parameters, with rules of their own
    try:
        parts = urlsplit(canonicalize_url(f"http://{rest}"))
    except ValueError:
        return None
    found = _AUTHORITY.fullmatch(parts.netloc.rpartition("@")[2])
    if found is None:
        return None
    name, port = found.groups()
    while name.startswith("www.") and "." in name[4:]:
        name = name[4:]
    name = name if port in (None, "", "80", "443") else f"{name}:{port}"
    pairs = (pair for pair in parts.query.split("&") if not _TRACKING.fullmatch(pair))
    return _Parts(name, parts.path.rstrip("/"), "&".join(pairs))
