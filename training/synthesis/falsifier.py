"""False versions of claims, in which one value is replaced by another of its type."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from admiral.records import Document
from admiral.retrieval.first_stage import base_title, find_mentions
from proofs.lexicons.values import NATIONALITIES
from proofs.logic.words import MONTHS
from training.synthesis.profiles import WORDS, ParsedCorpus, Profile, is_list_page

# The characters ``start:end`` of a claim, and a value to put in their place.
Replacement = tuple[int, int, str]

_YEAR = re.compile(r"(?<![\w-])(?:1[0-9]{3}|20[0-2][0-9])(?![\w%-])")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
# A number that is not the day of a month: "October 39" is not a date.
_NUMBER = re.compile(
    r"(?<![\w,.$£€-])(?:[2-9]|[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w,.%:-]*\w)"
    rf"(?! (?:{'|'.join(MONTHS)})\b)"
)
_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(MONTHS)}) $")
# Months with 31 days, so that every date stays valid.
_LONG_MONTHS = ("January", "March", "May", "July", "August", "October", "December")
_FOLLOWING = re.compile(r"[.,;]|$| (?:and|or|but|in|on|at|by|from|with|for|who|which|that|to|of)\b")
_ARTICLE = re.compile(r"\b[Aa]n? $")
_NATIONS = tuple(sorted(" ".join(w.capitalize() for w in n.split()) for n in NATIONALITIES))
_NATION = re.compile(
    rf"\b(?:{'|'.join(sorted(_NATIONS, key=len, reverse=True))})\b(?!-)(?! ?[A-Z])"
)
_GROUPS = [group.split() for group in WORDS["sibling_groups"]]
_SIBLINGS = {word: tuple(o for o in group if o != word) for group in _GROUPS for word in group}
_PAIRS = [pair.split("/") for pair in WORDS["opposites"].split()]
_OPPOSITES = dict([*_PAIRS, *map(reversed, _PAIRS)])
_WORD = re.compile(rf"\b(?:{'|'.join(sorted({*_SIBLINGS, *_OPPOSITES}))})\b")
_MAX_GROUP_SIZE = 400


def _other_year(year: str, rng: random.Random) -> str:
    shift = rng.choice((-1, 1)) * rng.randint(1, 12)
    return str(min(int(year) + shift, 2029))


def _other_number(number: str, rng: random.Random) -> str:
    value = int(number.replace(",", ""))
    other = max(value + rng.choice((-1, 1)) * rng.randint(1, max(value // 3, 2)), 2)
    return f"{other:,}" if "," in number else str(other)


#: The patterns of values, and what another value is drawn by.
_VALUES: tuple[tuple[re.Pattern[str], Callable[[str, random.Random], str]], ...] = (
    (_NATION, lambda _, rng: rng.choice(_NATIONS)),
    (_YEAR, _other_year),
    (_NUMBER, _other_number),
    (_MONTH, lambda _, rng: rng.choice(_LONG_MONTHS)),
    (_WORD, lambda word, rng: _OPPOSITES.get(word) or rng.choice(_SIBLINGS[word])),
)


class Falsifier:
    """Makes false versions of claims.

    `sample`: documents whose titles can replace titles of the same kind (with the same head noun).
    """

    def __init__(self, corpus: ParsedCorpus, sample: Iterable[Profile]) -> None:
        self._corpus = corpus
        self._groups: defaultdict[str, list[str]] = defaultdict(list)
        for profile in sample:
            group = self._groups[profile.noun]
            if len(group) < _MAX_GROUP_SIZE and not is_list_page(profile.title):
                group.append(base_title(profile.title))

    def falsify(
        self, text: str, named: str, gold: Sequence[Document], rng: random.Random
    ) -> str | None:
        """Return `text` with one value replaced so that the gold documents refute it, or None.

        The value is a title, nationality, year, number, month, or a word with a known sibling or
        opposite. `text`: a claim that the gold documents support. `named`: the title by which the
        evidence is found, which is not replaced. `gold`: the gold documents; a value that occurs in
        one of them is not used.
        """
        gold_text = _padded(" ".join(part for d in gold for part in (d.title, *d.sentences)))
        # The name may begin the claim with a capital letter.
        name = re.escape(base_title(named))
        protected = [match.span() for match in re.finditer(name, text, re.IGNORECASE)]
        types: list[Callable[[str, random.Random], Iterator[Replacement]]] = [
            self._other_titles,
            *(partial(_other_values, pattern, draw) for pattern, draw in _VALUES),
        ]
        rng.shuffle(types)
        for replacements in types:
            candidates = [
                (start, end, value)
                for start, end, value in replacements(text, rng)
                if all(end <= first or last <= start for first, last in protected)
                and _padded(value) not in gold_text
            ]
            if candidates:
                return _replaced(text, *rng.choice(candidates))
        return None

    def _other_titles(self, text: str, rng: random.Random) -> Iterator[Replacement]:
        for mention in find_mentions(self._corpus.kb, text):
            profile = self._corpus.profile(mention.titles[0])
            group = self._groups.get(profile.noun, ()) if profile and profile.noun else ()
            if len(group) > 1 and _is_separate_name(text, mention.start, mention.end):
                yield mention.start, mention.end, rng.choice(group)


def _padded(text: str) -> str:
    words = re.findall(r"\w+", text.casefold())
    return f" {' '.join(words)} "


def _is_separate_name(text: str, start: int, end: int) -> bool:
    before = text[:start].rsplit(" ", 2)[-2:-1]
    previous = before[0] if before else ""
    return (
        previous.islower()
        and previous not in ("the", "a", "an")
        and _FOLLOWING.match(text, end) is not None
    )


def _other_values(
    pattern: re.Pattern[str],
    draw: Callable[[str, random.Random], str],
    text: str,
    rng: random.Random,
) -> Iterator[Replacement]:
    for match in pattern.finditer(text):
        if pattern is not _NUMBER or not _MONTH_BEFORE.search(text[: match.start()]):
            yield *match.span(), draw(match.group(), rng)


def _replaced(text: str, start: int, end: int, value: str) -> str:
    before = text[:start]
    article = _ARTICLE.search(before)
    if article is not None:
        agreeing = "an" if value[:1].lower() in "aeiou" else "a"
        agreeing = agreeing.capitalize() if article.group()[0] == "A" else agreeing
        before = f"{before[: article.start()]}{agreeing} "
    if not before:
        value = value[:1].upper() + value[1:]
    return before + value + text[end:]
