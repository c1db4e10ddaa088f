"""Canonical URLs: two URLs that lead to the same page should have the same one.

A canonical URL has no scheme, no ``www.``, no default port, no fragment, no tracking parameters and
no trailing slash; its host is in the ASCII form of IDNA, its query is sorted. URLs of web archives
and of Google's cache are replaced by that of the archived page. The function is idempotent.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

import idna

# Parameters that say where a reader came from, not what is read.
_TRACKING = re.compile(
    r"utm_\w*|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|mc_[ce]id|_ga|_gl"
    r"|ref_src|cmpid|ocid",
    re.IGNORECASE,
)
# Names of sources that have no URL. `wice` are those of the data set WiCE.
_IDENTIFIER = re.compile(r"(?:urn|doi|wice):[\w.:/()-]+")
_IGNORED = re.compile("[\t\n\r]")  # as browsers ignore them, also within a URL
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST = re.compile(r"(?:[^@]*@)?(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::(\d*))?")
_UNRESERVED = re.compile("%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")
_PATH_SAFE, _QUERY_SAFE = "%/:@!$&'()*+,;=~-._", "%/:@!$&'()*+,;=~-._?"
_DEFAULT_PORTS = ("", "80", "443")

_ARCHIVES = (
    # web.archive.org/web/20190801000000id_/http://example.org/
    re.compile(r"(?:web\.)?archive\.org/web/[^/]+/(.+)"),
    re.compile(r"archive\.(?:today|is|ph|li|vn|fo|md)/(?:o/\w+|\d[\d.-]*|newest|oldest)/(.+)"),
    re.compile(
        r"webcache\.googleusercontent\.com/search\?(?:.*&)?q=cache:(?:[\w-]{12}:)?([^&]+).*"
    ),
)
_MANGLED_SCHEME = re.compile(r"(https?):/*", re.IGNORECASE)


class _Parts(NamedTuple):
    host: str
    path: str
    query: str


def canonical(url: str) -> str:
    """Return the canonical form of a URL, or the URL without outer white space if not of the web.

    Any string is allowed; a URL may have no scheme.
    """
    parts = _unwrapped(url)
    return _joined(parts) if parts else url.strip()


def depth(url: str) -> int:
    """Return the number of non-empty path elements of a URL; that of the page if it is archived.

    Generic addresses, such as that of a home page, are a sign of a bad reference (Petroni et al.).
    """
    parts = _unwrapped(url)
    return len(list(filter(None, parts.path.split("/")))) if parts else 0


def is_web(url: str) -> bool:
    """Return whether a URL leads to a page of the web: not ``javascript:``, ``mailto:``..."""
    return _split(url) is not None


def names_source(url: str) -> bool:
    """Return whether a string names a source: a URL of the web, or an identifier as ``doi:...``."""
    return is_web(url) or _IDENTIFIER.fullmatch(url.strip()) is not None


def _unwrapped(url: str) -> _Parts | None:
    """Return the parts of a URL, or of the page that an archive holds."""
    parts = _split(url)
    while parts is not None:
        # Each step shortens the URL, so this ends.
        page = _archived_page(parts)
        if page is None:
            break
        parts = page
    return parts


def _archived_page(parts: _Parts) -> _Parts | None:
    joined = _joined(parts)
    for pattern in _ARCHIVES:
        if match := pattern.fullmatch(joined):
            page = match[1]
            if re.match("https?%3a", page, re.IGNORECASE) or "q=cache" in joined:
                page = unquote(page)
            return _split(_MANGLED_SCHEME.sub(r"\1://", page, count=1))
    return None


def _split(url: str) -> _Parts | None:
    url = _IGNORED.sub("", url).strip("".join(map(chr, range(33))) + "\x7f\xa0")
    if match := re.match(r"(?:https?:)?//", url, re.IGNORECASE):
        has_scheme, rest = True, url[match.end() :]
    else:
        has_scheme, rest = False, url
    rest = rest.partition("#")[0]
    address, _, query = rest.partition("?")
    authority, _, path = address.replace("\\", "/").partition("/")
    scheme = None if has_scheme else _SCHEME.match(authority)
    if scheme is not None and not ("." in scheme[1] and authority[scheme.end() :].isdigit()):
        return None  # another scheme, not a host with a port
    match = _HOST.fullmatch(authority)
    host = _normal_host(match[1]) if match else ""
    if not host or (not has_scheme and "." not in host and host[0] != "["):
        return None
    port = match[2] or "" if match else ""
    return _Parts(
        host if port in _DEFAULT_PORTS else f"{host}:{port}",
        _normal_path(path),
        _normal_query(query),
    )


def _normal_host(host: str) -> str:
    if host.startswith("["):
        return host.lower()
    host = host.strip(".")
    try:
        host = idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        # Such as underscores, which are used all the same.
        if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", host, re.ASCII):
            return ""
        host = host.lower()
    while host.startswith("www.") and "." in host[4:]:
        host = host[4:]
    return host


def _normal_path(path: str) -> str:
    segments: list[str] = []
    for segment in _escaped(path, _PATH_SAFE).split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments).rstrip("/")


def _normal_query(query: str) -> str:
    pairs = (_escaped(pair, _QUERY_SAFE) for pair in query.split("&"))
    return "&".join(sorted(p for p in pairs if p and not _TRACKING.fullmatch(p.partition("=")[0])))


def _escaped(text: str, safe: str) -> str:
    """Escape all characters that need it, and no others."""
    quoted = quote(text, safe=safe, errors="replace")
    quoted = re.sub("%(?![0-9A-Fa-f]{2})", "%25", quoted)
    quoted = _UNRESERVED.sub(lambda match: unquote(match[0]), quoted)
    return re.sub("%[0-9a-f]{2}", lambda match: match[0].upper(), quoted, flags=re.IGNORECASE)


def _joined(parts: _Parts) -> str:
    # Without the slashes, a name of a local network would not be taken for a host again.
    slashes = "" if "." in parts.host or parts.host[0] == "[" else "//"
    path = f"/{parts.path}" if parts.path else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{slashes}{parts.host}{path}{query}"
