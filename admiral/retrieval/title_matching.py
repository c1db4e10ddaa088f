"""Match titles in text: find the longest word sequences that name documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from admiral.io.matching_form import matching_form_with_offsets

_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_MAX_WORDS = 8
#: Number of characters of a text that are searched.
MAX_TEXT = 4096
# Maximum number of titles that add a qualifier: "Alien" may mean "Alien (film)".
_MAX_QUALIFIED = 3
# Single words that are usually capitalised only because they begin a sentence.
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
    """The titles of a knowledge base, numbered by row."""

    def row(self, title: str) -> int | None:
        """Return the row of a title; None if there is no such title."""
        ...

    def title(self, row: int) -> str:
        """Return the title of a row."""
        ...

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix`, with their rows."""
        ...


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start:end`` of a text that name a document.

    Attributes
    ----------
    start, end
        Character offsets.
    titles
        The documents that may be meant: the title itself if it exists, then titles that add a
        parenthesised qualifier.
    """

    start: int
    end: int
    titles: tuple[str, ...]


def base_title(title: str) -> str:
    """Return `title` without its parenthesised qualifier: ``Dune (novel)`` -> ``Dune``."""
    return _QUALIFIER.sub("", title) or title


def find_mentions(titles: Titles, text: str) -> Iterator[Mention]:
    """Yield the mentions in `text`, left to right, without overlap.

    A mention is the longest word sequence that begins with a capital letter or a digit and equals a
    title, with or without its qualifier. It includes the punctuation that follows if the title
    does. Titles are matched by spelling alone.

    Parameters
    ----------
    titles
        The titles of a knowledge base.
    text
        The text; only its first 4,096 characters are searched. If it differs from its matching
        form (`admiral.io.matching_form`), that is searched too.
    """
    text = text[:MAX_TEXT]
    mentions = list(_mentions_in(titles, text))
    form, offsets = matching_form_with_offsets(text)
    if form != text:
        for mention in _mentions_in(titles, form):
            start, end = offsets[mention.start], offsets[mention.end]
            if not any(each.start < end and start < each.end for each in mentions):
                mentions.append(Mention(start, end, mention.titles))
        mentions.sort(key=lambda mention: mention.start)
    yield from mentions


def _mentions_in(titles: Titles, text: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(text))
    position = 0
    while position < len(words):
        first = text[words[position].start()]
        if not (first.isupper() or first.isdigit()):
            position += 1
            continue
        length, mention = _longest(titles, text, words[position : position + _MAX_WORDS])
        if mention is not None:
            yield mention
        position += max(length, 1)


def _longest(
    titles: Titles, text: str, words: Sequence[re.Match[str]]
) -> tuple[int, Mention | None]:
    """Return the number of words of the longest mention from the first word on, and the mention."""
    start = words[0].start()
    for length in range(_max_words(titles, text, words), 0, -1):
        end = words[length - 1].end()
        bare = text[start:end].removesuffix(".")
        if length == 1 and (bare in _OPENERS or bare.isdigit()):
            continue
        ends = range(_end_with_punctuation(titles, text, start, end), end - 1, -1)
        for name in dict.fromkeys(
            (*(text[start:e] for e in ends), bare, _POSSESSIVE.sub("", bare))
        ):
            if named := _titles_named(titles, name):
                return length, Mention(start, start + len(name), named)
    return 0, None


def _max_words(titles: Titles, text: str, words: Sequence[re.Match[str]]) -> int:
    """Return an upper bound on the words of a mention: no title begins with one word more."""
    for length in range(1, len(words)):
        if next(titles.complete(text[words[0].start() : words[length].start() + 1]), None) is None:
            return length
    return len(words)


def _end_with_punctuation(titles: Titles, text: str, start: int, end: int) -> int:
    """Return the largest end that a mention with the following punctuation may have.

    This covers names such as "Jeopardy!" and spelt-out qualifiers such as "Alien (film)".
    """
    while (mark := text[end : end + 1]) and not mark.isspace() and not _WORD.match(mark):
        if next(titles.complete(text[start : end + 1]), None) is None:
            break
        end += 1
    return end


def _titles_named(titles: Titles, name: str) -> tuple[str, ...]:
    """Return the title that equals `name`, and titles that add a qualifier to it."""
    row = titles.row(name)
    exact = () if row is None else (titles.title(row),)  # in the spelling of the knowledge base
    qualified = titles.complete(f"{name} (")
    return exact + tuple(title for title, _ in islice(qualified, _MAX_QUALIFIED))
