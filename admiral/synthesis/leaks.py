"""Does a claim give away a title that it is to describe?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from admiral.mentions import base_title
from admiral.synthesis.words import STOP_WORDS

_TOKEN = re.compile(r"\w+")


@lru_cache(64)  # a claim is asked about each of its titles
def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents, capitals and plural or possessive endings."""
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    return tuple(token.removesuffix("s") or token for token in _TOKEN.findall(text.casefold()))


_FREE = frozenset(tokens(" ".join(sorted(STOP_WORDS))))


def given_away(claim: str, hidden: str, named: Iterable[str]) -> list[str]:
    """Return the words of a hidden title that a claim shows.

    Its initials count too, as in NBC for National Broadcasting Company. Stop words do not, nor do
    words of titles that the claim names on purpose.

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
    free = _FREE | {token for title in named for token in tokens(base_title(title))}
    shown = set(tokens(claim))
    parts = tokens(base_title(hidden))
    content = [token for token in parts if token not in free]
    found = [token for token in content if token in shown]
    initials = "".join(token[0] for token in parts)
    if len(initials) > 2 and initials in shown and initials not in free:
        found.append(initials)
    squeezed = "".join(parts)
    if len(squeezed) > 3 and squeezed in shown and squeezed not in free:
        found.append(squeezed)
    return found
