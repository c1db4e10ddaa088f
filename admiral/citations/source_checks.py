"""Whether the source of a citation can be checked. A source that cannot has not failed."""

from __future__ import annotations

import re

from admiral.citations.citation_records import Citation, Status
from admiral.kb.bm25.analysis import STOP_WORDS
from admiral.library.source_records import Source

_WORD = re.compile(r"[^\W\d_]+")
# In English prose, a third of the words are among these; in other languages, hardly any.
_ENGLISH_SHARE = 0.1
_READ_WORDS = 2000

#: What each status tells the reader; empty for one that needs no explanation.
REASONS: dict[Status, str] = {
    "scored": "",
    "not_in_library": "is not in the library",
    "no_text": "has no text in the library",
    "too_short": "is too short to be checked",
    "not_english": "is not in English",
    "not_web": "is not a page of the web",
    "blocked": "is a page that cannot be a source, such as one of Wikipedia",
}


def source_status(
    source: Source | None, citation: Citation, *, is_web: bool, is_blocked: bool, min_words: int
) -> Status:
    """Return whether a source can be scored, and otherwise why not.

    Parameters
    ----------
    source
        The source that the library holds for the citation, or None.
    citation
        The citation.
    is_web
        Whether its URL leads to a page of the web.
    is_blocked
        Whether a filter of the library excludes it.
    min_words
        Words that a source needs.
    """
    if not citation.url.strip():
        return "not_web"
    if is_blocked:
        return "blocked"
    if source is None:
        return "not_in_library" if is_web else "not_web"
    if not source.text.strip():
        return "no_text"
    words = _WORD.findall(source.text)
    if len(words) < min_words:
        return "too_short"
    return "scored" if _is_english(source, words) else "not_english"


def _is_english(source: Source, words: list[str]) -> bool:
    if source.language:
        return source.language.lower().startswith("en")
    read = words[:_READ_WORDS]
    common = sum(word.lower() in STOP_WORDS for word in read)
    return common >= _ENGLISH_SHARE * len(read)
