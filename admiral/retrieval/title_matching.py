"""Mentions of titles in text: the longest runs of words that name documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_MAX_WORDS = 8
# Of a text so many characters are searched.
_MAX_TEXT = 4096
# Titles that differ in their parentheses only: "Alien" may be "Alien (film)".
_MAX_QUALIFIED = 3
# A single word that is capital because a sentence begins with it mostly names nothing.
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        A After All Although An And As At Before Both But By During Each For From He Her His
        However I In It Its Many Most On One Other She Since Some That The Their There These
        They This Those Through To Two Under Until We When Where While With
        """,
    )
)


class Titles(Protocol):
    """The titles of a knowledge base."""

    def row(self, title: str) -> int | None: ...
    def title(self, row: int) -> str: ...
    def complete(self, prefix: str) -> Iterator[tuple[str, int]]: ...


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start:end`` of a text that name a document.

    Attributes
    ----------
    titles
        The documents that may be meant: the title itself where there is one, then titles that have
        a parenthesis besides.
    """

    start: int
    end: int
    titles: tuple[str, ...]


def base_title(title: str) -> str:
    """Return `title` without a disambiguating parenthesis: ``Dune (novel)`` -> ``Dune``."""
    return _QUALIFIER.sub("", title) or title


def find_mentions(titles: Titles, text: str) -> Iterator[Mention]:
    """Yield the mentions in `text`, left to right, without overlap.

    A mention is the longest run of words, beginning with a capital or a digit, that is a title, or
    a title without its parenthesis; marks directly behind it belong to it where a title has them.
    Matching is by spelling alone.
    """
    text = text[:_MAX_TEXT]
    words = list(_WORD.finditer(text))
    place = 0
    while place < len(words):
        length, mention = _longest(titles, text, words[place : place + _MAX_WORDS])
        if mention is not None:
            yield mention
        place += max(length, 1)


def _longest(
    titles: Titles, text: str, words: Sequence[re.Match[str]]
) -> tuple[int, Mention | None]:
    """Return the longest mention at the first word, and its number of words."""
    start = words[0].start()
    if not (text[start].isupper() or text[start].isdigit()):
        return 0, None
    for length in range(_most_words(titles, text, words), 0, -1):
        end = words[length - 1].end()
        bare = text[start:end].removesuffix(".")
        if length == 1 and (bare in _OPENERS or bare.isdigit()):
            continue
        ends = range(_with_marks(titles, text, start, end), end - 1, -1)
        for form in dict.fromkeys(
            (*(text[start:e] for e in ends), bare, _POSSESSIVE.sub("", bare))
        ):
            found = _named(titles, form)
            if found:
                return length, Mention(start, start + len(form), found)
    return 0, None


def _most_words(titles: Titles, text: str, words: Sequence[re.Match[str]]) -> int:
    """Return a number of words that no mention can exceed: no title begins as more of them do."""
    for length in range(1, len(words)):
        if next(titles.complete(text[words[0].start() : words[length].start() + 1]), None) is None:
            return length
    return len(words)


def _with_marks(titles: Titles, text: str, start: int, end: int) -> int:
    """Return how far the marks directly behind a name may belong to it, as in "Jeopardy!".

    So does a qualifier that is spelled out: "Alien (film)" says which one is meant.
    """
    while (mark := text[end : end + 1]) and not mark.isspace() and not _WORD.match(mark):
        if next(titles.complete(text[start : end + 1]), None) is None:
            break
        end += 1
    return end


def _named(titles: Titles, name: str) -> tuple[str, ...]:
    row = titles.row(name)
    exact = () if row is None else (titles.title(row),)  # as it is stored
    others = titles.complete(f"{name} (")
    return exact + tuple(title for title, _ in islice(others, _MAX_QUALIFIED))
