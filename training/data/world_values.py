"""Numbers and times in words: how evidence words them, and what claims may say of them.

What the evidence says of a value is a range of numbers, and so is what a claim says of it.
Their relation is the label: a claim whose range contains that of the evidence is entailed, one that
shares nothing with it is contradicted, and any other is open.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proofs.logic.words import MONTHS

TRUE, OPEN, FALSE = "entailment", "neutral", "contradiction"
_SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_SIZES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
#: Units that are measured, not counted: less of them, not fewer.
MEASURED = frozenset(("metres", "kilometres", "centimetres", "minutes", "days", "weeks"))
_INF = math.inf
_NOW = 2024
_LAST = 2020  # year that a claim may name
_LONG_AGO = {"a century": 100, "fifty years": 50, "two centuries": 200}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words for a value, and what the evidence does to a claim that contains them."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Range:
    """Words for a range of numbers, from `low` to `high`, both included.

    Some words are vague, or depend on the present. `doubt` is how far below and above the range
    readers may still think that they hold.
    """

    text: str
    low: float
    high: float
    doubt: tuple[float, float] = (0, 0)

    def label(self, low: float, high: float) -> str | None:
        """Return the label of a claim of this range on evidence of a range; None if in doubt."""
        if self.low <= low and high <= self.high:
            return TRUE
        first, last = self.low - self.doubt[0], self.high + self.doubt[1]
        if high < first or last < low:
            return FALSE
        meets = low <= self.high and self.low <= high
        return OPEN if meets and (low < first or last < high) else None


def number_words(number: int) -> str:
    """Return a whole number below 100 in words."""
    if number <= 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")


def spelt(number: int) -> str:
    """Return a whole number in words."""
    for size, name in _SIZES:
        if number >= size:
            head, rest = divmod(number, size)
            tail = f"{' and ' if rest < 100 else ' '}{spelt(rest)}" if rest else ""
            return f"{spelt(head)} {name}{tail}"
    return number_words(number)


def ordinal(number: int) -> str:
    """Return an ordinal below 100 in words."""
    head, dash, last = number_words(number).rpartition("-")
    regular = f"{last.removesuffix('y')}ieth" if last.endswith("y") else f"{last}th"
    return head + dash + _ORDINALS.get(last, regular)


def ordinal_digits(number: int) -> str:
    """Return an ordinal in digits, such as 21st."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def roman(number: int) -> str:
    """Return a number below 40 in Roman numerals."""
    text = ""
    for size, sign in _ROMAN:
        text += sign * (number // size)
        number %= size
    return text


def article(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def number_phrase(number: int, unit: str, rng: random.Random) -> str:
    """Return a number with its unit, in digits or words."""
    if number < 100 and rng.random() < (0.7 if number <= 12 else 0.25):
        return f"{number_words(number)} {unit}"
    if number >= 1_000_000 and number % 100_000 == 0:
        return f"{number / 1_000_000:g} million {unit}"
    return f"{number:,} {unit}" if number < 1000 or rng.random() < 0.8 else f"{number} {unit}"


def time_phrase(year: int, rng: random.Random) -> str:
    """Return a time with its preposition: a year, a month or a day."""
    roll = rng.random()
    if roll < 0.7:
        return f"in {year}"
    # The month and the day of a year are always the same, so that evidence is consistent.
    month, day = MONTHS[(year * 7) % 12], (year * 11) % 28 + 1
    return f"in {month} {year}" if roll < 0.85 else f"on {day} {month} {year}"


def time_claims(year: int, others: Sequence[int], rng: random.Random, count: int) -> list[Phrase]:
    """Return times for claims on something of a year, true and false in turn."""
    labels = [TRUE if at % 2 == 0 else FALSE for at in range(count)]
    return [_time_claim(year, year, others, label, rng) for label in labels]


def vague_time(year: int, rng: random.Random) -> tuple[str, list[Phrase]]:
    """Return a time that is less exact than a year, and two claims on it, of different labels."""
    decade = year // 10 * 10
    given = [Range(f"before {year}", -_INF, year - 1), Range(f"after {year}", year + 1, _INF)]
    if decade % 100:  # "the 1900s" may be a century
        given += [Range(f"in the {decade}s", decade, decade + 9)] * 2
    words = rng.choice(given)
    labels = rng.sample((TRUE, OPEN, FALSE), 2)
    return words.text, [_time_claim(words.low, words.high, [year], label, rng) for label in labels]


def _time_claim(
    low: float, high: float, others: Sequence[int], label: str, rng: random.Random
) -> Phrase:
    """Return a claim of a label on a time of which the evidence gives a range."""
    middle = round(low if high == _INF else high if low == -_INF else (low + high) / 2)
    steps = [rng.choice((-1, 1)) * rng.randint(1, 30) for _ in range(4)]
    steps += rng.sample((-200, -100, -60, -40, -12, -1, 1, 12, 40), 3)
    anchors = [middle, *others, *(min(middle + step, _LAST) for step in steps)]
    ranges = (each for anchor in anchors for each in _time_ranges(anchor, rng))
    past = [each for each in ranges if each[1].high == _INF or each[1].high <= _NOW]
    return _drawn(past, low, high, label, rng)


def _drawn(
    ranges: Iterable[tuple[str, Range]], low: float, high: float, label: str, rng: random.Random
) -> Phrase:
    """Return one of some ranges that have a label, of any form with the same probability."""
    forms: defaultdict[str, list[Range]] = defaultdict(list)
    for name, each in ranges:
        if each.label(low, high) == label:
            forms[name].append(each)
    name = "exact" if "exact" in forms and rng.random() < 0.25 else rng.choice(list(forms))
    return Phrase(rng.choice(forms[name]).text, label)


def _time_ranges(year: int, rng: random.Random) -> list[tuple[str, Range]]:
    """Return times that begin, end or lie at a year, by form."""
    decade, span = year // 10 * 10, rng.randint(3, 30)
    number = (year - 1) // 100 + 1
    is_spelt = rng.random() < 0.6 and number > 11
    century = ordinal(number) if is_spelt else ordinal_digits(number)
    # Whether 1900 belongs to a century, or 1950 lies between 1950 and 1960, is disputed.
    edges = (1, 1)
    ranges = [
        ("exact", Range(f"in {year}", year, year)),
        ("before", Range(f"before {year}", -_INF, year - 1)),
        ("after", Range(f"after {year}", year + 1, _INF)),
        ("until", Range(f"no later than {year}", -_INF, year)),
        ("between", Range(f"between {year - span} and {year}", year - span + 1, year - 1, edges)),
        ("between", Range(f"between {year} and {year + span}", year + 1, year + span - 1, edges)),
        ("war", Range("after the Second World War", 1946, _INF, (7, 0))),
        ("war", Range("before the Second World War", -_INF, 1938, (0, 7))),
        (
            "century",
            Range(f"in the {century} century", 100 * number - 98, 100 * number - 1, (2, 1)),
        ),
    ]
    if decade % 100:
        ranges.append(("decade", Range(f"in the {decade}s", decade, decade + 9)))
        ranges.append(("before", Range(f"before the {decade}s", -_INF, decade - 1)))
    for length, years in _LONG_AGO.items():
        ranges.append(("ago", Range(f"more than {length} ago", -_INF, _NOW - years - 9, (0, 40))))
        ranges.append(("ago", Range(f"less than {length} ago", _NOW - years + 31, _INF, (40, 0))))
    return ranges


def number_claims(
    number: int, unit: str, others: Sequence[int], rng: random.Random, count: int
) -> list[Phrase]:
    """Return quantities for claims on a number, true and false in turn (see `time_claims`)."""
    labels = [TRUE if at % 2 == 0 else FALSE for at in range(count)]
    return [_number_claim(number, number, unit, others, label, rng) for label in labels]


def vague_number(number: int, unit: str, rng: random.Random) -> tuple[str, list[Phrase]]:
    """Return a bound of a number, and two claims on it, of different labels."""
    ranges = [given for _, given in _number_ranges(max(number, 4), unit, rng)]
    words = rng.choice([given for given in ranges if _INF in (given.high, -given.low)])
    labels = rng.sample((TRUE, OPEN, FALSE), 2)
    return words.text, [
        _number_claim(words.low, words.high, unit, [], label, rng) for label in labels
    ]


def _number_claim(
    low: float, high: float, unit: str, others: Sequence[int], label: str, rng: random.Random
) -> Phrase:
    """Return a claim of a label on a number of which the evidence gives a range."""
    middle = math.ceil(low) if high == _INF else math.floor(high)
    anchors = [middle, middle - 1, *others, _changed(middle, rng), middle + rng.randint(1, 9)]
    anchors += [max(round(middle * rng.uniform(0.3, 2.5)), 2) for _ in range(4)]
    ranges = [each for anchor in anchors for each in _number_ranges(anchor, unit, rng)]
    return _drawn(ranges, low, high, label, rng)


def _number_ranges(number: int, unit: str, rng: random.Random) -> list[tuple[str, Range]]:
    """Return quantities at a number of at least 2, by form."""
    if number < 2:  # the unit is a plural
        return []
    shown, is_measured = f"{number:,} {unit}", unit.split(" ")[-1] in MEASURED
    # More than 5 metres may be less than 6, but more than 5 rooms are at least 6.
    less, step = ("less", 0.5) if is_measured else ("fewer", 1)
    above, up_to = rng.choice(("more than", "over")), rng.choice(("at most", "no more than"))
    high = number + max(round(number * rng.uniform(0.1, 0.6)), 2)
    ranges = [
        ("exact", Range(shown, number, number)),
        ("exact", Range(f"{number} {unit}", number, number)),
        ("exactly", Range(f"exactly {shown}", number, number)),
        ("above", Range(f"{above} {shown}", number + step, _INF)),
        ("least", Range(f"at least {shown}", number, _INF)),
        ("below", Range(f"{less} than {shown}", -_INF, number - step)),
        ("most", Range(f"{up_to} {shown}", -_INF, number)),
        ("between", Range(f"between {number:,} and {high:,} {unit}", number + 1, high - 1, (1, 1))),
    ]
    if number < 100:
        ranges.append(("exact", Range(f"{number_words(number)} {unit}", number, number)))
    if number >= 1_000_000 and number % 100_000 == 0:
        ranges.append(("exact", Range(f"{number / 1_000_000:g} million {unit}", number, number)))
    if number >= 1000:
        near = round(number, 2 - len(str(number)))
        margin = near * 0.1
        text = f"about {near:,} {unit}"
        ranges.append(("about", Range(text, near * 0.95, near * 1.05, (margin, margin))))
    return ranges


def _changed(number: int, rng: random.Random) -> int:
    """Return another number: two digits exchanged, or one near by."""
    digits = list(str(number))
    if len(digits) > 1 and rng.random() < 0.4:
        at = rng.randrange(len(digits) - 1)
        digits[at], digits[at + 1] = digits[at + 1], digits[at]
        changed = int("".join(digits))
        if changed != number and digits[0] != "0":
            return changed
    return number + max(1, round(number * rng.choice((0.1, 0.3, 0.8, 2))))
