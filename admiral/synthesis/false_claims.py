"""False versions of true claims, made by replacing one value by another of the same type."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from admiral.records import Document
from admiral.retrieval.mentions import base_title, find_mentions
from admiral.synthesis.english_words import MONTHS, OPPOSITES, SIBLING_GROUPS
from admiral.synthesis.parsed_documents import ParsedCorpus
from admiral.synthesis.profiles import Profile
from admiral.synthesis.slots import is_list_page
from proofs.lexicons.values import NATIONALITIES

_YEAR = re.compile(r"(?<![\w-])(?:1[0-9]{3}|20[0-2][0-9])(?![\w%-])")
_NUMBER = re.compile(
    r"(?<![\w,.$£€-])(?:[2-9]|[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w,.%:-]*\w)"
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_TOKEN = re.compile(r"\w+")
_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(MONTHS)}) $")
_MONTH_AFTER = re.compile(rf" (?:{'|'.join(MONTHS)})\b")
# Months with 31 days, so that every date stays valid.
_LONG_MONTHS = ("January", "March", "May", "July", "August", "October", "December")
_FOLLOWING = re.compile(r"[.,;]|$| (?:and|or|but|in|on|at|by|from|with|for|who|which|that|to|of)\b")
_ARTICLE = re.compile(r"\b[Aa]n? $")
_NATIONS = tuple(sorted(" ".join(w.capitalize() for w in n.split()) for n in NATIONALITIES))
_NATION = re.compile(rf"\b(?:{'|'.join(sorted(_NATIONS, key=len, reverse=True))})\b(?!-)")
_SIBLINGS = {
    word: tuple(o for o in group if o != word) for group in SIBLING_GROUPS for word in group
}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted({*_SIBLINGS, *OPPOSITES}))})\b")
_MAX_GROUP_SIZE = 400


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value to put in place of the characters ``start:end`` of a claim."""

    start: int
    end: int
    value: str


class Falsifier:
    """Makes false versions of claims.

    `sample`: documents whose titles can replace titles of the same kind (with the same head noun).
    """

    def __init__(self, corpus: ParsedCorpus, sample: Iterable[Profile]) -> None:
        self._corpus = corpus
        groups: dict[str, list[str]] = defaultdict(list)
        for profile in sample:
            if len(groups[profile.noun]) < _MAX_GROUP_SIZE and not is_list_page(profile.title):
                groups[profile.noun].append(base_title(profile.title))
        self._groups: Mapping[str, Sequence[str]] = groups

    def falsify(
        self, text: str, named: Sequence[str], gold: Sequence[Document], rng: random.Random
    ) -> str | None:
        """Return `text` with one value replaced so that the gold documents refute it, or None.

        The value is a title, nationality, year, number, month, or a word with a known sibling or
        opposite. `text`: a claim that the gold documents support. `named`: titles by which the
        evidence is found; they are not replaced. `gold`: the gold documents; a value that occurs in
        one of them is not used.
        """
        gold_text = _padded(" ".join(part for d in gold for part in (d.title, *d.sentences)))
        protected = [span for title in named for span in _occurrences(base_title(title), text)]
        types = [
            self._title_replacements,
            _nationality_replacements,
            _year_replacements,
            _number_replacements,
            _month_replacements,
            _word_replacements,
        ]
        rng.shuffle(types)
        for replacements_of_type in types:
            candidates = [
                candidate
                for candidate in replacements_of_type(text, rng)
                if all(candidate.end <= start or end <= candidate.start for start, end in protected)
                and _padded(candidate.value) not in gold_text
            ]
            if candidates:
                return _replace(text, rng.choice(candidates))
        return None

    def _title_replacements(self, text: str, rng: random.Random) -> Iterator[Replacement]:
        for mention in find_mentions(self._corpus.kb, text):
            profile = self._corpus.profile(mention.titles[0])
            group = self._groups.get(profile.noun, ()) if profile and profile.noun else ()
            if len(group) > 1 and _is_separate_name(text, mention.start, mention.end):
                yield Replacement(mention.start, mention.end, rng.choice(group))


def _padded(text: str) -> str:
    """Return the words of a text, each with a space before and after it."""
    return f" {' '.join(_TOKEN.findall(text.casefold()))} "


def _occurrences(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each occurrence of a name, also with an initial capital."""
    for form in {name, name[:1].upper() + name[1:]}:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + 1)


def _is_separate_name(text: str, start: int, end: int) -> bool:
    before = text[:start].rsplit(" ", 2)[-2:-1]
    previous = before[0] if before else ""
    return (
        previous.islower()
        and previous not in ("the", "a", "an")
        and _FOLLOWING.match(text, end) is not None
    )


def _nationality_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _NATION.finditer(text):
        if not text[match.end() : match.end() + 2].strip()[:1].isupper():
            yield Replacement(*match.span(), rng.choice(_NATIONS))


def _year_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _YEAR.finditer(text):
        shift = rng.choice((-1, 1)) * rng.randint(1, 12)
        yield Replacement(*match.span(), str(min(int(match.group()) + shift, 2029)))


def _number_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _NUMBER.finditer(text):
        if _MONTH_BEFORE.search(text[: match.start()]) or _MONTH_AFTER.match(text, match.end()):
            continue  # a day of the month: "October 39" is not a date
        digits = match.group().replace(",", "")
        value = int(digits)
        other = max(value + rng.choice((-1, 1)) * rng.randint(1, max(value // 3, 2)), 2)
        yield Replacement(*match.span(), f"{other:,}" if "," in match.group() else str(other))


def _month_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _MONTH.finditer(text):
        yield Replacement(*match.span(), rng.choice(_LONG_MONTHS))


def _word_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _WORD.finditer(text):
        word = match.group()
        value = OPPOSITES.get(word) or rng.choice(_SIBLINGS[word])
        yield Replacement(*match.span(), value)


def _replace(text: str, replacement: Replacement) -> str:
    """Apply a replacement; "a" or "an" before it is made to agree."""
    before, value = text[: replacement.start], replacement.value
    article = _ARTICLE.search(before)
    if article is not None:
        agreeing = "an" if value[:1].lower() in "aeiou" else "a"
        agreeing = agreeing.capitalize() if article.group()[0] == "A" else agreeing
        before = f"{before[: article.start()]}{agreeing} "
    if not before:
        value = value[:1].upper() + value[1:]
    return before + value + text[replacement.end :]
