"""Values that words state exactly: numbers, quantities, dates and ranks, each as an interval."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from proofs.lexicons.values import (
    DECADE,
    MONTHS,
    ORDINAL,
    ORDINALS,
    SCALES,
    SMALL,
    TENS,
    YEAR,
    Amounts,
    Bound,
)
from proofs.logic.words import word_list

_INFINITY = math.inf


_SCALES = SCALES | {"trillion": 10**12}
_DIGITS = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_DASHES = word_list("- – —")

_CURRENCIES = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen", "₹": "rupee"}
_CURRENCY_WORDS = {name: name for name in ("dollar", "euro", "yen", "rupee", "franc", "peso")} | {
    name + "s": name for name in ("dollar", "euro", "rupee", "franc", "peso")
}
_PERCENT = word_list("% percent pct")
# Words that are units wherever they follow a number. Short ones that are also words or names ("in",
# "a", "c") are left out.
_UNITS = word_list(
    """
    mm cm m km millimetre millimetres millimeter millimeters centimetre centimetres centimeter
    centimeters metre metres meter meters kilometre kilometres kilometer kilometers inch inches
    foot feet ft yard yards mile miles mi nautical_mile
    mg g kg milligram milligrams gram grams gramme grammes kilogram kilograms tonne tonnes
    ounce ounces lb lbs
    second seconds minute minutes hour hours day days week weeks month months year years decade
    decades century centuries millennium millennia
    hectare hectares acre acres litre litres liter liters millilitre millilitres milliliter
    milliliters watt watts kilowatt kilowatts megawatt megawatts kw mw volt volts
    hertz khz mhz ghz kb mb gb tb knot knots mph
    """
)
# What pint calls the units that it does not know by the name in the text.
_PINT_NAMES = {
    "gramme": "gram",
    "grammes": "gram",
    "lbs": "lb",
    "decade": "10 year",  # pint's decade is a ratio of frequencies
    "decades": "10 year",
    "kw": "kW",
    "mw": "MW",
    "khz": "kHz",
    "mhz": "MHz",
    "ghz": "GHz",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
}
# Conversions to the next round number are not taken for statements of different lengths.
_SAME_AFTER_CONVERSION, _DIFFERENT_AFTER_CONVERSION = 0.01, 0.1

_MORE, _AT_LEAST, _FEWER, _AT_MOST, _EXACTLY, _VAGUE = range(6)
_MODIFIERS = {
    tuple(phrase.split()): kind
    for kind, phrases in {
        _MORE: "more than/greater than/higher than/longer than/over/above/exceeding/in excess of/"
        "exceeds/exceeded/later than/after",
        _AT_LEAST: "at least/no fewer than/no less than/not less than/a minimum of",
        _FEWER: "less than/fewer than/lower than/shorter than/under/below/earlier than/before/"
        "prior to",
        _AT_MOST: "at most/up to/no more than/not more than/no later than/a maximum of",
        _EXACTLY: "exactly/precisely/only/a total of",
        _VAGUE: "about/around/approximately/nearly/almost/roughly/circa/c/ca/some/estimated/"
        "close to/virtually/an estimated/just over/just under/well over/another/every/per/"
        "early/late/mid/a further/an additional/additional/first/last/next/other/least/"
        "most/extra/top/these/those/each/~/≈",
    }.items()
    for phrase in phrases.split("/")
}
_LONGEST_MODIFIER = max(map(len, _MODIFIERS))
_SUFFIXES = {
    ("or", "more"): _AT_LEAST,
    ("or", "fewer"): _AT_MOST,
    ("or", "less"): _AT_MOST,
    ("or", "so"): _VAGUE,
    ("+",): _AT_LEAST,
}
#: What dates have as a unit that are the first and the last of something.
SPAN = "span"
_DAYS_OF_YEAR, _DAYS_OF_MONTH = 372, 31  # twelve months of 31 days: enough to order dates


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a text."""

    # What values are comparable: ``number``, ``date``, ``day`` (of a month), ``rank``, ``currency``
    # or ``%``, or else the dimension of the unit.
    kind: str
    sure: Amounts | None  # amounts of which the value speaks in any reading, or None if it is vague
    possible: Amounts  # amounts of which it may speak
    start: int  # the tokens ``[start, end)`` that state it
    end: int
    unit: str = ""  # the unit, or else an empty text
    round_to: float = 0.0  # the place of the last digit that is not zero (2.1 million: 100,000)
    bounded: bool = False  # whether it is a range or a bound rather than one amount

    @property
    def point(self) -> float:
        """The lower end."""
        return self.possible.low[0]


def decide(claimed: Value, stated: Value) -> str | None:
    """Return what a stated value does to a claimed one: a label, or None if it does not decide.

    The same amount in the same unit, or one inside the claimed range, entails the claim. Amounts
    that cannot be equal contradict it, unless one may be the other after rounding.
    """
    if claimed.kind != stated.kind:
        return None
    if claimed.sure is None or stated.sure is None:
        return None
    if claimed.unit != stated.unit and not claimed.bounded and not stated.bounded:
        largest = max(abs(claimed.point), abs(stated.point))
        difference = abs(claimed.point - stated.point) / largest if largest else 0.0
        if difference <= _SAME_AFTER_CONVERSION:
            return "entailment"
        return "contradiction" if difference > _DIFFERENT_AFTER_CONVERSION else None
    if claimed.unit == SPAN and claimed.possible != stated.possible:
        # A reign from 1900 to 1912 is not one that lies somewhere between these years.
        return None if _meet(claimed.possible, stated.possible) else "contradiction"
    if claimed.possible == stated.sure or _contains(claimed.sure, stated.possible):
        return "entailment"
    if _meet(claimed.possible, stated.possible) or _is_rounded(claimed, stated):
        return None
    return "contradiction"


def find_values(words: Sequence[str], tokens: Sequence[str]) -> list[Value]:
    """Return the values of a text in order, given its tokens in lower case and as written."""
    values: list[Value] = []
    at = 0
    while at < len(words):
        found = _read(words, tokens, at) if _may_begin(words[at]) else None
        if found is None:
            at += 1
            continue
        values.append(_modified(found, words, values[-1].end if values else 0))
        at = values[-1].end
    return values


def number_in_words(words: Sequence[str], at: int = 0) -> tuple[float, int] | None:
    """Return the number that begins at a word and where it ends, or None.

    Digits, separators and words mix: "5,126", "two million", "3.5 billion", "a hundred and two".
    """
    total, part, end, resting = 0.0, 0.0, at, math.inf
    if words[at] in ("a", "an") and at + 1 < len(words) and words[at + 1] in _SCALES:
        part, end = 1.0, at + 1
    elif _DIGITS.fullmatch(words[at]):
        part, end = float(words[at].replace(",", "")), at + 1
    small_open, seen_digits = not end > at, end > at
    while end < len(words):
        word = words[end]
        if word in _SCALES and (part or total):
            scale = _SCALES[word]
            if scale == 100 and 0 < part < 100 and not (seen_digits and part >= 10):
                part *= 100
            elif 100 < scale < resting and part:
                total, part, resting = total + part * scale, 0.0, scale
            else:
                break
            small_open = True
        elif word in TENS and small_open and part % 100 == 0:
            part += TENS[word]
        elif word in SMALL and small_open and _fits(part, SMALL[word]):
            part += SMALL[word]
            small_open = False
        elif word == "and" and end > at and words[end - 1] in _SCALES:
            following = words[end + 1] if end + 1 < len(words) else ""
            if following not in SMALL and following not in TENS:
                break
        elif word == "-" and end > at and words[end - 1] in TENS:
            following = words[end + 1] if end + 1 < len(words) else ""
            if not 0 < SMALL.get(following, 0) < 10:
                break
        else:
            break
        end += 1
    return (total + part, end) if end > at else None


def span_in_years(dates: Value) -> Value | None:
    """Return the duration of a range of dates, or None if it is not closed.

    What begins and ends in known years lasts the difference, up to a year more or less; the same
    holds of months, where at least one of them is known.
    """
    low, high = dates.possible.low[0], dates.possible.high[0]
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    kind, size = _unit("years")
    difference = high // _DAYS_OF_YEAR - low // _DAYS_OF_YEAR
    if low % _DAYS_OF_YEAR or high % _DAYS_OF_YEAR != _DAYS_OF_YEAR - 1:
        size /= 12
        difference = high // _DAYS_OF_MONTH - low // _DAYS_OF_MONTH
    possible = Amounts(((difference - 1) * size, 0), ((difference + 1) * size, 0))
    span = (difference * size, 0)
    return Value(kind, Amounts(span, span), possible, dates.start, dates.end, "years", bounded=True)


@cache
def _unit(name: str) -> tuple[str, float]:
    quantity = _registry()(_PINT_NAMES.get(name, name)).to_base_units()
    return str(quantity.dimensionality), float(quantity.magnitude)


@cache
def _registry() -> Any:
    # Reading pint's table of units takes a while, and many claims have no unit.
    import pint

    return pint.UnitRegistry()


def _fits(part: float, amount: int) -> bool:
    if part % 100 == 0:
        return True
    return 0 < amount < 10 and part % 10 == 0 and part % 100 >= 20


def _contains(outer: Amounts, inner: Amounts) -> bool:
    return _close(outer.low, inner.low) <= 0 <= _close(outer.high, inner.high)


def _meet(first: Amounts, second: Amounts) -> bool:
    return _close(first.low, second.high) <= 0 <= _close(first.high, second.low)


def _close(first: Bound, second: Bound) -> int:
    """Return the sign of the difference of two bounds; sums of floats may differ in the last digit.

    For equal amounts the sides decide.
    """
    if math.isclose(first[0], second[0], rel_tol=1e-9):
        return (first[1] > second[1]) - (first[1] < second[1])
    return (first > second) - (first < second)


def _is_rounded(claimed: Value, stated: Value) -> bool:
    if claimed.bounded or stated.bounded or claimed.kind in ("date", "day", "rank"):
        return False
    coarser = max(claimed.round_to, stated.round_to)
    # "5" and "6" are different counts, "5 million" and "5.3 million" may be the same.
    return coarser > 1 and abs(claimed.point - stated.point) < coarser


def _may_begin(word: str) -> bool:
    return (
        word[0].isdigit()
        or word in SMALL
        or word in TENS
        or word in ORDINALS
        or word in MONTHS
        or word in _CURRENCIES
        or word in ("a", "an", "half", "between", "from")
    )


def _read(words: Sequence[str], tokens: Sequence[str], at: int) -> Value | None:
    if words[at] in ("between", "from"):
        return _read_range(words, tokens, at)
    return (
        _read_date(words, tokens, at)
        or _read_era(words, at)
        or _read_rank(words, at)
        or _read_amount(words, tokens, at)
    )


def _read_range(words: Sequence[str], tokens: Sequence[str], at: int) -> Value | None:
    """Return the range of "between 3 and 5" or "from 1900 to 1912", or None."""
    if (
        at + 1 == len(words)
        or not _may_begin(words[at + 1])
        or words[at + 1] in ("between", "from")
    ):
        return None
    low = _read(words, tokens, at + 1) or _read_month_of_range(words, tokens, at + 1)
    joint = ("and",) if words[at] == "between" else ("to", "until", "till", "through", *_DASHES)
    if low is None or low.end + 1 >= len(words) or words[low.end] not in joint:
        return None
    if not _may_begin(words[low.end + 1]):
        return None
    high = _read(words, tokens, low.end + 1)
    if high is None:
        return None
    if low.kind == "number" and high.unit:  # "between 3 and 5 km"
        scale = high.point / _bare(words, low.end + 1) if high.point else 0.0
        low = _amount(low.point * scale, at, low.end, kind=high.kind, unit=high.unit)
    if low.kind != high.kind or low.point > high.point:
        return None
    amounts = Amounts(low.possible.low, high.possible.high)
    if words[at] == "from":
        if low.kind != "date":
            return None
        return Value("date", amounts, amounts, at, high.end, SPAN, bounded=True)
    return Value(low.kind, amounts, amounts, at, high.end, high.unit, bounded=True)


def _read_month_of_range(words: Sequence[str], tokens: Sequence[str], at: int) -> Value | None:
    """Return the first month of "March to November 1926", of the year of the second, or None."""
    if not _is_month(words, tokens, at) or at + 2 >= len(words):
        return None
    last = _read_date(words, tokens, at + 2)
    if last is None or last.kind != "date":
        return None
    year = last.point // _DAYS_OF_YEAR
    first = year * _DAYS_OF_YEAR + (MONTHS[words[at]] - 1) * _DAYS_OF_MONTH
    return _between(first, first + _DAYS_OF_MONTH - 1, at, at + 1)


def _bare(words: Sequence[str], at: int) -> float:
    number = number_in_words(words, at)
    return number[0] if number else 1.0


def _read_date(words: Sequence[str], tokens: Sequence[str], at: int) -> Value | None:
    """Return the date of "12 May 1932", "May 12, 1932", "May 1932" or "1932", or None."""
    day = month = year = None
    end = at
    if _is_day(words[at]) and _is_month(words, tokens, at + 1 + _of(words, at + 1)):
        end = at + 1 + _of(words, at + 1)
        day, month, end = _day(words[at]), MONTHS[words[end]], end + 1
    elif _is_month(words, tokens, at):
        month, end = MONTHS[words[at]], at + 1
        if end < len(words) and _is_day(words[end]):
            day, end = _day(words[end]), end + 1
    if month is not None:
        following = end + (end < len(words) and words[end] == ",")
        if following < len(words) and YEAR.fullmatch(words[following]):
            year, end = int(words[following]), following + 1
    elif _is_year(words, tokens, at):
        year, end = int(words[at]), at + 1
    if year is None and (month is None or day is None):
        return None
    if year is None:
        assert month is not None
        assert day is not None
        return _amount(month * _DAYS_OF_MONTH + day, at, end, kind="day")
    first = year * _DAYS_OF_YEAR
    last = first + _DAYS_OF_YEAR - 1
    if month is not None:
        first += (month - 1) * _DAYS_OF_MONTH
        last = first + _DAYS_OF_MONTH - 1
        if day is not None:
            first = last = first + day - 1
    return _between(first, last, at, end)


def _of(words: Sequence[str], at: int) -> int:
    return int(at < len(words) and words[at] == "of")


def _is_day(word: str) -> bool:
    return word.rstrip("stndrh").isdigit() and len(word) <= 4 and 1 <= _day(word) <= 31


def _day(word: str) -> int:
    return int(word.rstrip("stndrh"))


def _is_month(words: Sequence[str], tokens: Sequence[str], at: int) -> bool:
    # "may" and "march" are verbs in lower case.
    return at < len(words) and words[at] in MONTHS and tokens[at][0].isupper()


def _is_year(words: Sequence[str], tokens: Sequence[str], at: int) -> bool:
    """Return whether a number of four digits is a year rather than a count ("1932 people")."""
    if not YEAR.fullmatch(words[at]):
        return False
    before = words[at - 1] if at else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    if before in _CURRENCIES or following in _UNITS or following in _PERCENT:
        return following in _UNITS and before in ("in", "since", "until")
    if following in _SCALES:
        return False
    if before in _BEFORE_YEARS or before in MONTHS or not following[:1].isalpha():
        return True
    return tokens[at + 1][0].isupper() or not (following.endswith("s") or following == "people")


_BEFORE_YEARS = word_list("in since until till by during before after from the circa of year")


def _read_era(words: Sequence[str], at: int) -> Value | None:
    """Return the years of "1930s" or "19th century", or None."""
    if DECADE.fullmatch(words[at]):
        year = int(words[at][:-1])
        if year % 100:
            return _between(year * _DAYS_OF_YEAR, (year + 10) * _DAYS_OF_YEAR - 1, at, at + 1)
        # "The 1900s" may be a decade or a century.
        value = _between(year * _DAYS_OF_YEAR, (year + 100) * _DAYS_OF_YEAR - 1, at, at + 1)
        return replace(value, sure=None)
    rank = _rank(words, at)
    if rank is None:
        return None
    number, end = rank
    end += end < len(words) and words[end] == "-"
    if end == len(words) or words[end] != "century" or not 10 < number < 22:
        return None
    # Whether 1800 and 1900 belong to the nineteenth century is disputed.
    inner = _between((100 * number - 99) * _DAYS_OF_YEAR, 100 * number * _DAYS_OF_YEAR - 1, at, end)
    first, last = (100 * number - 100) * _DAYS_OF_YEAR, (100 * number + 1) * _DAYS_OF_YEAR - 1
    return replace(inner, possible=Amounts((first, 0), (last, 0)), end=end + 1)


def _rank(words: Sequence[str], at: int) -> tuple[int, int] | None:
    if words[at] in ORDINALS:
        return ORDINALS[words[at]], at + 1
    if match := ORDINAL.fullmatch(words[at]):
        return int(match[1]), at + 1
    if words[at] in TENS:
        following = at + 1 + (at + 1 < len(words) and words[at + 1] == "-")
        unit = ORDINALS.get(words[following]) if following < len(words) else None
        if unit is not None and unit < 10:
            return TENS[words[at]] + unit, following + 1
    return None


def _read_rank(words: Sequence[str], at: int) -> Value | None:
    rank = _rank(words, at)
    if rank is None or (rank[0] == 2 and rank[1] < len(words) and words[rank[1]] == "world"):
        return None
    return _amount(rank[0], at, rank[1], kind="rank")


def _read_amount(words: Sequence[str], tokens: Sequence[str], at: int) -> Value | None:
    if words[at] == "half":
        return _read_half(words, at)
    begin, kind, unit = at, "number", ""
    if words[at] in _CURRENCIES:
        kind = unit = _CURRENCIES[words[at]]
        begin = at + 1
    number = number_in_words(words, begin) if begin < len(words) else None
    if number is None:
        return None
    amount, end = number
    if words[begin] == "one" and end == begin + 1 and (end == len(words) or words[end] == "of"):
        return None  # "one of the" and the pronoun
    scaled = 1.0
    following = end + (end < len(words) and words[end] == "-")
    if kind != "number":
        pass
    elif following < len(words) and words[following] in _UNITS:
        if words[following] in ("m", "g") and tokens[following].isupper():
            return None  # "5 M" are millions or an initial
        kind, scaled = _unit(words[following])
        unit, end = words[following], following + 1
        if words[end : end + 1] == ["old"] and kind == "[time]":
            end += 1
    elif end < len(words) and words[end] in _PERCENT:
        kind, unit, end = "%", "%", end + 1
    elif words[end : end + 2] == ["per", "cent"]:
        kind, unit, end = "%", "%", end + 2
    elif end < len(words) and words[end] in _CURRENCY_WORDS:
        kind = unit = _CURRENCY_WORDS[words[end]]
        end += 1
    value = _amount(amount * scaled, at, end, kind=kind, unit=unit)
    following_is_amount = end < len(words) and (words[end][0].isdigit() or words[end] in SMALL)
    if unit and kind.startswith("[") and following_is_amount:
        return replace(value, sure=None)  # "6 feet 2 inches"
    return value


def _read_half(words: Sequence[str], at: int) -> Value | None:
    """Return the quantity of "half a year", or None."""
    if words[at + 1 : at + 2] not in (["a"], ["an"]) or words[at + 2 : at + 3] == []:
        return None
    unit = words[at + 2]
    if unit not in _UNITS:
        return None
    kind, size = _unit(unit)
    return _amount(size / 2, at, at + 3, kind=kind, unit=unit)


def _amount(amount: float, start: int, end: int, *, kind: str, unit: str = "") -> Value:
    amounts = Amounts((amount, 0), (amount, 0))
    return Value(kind, amounts, amounts, start, end, unit, _last_place(amount))


def _last_place(amount: float) -> float:
    if not amount or not math.isfinite(amount) or amount != int(amount):
        return 0.0
    place, whole = 1, int(amount)
    while whole % 10 == 0:
        place, whole = place * 10, whole // 10
    return float(place)


def _between(first: float, last: float, start: int, end: int) -> Value:
    amounts = Amounts((first, 0), (last, 0))
    return Value("date", amounts, amounts, start, end)


def _modified(value: Value, words: Sequence[str], begin: int) -> Value:
    """Return a value with the words beside it that make it a bound, a range or vague."""
    if value.bounded:
        return value
    for length in range(min(_LONGEST_MODIFIER, value.start - begin), 0, -1):
        start = value.start - length
        kind = _MODIFIERS.get(tuple(words[start : value.start]))
        if kind is not None:
            return _bounded(value, kind, start=start)
    for suffix, kind in _SUFFIXES.items():
        if tuple(words[value.end : value.end + len(suffix)]) == suffix:
            return _bounded(value, kind, end=value.end + len(suffix))
    return value


def _bounded(value: Value, kind: int, *, start: int | None = None, end: int | None = None) -> Value:
    low, high = value.possible.low, value.possible.high
    everything: Mapping[int, Amounts] = {
        _MORE: Amounts((high[0], 1), (_INFINITY, 0)),
        _AT_LEAST: Amounts(low, (_INFINITY, 0)),
        _FEWER: Amounts((-_INFINITY, 0), (low[0], -1)),
        _AT_MOST: Amounts((-_INFINITY, 0), high),
        _EXACTLY: value.possible,
        _VAGUE: value.possible,
    }
    amounts = everything[kind]
    value = replace(
        value,
        start=value.start if start is None else start,
        end=value.end if end is None else end,
    )
    if kind == _EXACTLY:
        return value
    if kind == _VAGUE or value.kind == "rank" or value.sure is None:
        return replace(value, sure=None)
    return replace(value, sure=amounts, possible=amounts, bounded=True)
