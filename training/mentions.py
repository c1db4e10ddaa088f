"""Find mentions of document titles in text: pseudo-hyperlinks for corpora that have none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_MAX_WORDS = 8


def base_title(title: str) -> str:
    """Return `title` without a disambiguating parenthesis: ``Dune (novel)`` -> ``Dune``."""
    return _QUALIFIER.sub("", title) or title


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start:end`` of a sentence that name `title`."""

    title: str
    start: int
    end: int


class MentionIndex:
    """Titles by the words of their surface form.

    A mention is the longest run of words that equals a title's surface form, case included. Single
    common words do not count: the form needs two words, or a digit, or a capital, and a capital
    alone not at the start of the sentence. A surface form that several titles share names the one
    without a parenthesis; where there is none, it names nothing.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        forms: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for title in titles:
            words = tuple(_WORD.findall(base_title(title)))
            if words and len(words) <= _MAX_WORDS:
                forms[words].append(title)
        self._title: dict[tuple[str, ...], str] = {}
        for words, owners in forms.items():
            plain = [t for t in owners if base_title(t) == t]
            if len(owners) == 1 or len(plain) == 1:
                self._title[words] = (plain or owners)[0]

    def find(self, sentence: str) -> Iterator[Mention]:
        """Yield the mentions in `sentence`, left to right, without overlap."""
        words = list(_WORD.finditer(sentence))
        position = 0
        while position < len(words):
            for length in range(min(_MAX_WORDS, len(words) - position), 0, -1):
                run = words[position : position + length]
                title = self._title.get(tuple(w.group() for w in run))
                if title is not None and _names(run, sentence, position):
                    yield Mention(title, run[0].start(), run[-1].end())
                    position += length - 1
                    break
            position += 1


def _names(run: list[re.Match[str]], sentence: str, position: int) -> bool:
    text = sentence[run[0].start() : run[-1].end()]
    if len(run) == 1:
        word = run[0].group()
        # "Red" in "Red Devils" and "November" in "November 6" are parts of longer names.
        beside = re.compile(r"[\w'’.-]*[A-Z0-9][\w'’.-]*$").search(
            sentence[: run[0].start()].rstrip()
        )
        after = re.match(r"\s+[A-Z0-9]", sentence[run[0].end() :])
        alone = beside is None and after is None
        return len(word) > 2 and word[0].isupper() and position > 0 and alone
    return text[0].isupper() or text[0].isdigit()
