"""Tell sources that cannot support a claim of Wikipedia: Wikipedia itself, its mirrors and copies.

A claim is found word for word in a copy of its own page, which therefore ranks first, and would be
a circular reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.library.canonical_urls import canonical

# Wikipedia, its sister projects, and sites that copy it.
_WIKIPEDIA = (
    "wikipedia.org",
    "wikimedia.org",
    "wiktionary.org",
    "wikiquote.org",
    "wikisource.org",
    "wikibooks.org",
    "wikinews.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wikidata.org",
    "mediawiki.org",
    "wikiwand.com",
    "dbpedia.org",
    "infogalactic.com",
    "wiki2.org",
    "wikizero.com",
    "en-academic.com",
    "everybodywiki.com",
    "alchetron.com",
    "wikimili.com",
    "justapedia.org",
    "wiki.kidzsearch.com",
    "encyclopedia.thefreedictionary.com",
    "self.gutenberg.org",
    "worldheritage.org",
    "newworldencyclopedia.org",
)
#: Words of a shingle, and the share of shingles of a claim in its context that a copy has.
SHINGLE_WORDS, COPIED_SHARE = 8, 0.5
# Fewer shingles, from a claim without context, may be a quotation.
_LEAST_SHINGLES = 20
_WORD = re.compile(r"[^\W_]+")


def host(url: str) -> str:
    """Return the host of a URL without ``www.``; of an archived page, that of the page."""
    return re.split(r"[/?]", canonical(url), maxsplit=1)[0].partition(":")[0]


def is_wikipedia(url: str) -> bool:
    """Return whether a URL is of Wikipedia, a sister project or a known mirror."""
    return _is_below(host(url), _WIKIPEDIA)


def _is_below(name: str, sites: Iterable[str]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return all sequences of `SHINGLE_WORDS` words of a text, in lower case."""
    words = _WORD.findall(text.lower())
    starts = range(len(words) - SHINGLE_WORDS + 1)
    return {tuple(words[start : start + SHINGLE_WORDS]) for start in starts}


def is_copy(text: str, context: str) -> bool:
    """Return whether a text holds at least half of a context word for word.

    The context is a claim with what stands around it on its page. One of fewer than 27 words is too
    short to tell.
    """
    parts = shingles(context)
    if len(parts) < _LEAST_SHINGLES:
        return False
    return len(parts & shingles(text)) >= COPIED_SHARE * len(parts)


def blocked_sites(path: str) -> tuple[str, ...]:
    """Return the hosts in a file, one a line; empty lines and those with ``#`` are left out.

    `path`: the file; no sites for an empty path. Raises AdmiralError if it cannot be read, or a
    line is not a host.
    """
    if not path:
        return ()
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise AdmiralError(
            f"setting 'blocked_sites': {path}: cannot be read: {reason}. Give a text file of hosts"
        ) from error
    sites = []
    for number, line in enumerate(lines, 1):
        site = line.strip()
        if not site or site.startswith("#"):
            continue
        if host(site) != site:
            raise AdmiralError(
                f"{path}:{number}: {site!r} is not a host. Write one as example.org, in lower case"
            )
        sites.append(site)
    return tuple(sites)


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which sources are never suggested."""

    wikipedia: bool = True
    copies: bool = True
    blocked: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for site in self.blocked:
            if not site or host(site) != site:
                raise AdmiralError(
                    f"blocked={site!r}: is not a host. Write it as in example.org, in lower case"
                )

    def blocks_url(self, url: str) -> bool:
        """Return whether a source is left out because of its URL."""
        return (self.wikipedia and is_wikipedia(url)) or _is_below(host(url), self.blocked)

    def blocks(self, url: str, text: str, context: str) -> bool:
        """Return whether a source is left out for a claim.

        `context`: the claim with what stands around it on its page.
        """
        return self.blocks_url(url) or (self.copies and is_copy(text, context))
