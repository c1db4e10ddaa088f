"""Numbers and times in words: how evidence words them, and what claims may say of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TRUE, OPEN, FALSE = "entailment", "neutral", "contradiction"
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {
    12: "twelfth", 13: "thirteenth", 14: "fourteenth", 15: "fifteenth", 16: "sixteenth",
    17: "seventeenth", 18: "eighteenth", 19: "nineteenth", 20: "twentieth", 21: "twenty-first",
}  # fmt: skip
_MONTHS = "January February March April May June July August September October November December".split()


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words for a value, and what the evidence does to a claim that contains them."""

    text: str
    label: str


def number_words(number: int) -> str:
    """Return a whole number below 100 in words."""
    if number <= 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")


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
    month = _month_of(year)
    if roll < 0.85:
        return f"in {month} {year}"
    return f"on {_day_of(year)} {month} {year}"


def _month_of(year: int) -> str:
    return _MONTHS[(year * 7) % 12]


def _day_of(year: int) -> int:
    return (year * 11) % 28 + 1


def century_words(year: int, rng: random.Random) -> str:
    """Return the century of a year, as a time."""
    number = (year - 1) // 100 + 1
    if number in _ORDINALS and rng.random() < 0.6:
        return f"in the {_ORDINALS[number]} century"
    ending = "st" if number == 21 else "th"
    return f"in the {number}{ending} century"


def time_claims(year: int, others: Sequence[int], rng: random.Random, count: int) -> list[Phrase]:
    """Return times for claims on something of a year, true and false in turn.

    Parameters
    ----------
    year
        The year of the evidence.
    others
        Other years that the evidence names.
    rng
        Generator of the choices.
    count
        Number of phrases.
    """
    decade = year // 10 * 10
    wrong = rng.choice(others) if others and rng.random() < 0.6 else year + rng.choice((-40, -12, -3, -1, 1, 2, 7, 25))
    wrong = wrong if wrong != year else year + 9
    step = rng.randint(2, 30)
    true = [
        f"in {year}", f"in {year}", f"in the {decade}s", century_words(year, rng), f"before {year + step}",
        f"after {year - step}", f"between {year - step} and {year + rng.randint(2, 30)}",
        f"no later than {year + step // 2}", f"more than {_ago(year)} ago",
    ]  # fmt: skip
    if decade + 10 <= 2020:
        true.append(f"before the {decade + 10}s")
    if year >= 1946:
        true.append("after the Second World War")
    if year <= 1938:
        true.append("before the Second World War")
    false = [
        f"in {wrong}", f"in {wrong}", f"in the {decade + rng.choice((-30, -20, -10, 10, 20))}s",
        century_words(year + rng.choice((-200, -100, 100 if year < 1920 else -100)), rng), f"before {year - step}",
        f"after {year + step}", f"between {year + 2} and {year + 2 + step}", f"no later than {year - step}",
    ]  # fmt: skip
    if year >= 1946:
        false.append("before the Second World War")
    if year <= 1938:
        false.append("after the Second World War")
    return [
        Phrase(rng.choice(true), TRUE) if number % 2 == 0 else Phrase(rng.choice(false), FALSE)
        for number in range(count)
    ]


def _ago(year: int) -> str:
    years = 2024 - year
    if years >= 110:
        return "a century"
    return f"{max(years // 10 * 10 - 5, 2)} years"


def vague_time(year: int, rng: random.Random) -> tuple[str, list[Phrase]]:
    """Return a time that is less exact than a year, and times for claims on it."""
    decade = year // 10 * 10
    if rng.random() < 0.5:
        words = f"in the {decade}s"
        phrases = [
            Phrase(rng.choice((century_words(decade + 5, rng), f"before {decade + 10}", f"after {decade - 1}")), TRUE),
            Phrase(rng.choice((f"in {decade - rng.randint(1, 30)}", f"in {decade + rng.randint(10, 40)}", f"after {decade + 10}")), FALSE),
            Phrase(f"in {year}", OPEN),
        ]  # fmt: skip
    else:
        after = rng.random() < 0.5
        words = f"{'after' if after else 'before'} {year}"
        early, late = f"in {year - rng.randint(2, 30)}", f"in {year + rng.randint(2, 30)}"
        further = year - 10 if after else year + 10
        phrases = [
            Phrase(f"{'after' if after else 'before'} {further}", TRUE),
            Phrase(early if after else late, FALSE),
            Phrase(late if after else early, OPEN),
        ]
    return words, rng.sample(phrases, 2)


def number_claims(
    number: int, unit: str, others: Sequence[int], rng: random.Random, count: int
) -> list[Phrase]:
    """Return quantities for claims on a number, true and false in turn (see `time_claims`)."""
    step = max(1, round(number * rng.uniform(0.05, 0.5)))
    low, high = number - step, number + step
    wrong = rng.choice(others) if others and rng.random() < 0.6 else _changed(number, rng)
    wrong = wrong if wrong != number else _changed(number, rng)
    exact = [f"{number:,} {unit}", f"{number} {unit}", f"exactly {number:,} {unit}"]
    if number < 100:
        exact.append(f"{number_words(number)} {unit}")
    if number >= 1_000_000 and number % 100_000 == 0:
        exact.append(f"{number / 1_000_000:g} million {unit}")
    bounds = [(f"more than {low:,} {unit}", low > 0), (f"over {low:,} {unit}", low > 0), (f"at least {number:,} {unit}", True),
              (f"fewer than {high:,} {unit}", True), (f"at most {high:,} {unit}", True),
              (f"between {max(low, 1):,} and {high:,} {unit}", True), (f"not more than {number:,} {unit}", True),
              (f"several {unit}", number > 2)]  # fmt: skip
    if number >= 1000:
        rounded = round(number, -(len(str(number)) - 2))
        bounds.append((f"about {rounded:,} {unit}", True))
    false = [f"{wrong:,} {unit}", f"{wrong} {unit}", f"more than {high:,} {unit}", f"at least {high:,} {unit}",
             f"exactly {high:,} {unit}", f"over {high:,} {unit}", f"between {high:,} and {high + step:,} {unit}"]  # fmt: skip
    if low > 1:
        false += [f"fewer than {low:,} {unit}", f"at most {low:,} {unit}", f"no more than {low:,} {unit}"]
    if wrong < 100:
        false.append(f"{number_words(wrong)} {unit}")
    phrases = []
    for position in range(count):
        if position % 2:
            phrases.append(Phrase(rng.choice(false), FALSE))
        elif rng.random() < 0.5:
            phrases.append(Phrase(rng.choice(exact), TRUE))
        else:
            phrases.append(Phrase(rng.choice([text for text, holds in bounds if holds]), TRUE))
    return phrases


def vague_number(number: int, unit: str, rng: random.Random) -> tuple[str, list[Phrase]]:
    """Return a bound of a number, and quantities for claims on it."""
    above = rng.random() < 0.6
    far = max(number // 2, 1)
    if above:
        words = rng.choice((f"more than {number:,} {unit}", f"over {number:,} {unit}", f"at least {number:,} {unit}"))
        phrases = [
            Phrase(f"more than {far:,} {unit}", TRUE),
            Phrase(rng.choice((f"fewer than {max(far, 2):,} {unit}", f"only {far:,} {unit}")), FALSE),
            Phrase(f"{number * 2:,} {unit}", OPEN),
        ]
    else:
        words = rng.choice((f"fewer than {number:,} {unit}", f"less than {number:,} {unit}", f"at most {number:,} {unit}"))
        phrases = [
            Phrase(f"fewer than {number * 2:,} {unit}", TRUE),
            Phrase(f"more than {number * 2:,} {unit}", FALSE),
            Phrase(f"{far:,} {unit}", OPEN),
        ]
    if far == number:
        phrases.pop(0)
    return words, rng.sample(phrases, 2)


def _changed(number: int, rng: random.Random) -> int:
    """Return another number: two digits exchanged, a digit changed, or one near by."""
    digits = list(str(number))
    if len(digits) > 1 and rng.random() < 0.4:
        at = rng.randrange(len(digits) - 1)
        digits[at], digits[at + 1] = digits[at + 1], digits[at]
        changed = int("".join(digits))
        if changed != number and digits[0] != "0":
            return changed
    return number + max(1, round(number * rng.choice((0.1, 0.3, 0.8, 2))))
