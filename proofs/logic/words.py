"""Words of a text with their positions: what counts as a word, a stop word, the same word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]

# A claim span or evidence span ends where a word does; white space divides words.
_WORD = re.compile(r"\S+")
_PARTS = re.compile(r"[-‐-―/·]+")
_STEMMER = snowballstemmer.stemmer("english")


def word_list(text: str) -> frozenset[str]:
    """Return the words of a list that is written as running text."""
    return frozenset(text.split())


STOP_WORDS = word_list(
    """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself just
    may me might more most must my myself now of off on once only or other our ours out
    over own shall she should so some such than that the their theirs them themselves then there
    these they this those through to too under until up upon us very was we were what when where
    which while who whom whose why will with within would you your yours
    """
)
# Words that turn a statement round. They are content: "not" decides a claim.
NEGATIONS = word_list(
    "not no never none neither nor nobody nothing nowhere hardly without cannot n't isn't wasn't "
    "aren't weren't doesn't didn't don't hasn't haven't hadn't won't wouldn't can't couldn't "
    "failed fails refused refuses denied denies lacks lacked"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a text at characters ``[start, end)``.

    `index` is the number of the word, counted by white space, that the piece belongs to. `norm` is
    the piece in lower case without accents, possessive or outer punctuation; empty for punctuation.
    """

    start: int
    end: int
    index: int
    norm: str

    @property
    def content(self) -> bool:
        """Whether the piece is more than punctuation or a stop word."""
        return is_content(self.norm)


@lru_cache(maxsize=65536)
def is_content(norm: str) -> bool:
    """Whether a normalised piece is more than punctuation or a stop word."""
    return norm not in STOP_WORDS and any(c.isalnum() for c in norm)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the words of `text`, divided by white space."""
    return [m.span() for m in _WORD.finditer(text)]


def located(text: str, spans: Iterable[str]) -> list[tuple[int, int]]:
    """Return where spans that follow each other in a text begin and end.

    Raises
    ------
    ValueError
        If a span is not in the text behind the one before.
    """
    found, end = [], 0
    for span in spans:
        start = text.index(span, end)
        end = start + len(span)
        found.append((start, end))
    return found


def pieces(text: str) -> list[Word]:
    """Split `text` into words, with the punctuation around a word as pieces of their own.

    ``"Seth Meyers (born 1973),"`` has the pieces ``Seth Meyers ( born 1973 ) ,``.
    """
    found: list[Word] = []
    for index, (start, end) in enumerate(word_spans(text)):
        left, right = start, end
        while left < end and _is_punctuation(text[left]):
            left += 1
        while right > left and _is_punctuation(text[right - 1]):
            right -= 1
        found.extend(Word(i, i + 1, index, "") for i in range(start, left))
        if left < right:
            found.append(Word(left, right, index, normalise(text[left:right])))
        found.extend(Word(i, i + 1, index, "") for i in range(right, end))
    return found


def has_content(text: str) -> bool:
    """Whether `text` has a word that is not a stop word."""
    return any(word.content for word in pieces(text))


@lru_cache(maxsize=65536)
def normalise(word: str) -> str:
    """Return the word in lower case without accents, possessive ending or outer punctuation."""
    if word.isascii() and word.isalnum():
        return word.lower()
    # The stemmer refuses lone surrogates.
    sound = word.encode("utf-8", "replace").decode("utf-8")
    folded = unicodedata.normalize("NFKD", sound.casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c)).replace("’", "'")
    plain = plain.strip("".join({c for c in plain if _is_punctuation(c)}))
    return plain.removesuffix("'s")


@lru_cache(maxsize=65536)
def stems(norm: str) -> frozenset[str]:
    """Return the stems of a normalised word: of the whole and of the parts of a compound."""
    parts = [part for part in _PARTS.split(norm) if any(c.isalnum() for c in part)]
    whole = norm[:64]  # the stemmer's time grows with the word; no word is that long
    return frozenset(_STEMMER.stemWord(part[:64]) for part in [whole, *parts] if part)


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char).startswith("P")
