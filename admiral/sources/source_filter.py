"""Leave out what cannot support a claim of Wikipedia: Wikipedia itself, its mirrors and copies.

A claim is found word for word in a copy of its own page, which therefore ranks first, and would be
a circular reference.
"""

from __future__ import annotations

import re
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.sources.canonical_urls import host
from proofs.logic.words import word_list

# Wikipedia, its sister projects, and sites that copy it.
_WIKIPEDIA = word_list("""
wikipedia.org wikimedia.org wiktionary.org wikiquote.org wikisource.org wikibooks.org wikinews.org
wikiversity.org wikivoyage.org wikidata.org mediawiki.org wikiwand.com dbpedia.org infogalactic.com
wiki2.org wikizero.com en-academic.com everybodywiki.com alchetron.com wikimili.com justapedia.org
wiki.kidzsearch.com encyclopedia.thefreedictionary.com self.gutenberg.org worldheritage.org
newworldencyclopedia.org
""")
# Words of a shingle, and the share of shingles of a claim in its context that a copy has.
_SHINGLE_WORDS, _COPIED_SHARE = 8, 0.5
# Fewer shingles, from a claim without context, may be a quotation.
_LEAST_SHINGLES = 20
_WORD = re.compile(r"[^\W_]+")


def is_copy(text: str, context: str) -> bool:
    """Return whether a text holds at least half of a context word for word.

    The context is a claim with what stands around it on its page. One of fewer than 27 words is too
    short to tell.
    """
    parts = _shingles(context)
    if len(parts) < _LEAST_SHINGLES:
        return False
    return len(parts & _shingles(text)) >= _COPIED_SHARE * len(parts)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    starts = range(len(words) - _SHINGLE_WORDS + 1)
    return {tuple(words[start : start + _SHINGLE_WORDS]) for start in starts}


class SourceFilter:
    """Decides which sources are never suggested.

    `blocked`: file of further hosts, one a line, where empty lines and those with ``#`` do not
    count; none if empty.
    """

    def __init__(self, blocked: str = "") -> None:
        self._sites = list(_WIKIPEDIA)
        if not blocked:
            return
        try:
            lines = Path(blocked).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "is not UTF-8 text"
            raise AdmiralError(
                f"setting 'blocked_sites': {blocked}: cannot be read: {reason}. Give a text file "
                "of hosts"
            ) from error
        for number, site in enumerate(map(str.strip, lines), 1):
            if site and not site.startswith("#"):
                if host(site) != site:
                    raise AdmiralError(
                        f"{blocked}:{number}: {site!r} is not a host. Write one as example.org, in "
                        "lower case"
                    )
                self._sites.append(site)

    def blocks_url(self, url: str) -> bool:
        """Return whether a source is left out because of its URL."""
        name = host(url)
        return any(name == site or name.endswith(f".{site}") for site in self._sites)

    def blocks(self, url: str, text: str, context: str) -> bool:
        """Return whether a source is left out for a claim; for `context`, see `is_copy`."""
        return self.blocks_url(url) or is_copy(text, context)
