"""Does a claim give away a title that it is to describe?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from admiral.retrieval.title_matching import base_title
from admiral.synthesis.english_words import STOP_WORDS

_WORD = re.compile(r"\w+")


@lru_cache(64)  # a claim is asked about each of its titles
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents and capitals."""
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    return tuple(_WORD.findall(text.casefold()))


def tokens(text: str) -> list[str]:
    """Return the words of a text without accents, capitals and plural or possessive endings."""
    return [_stem(word) for word in _words(text)]


def _stem(word: str) -> str:
    return word.removesuffix("s") or word


def given_away(claim: str, hidden: str, named: Iterable[str]) -> list[str]:
    """Return the words of a hidden title that a claim shows.

    Its initials count too, as in NBC for National Broadcasting Company. Stop words do not, nor do
    words of titles that the claim names on purpose, as they stand there.

    Parameters
    ----------
    claim
        The text.
    hidden
        The title that the claim must not show. Its parenthesis says of what kind the document is,
        which a description may say too.
    named
        The titles that the claim names.
    """
    free = {word for title in named for word in _words(base_title(title))}
    shown = {_stem(word) for word in _words(claim) if word not in free}
    parts = _words(base_title(hidden))
    found = [word for word in parts if word not in STOP_WORDS and _stem(word) in shown]
    # One word, or hardly a word, for all of them.
    initials, squeezed = "".join(word[0] for word in parts), "".join(parts)
    if len(parts) > 1:
        found += [one for one in (initials, squeezed) if len(one) > 2 and _stem(one) in shown]
    return found
