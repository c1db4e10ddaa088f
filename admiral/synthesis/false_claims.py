"""False versions of true claims: one value is swapped for another one of its type."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from admiral.records import Document
from admiral.retrieval.title_matching import base_title, find_mentions
from admiral.synthesis.english_words import KINDS, MONTHS, OPPOSITES
from admiral.synthesis.parsed_documents import Library
from admiral.synthesis.profiles import Profile
from admiral.synthesis.slots import is_list
from proofs.lexicons.nations import NATIONALITIES

_YEAR = re.compile(r"(?<![\w-])(?:1[0-9]{3}|20[0-2][0-9])(?![\w%-])")
_NUMBER = re.compile(
    r"(?<![\w,.$£€-])(?:[2-9]|[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w,.%:-]*\w)"
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_TOKEN = re.compile(r"\w+")
_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(MONTHS)}) $")
_MONTH_AFTER = re.compile(rf" (?:{'|'.join(MONTHS)})\b")
# Every day of the month is in these.
_LONG_MONTHS = ("January", "March", "May", "July", "August", "October", "December")
_FOLLOWING = re.compile(r"[.,;]|$| (?:and|or|but|in|on|at|by|from|with|for|who|which|that|to|of)\b")
_ARTICLE = re.compile(r"\b[Aa]n? $")
_NATIONS = tuple(sorted(" ".join(w.capitalize() for w in n.split()) for n in NATIONALITIES))
_NATION = re.compile(rf"\b(?:{'|'.join(sorted(_NATIONS, key=len, reverse=True))})\b(?!-)")
_SIBLINGS = {word: tuple(o for o in group if o != word) for group in KINDS for word in group}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted({*_SIBLINGS, *OPPOSITES}))})\b")
_LARGEST_GROUP = 400


@dataclass(frozen=True, slots=True)
class Swap:
    """Characters ``start:end`` of a claim and the value that takes their place."""

    start: int
    end: int
    value: str


class Falsifier:
    """Swaps values of claims.

    Parameters
    ----------
    library
        The documents.
    sample
        Some of them, whose titles replace other titles of documents of the same kind.
    """

    def __init__(self, library: Library, sample: Iterable[Profile]) -> None:
        self._library = library
        groups: dict[str, list[str]] = defaultdict(list)
        for profile in sample:
            if len(groups[profile.noun]) < _LARGEST_GROUP and not is_list(profile.title):
                groups[profile.noun].append(base_title(profile.title))
        self._groups: Mapping[str, Sequence[str]] = groups

    def falsify(
        self, text: str, named: Sequence[str], gold: Sequence[Document], rng: random.Random
    ) -> str | None:
        """Return `text` with one value swapped so that the gold documents refute it, or None.

        Parameters
        ----------
        text
            A claim that the gold documents support.
        named
            Titles by which the evidence is found; they stay.
        gold
            The documents; a value that one of them holds is not put in.
        rng
            Chooses.
        """
        known = _padded(" ".join(part for d in gold for part in (d.title, *d.sentences)))
        kept = [span for title in named for span in _places(base_title(title), text)]
        ways = [self._entities, _nations, _years, _numbers, _months, _words]
        rng.shuffle(ways)
        for way in ways:
            swaps = [
                swap
                for swap in way(text, rng)
                if all(swap.end <= start or end <= swap.start for start, end in kept)
                and _padded(swap.value) not in known
            ]
            if swaps:
                return _swapped(text, rng.choice(swaps))
        return None

    def _entities(self, text: str, rng: random.Random) -> Iterator[Swap]:
        for mention in find_mentions(self._library.kb, text):
            profile = self._library.profile(mention.titles[0])
            group = self._groups.get(profile.noun, ()) if profile and profile.noun else ()
            if len(group) > 1 and _alone(text, mention.start, mention.end):
                yield Swap(mention.start, mention.end, rng.choice(group))


def _padded(text: str) -> str:
    """Return the words of a text with a space before and behind each."""
    return f" {' '.join(_TOKEN.findall(text.casefold()))} "


def _places(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a name stands in a text, also with a capital at its start."""
    for form in {name, name[:1].upper() + name[1:]}:
        place = text.find(form)
        while place >= 0:
            yield place, place + len(form)
            place = text.find(form, place + 1)


def _alone(text: str, start: int, end: int) -> bool:
    """Whether a name is not a part of a longer one, and has no article."""
    before = text[:start].rsplit(" ", 2)[-2:-1]
    word = before[0] if before else ""
    return (
        word.islower()
        and word not in ("the", "a", "an")
        and _FOLLOWING.match(text, end) is not None
    )


def _nations(text: str, rng: random.Random) -> Iterator[Swap]:
    for found in _NATION.finditer(text):
        if not text[found.end() : found.end() + 2].strip()[:1].isupper():
            yield Swap(*found.span(), rng.choice(_NATIONS))


def _years(text: str, rng: random.Random) -> Iterator[Swap]:
    for found in _YEAR.finditer(text):
        shift = rng.choice((-1, 1)) * rng.randint(1, 12)
        yield Swap(*found.span(), str(min(int(found.group()) + shift, 2029)))


def _numbers(text: str, rng: random.Random) -> Iterator[Swap]:
    for found in _NUMBER.finditer(text):
        if _MONTH_BEFORE.search(text[: found.start()]) or _MONTH_AFTER.match(text, found.end()):
            continue  # there is no October 39
        digits = found.group().replace(",", "")
        value = int(digits)
        other = max(value + rng.choice((-1, 1)) * rng.randint(1, max(value // 3, 2)), 2)
        yield Swap(*found.span(), f"{other:,}" if "," in found.group() else str(other))


def _months(text: str, rng: random.Random) -> Iterator[Swap]:
    for found in _MONTH.finditer(text):
        yield Swap(*found.span(), rng.choice(_LONG_MONTHS))


def _words(text: str, rng: random.Random) -> Iterator[Swap]:
    for found in _WORD.finditer(text):
        word = found.group()
        value = OPPOSITES.get(word) or rng.choice(_SIBLINGS[word])
        yield Swap(*found.span(), value)


def _swapped(text: str, swap: Swap) -> str:
    """Put the value in; "a" and "an" before it agree with it."""
    before, value = text[: swap.start], swap.value
    article = _ARTICLE.search(before)
    if article is not None:
        one = "an" if value[:1].lower() in "aeiou" else "a"
        one = one.capitalize() if article.group()[0] == "A" else one
        before = f"{before[: article.start()]}{one} "
    if not before:
        value = value[:1].upper() + value[1:]
    return before + value + text[swap.end :]
