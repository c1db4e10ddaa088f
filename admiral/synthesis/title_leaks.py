"""Detection of words in a claim that give away a title it should hide."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from admiral.retrieval.title_matching import base_title
from admiral.synthesis.english_words import STOP_WORDS

_WORD = re.compile(r"\w+")


@lru_cache(64)  # a claim is checked against each of its titles
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents and case."""
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    return tuple(_WORD.findall(text.casefold()))


def normalised_tokens(text: str) -> list[str]:
    """Return the words of a text without accents, case, and plural or possessive endings."""
    return [_stem(word) for word in _words(text)]


def _stem(word: str) -> str:
    return word.removesuffix("s") or word


def leaked_words(claim: str, hidden: str, named: Iterable[str]) -> list[str]:
    """Return the words of a hidden title that occur in a claim.

    Its initials count too (NBC for National Broadcasting Company). Stop words do not count, nor do
    words of titles that the claim names on purpose, in the same form.

    Parameters
    ----------
    claim
        Text of the claim.
    hidden
        Title that the claim must not show. Its parenthesis is ignored: it gives the kind of the
        document, which a description may give too.
    named
        Titles that the claim names.
    """
    allowed = {word for title in named for word in _words(base_title(title))}
    claim_words = {_stem(word) for word in _words(claim) if word not in allowed}
    parts = _words(base_title(hidden))
    leaked = [word for word in parts if word not in STOP_WORDS and _stem(word) in claim_words]
    # The title as initials, or written as one word.
    initials, compound = "".join(word[0] for word in parts), "".join(parts)
    if len(parts) > 1:
        leaked += [w for w in (initials, compound) if len(w) > 2 and _stem(w) in claim_words]
    return leaked
