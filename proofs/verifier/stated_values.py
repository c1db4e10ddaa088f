"""Values that a text states, read in their canonical form: each is an interval of amounts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from proofs.lexicons.values import (
    AT_LEAST,
    AT_MOST,
    EXACTLY,
    FEWER,
    MODIFIERS,
    MORE,
    Amounts,
    bounded,
)
from proofs.logic.words import normalise, word_list
from proofs.verifier.canonical import MONEY, canonical

_YEAR, _MONTH = 365.2425, 30.436875  # days; no month has more
_UNITS = {
    unit: (kind, size)
    for kind, units in {
        "length": {"m": 1.0, "ft": 0.3048},
        "mass": {"kg": 1.0, "lb": 0.45359237},
        "speed": {"km/h": 1.0, "mph": 1.609344, "knots": 1.852},
        "time": {"seconds": 1 / 86400, "minutes": 1 / 1440, "days": 1.0}
        | {"months": _MONTH, "years": _YEAR},
        "area": {"m²": 1.0, "km²": 1e6, "ha": 1e4, "acres": 4046.8564, "sq ft": 0.09290304}
        | {"sq mi": 2589988.11},
        "%": {"%": 1.0},
        "percentage points": {"percentage points": 1.0},
        "°C": {"°C": 1.0},
        "°F": {"°F": 1.0},
        "money": dict.fromkeys(MONEY, 1.0),
    }.items()
    for unit, size in units.items()
}
_UNITS |= {unit[:-1]: _UNITS[unit] for unit in list(_UNITS) if len(unit) > 3 and unit[-1] == "s"}
_NAMES = "|".join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))
_TOKEN = re.compile(
    r"(?P<date>(?P<year>[0-9]{4}|-)-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)(?![\w-])"
    r"|(?P<clock>[0-2][0-9]:[0-5][0-9])(?![\w:])"
    r"|(?P<decade>(?:1[0-9]|20)[0-9]0)['’]?s(?!\w)"
    r"|(?P<rank>first|second(?! world)|[0-9]{1,6}(?:th|st|nd|rd))(?!\w)(?P<century>[ -]century)?"
    rf"|(?P<amount>(?:(?<![\w)])-)?[0-9]+(?:\.[0-9]+)?)(?![^\W_])(?:[ -]?(?P<unit>{_NAMES})(?!\w))?"
    r"(?: old\b)?"
    r"|(?:[^\W\d_]\.){2,}|[^\W_](?:[^\W_]|['’](?=[^\W_]))*|\S",
    re.IGNORECASE,
)
_YEAR_LIKE = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_BEFORE_YEARS = word_list("in since until till by during before after from the circa of year")
# Conversions to the next round number are not taken for statements of different lengths.
_SAME_AFTER_CONVERSION, _DIFFERENT_AFTER_CONVERSION = 0.01, 0.1

_JUST_OVER, _JUST_UNDER, _VAGUE = "just over", "just under", "about"
_MODIFIERS = MODIFIERS | {
    tuple(phrase.split()): kind
    for kind, phrases in {
        MORE: "greater than/higher than/longer than/above/exceeding/in excess of/exceeds/exceeded/"
        "later than/after",
        AT_LEAST: "not less than/a minimum of",
        FEWER: "lower than/shorter than/below/earlier than/before/prior to",
        AT_MOST: "not more than/no later than/a maximum of",
        EXACTLY: "precisely/only/a total of",
        _JUST_OVER: "just over/slightly more than/slightly over",
        _JUST_UNDER: "just under/slightly less than/slightly under/nearly/almost",
        _VAGUE: "about/around/approximately/roughly/circa/c/ca/some/estimated/close to/virtually/"
        "an estimated/well over/another/every/per/early/late/mid/a further/an additional/"
        "additional/first/last/next/other/least/most/extra/top/these/those/each/~/≈",
    }.items()
    for phrase in phrases.split("/")
}
_LONGEST_MODIFIER = max(map(len, _MODIFIERS))
_SUFFIXES = (
    (["or", "more"], AT_LEAST),
    (["or", "fewer"], AT_MOST),
    (["or", "less"], AT_MOST),
    (["or", "so"], _VAGUE),
    (["+"], AT_LEAST),
)
_UNTIL = ("to", "until", "till", "through", "-", "–", "—")
_JOINTS = {"between": ("and",), "from": _UNTIL, "since": _UNTIL}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a text."""

    # What values are comparable: ``number``, ``date``, ``day`` (of a month), ``clock``, ``rank`` or
    # else the dimension of the unit.
    kind: str
    sure: Amounts | None  # amounts of which the value speaks in any reading, or None if it is vague
    possible: Amounts  # amounts of which it may speak
    unit: str = ""  # the unit, or else an empty text
    round_to: float = 0.0  # the place of the last digit that is not zero (2.1 million: 100,000)
    bounded: bool = False  # whether it is a range or a bound rather than one amount
    ends: tuple[Value, ...] = ()  # of "from 1900 to 1912": the first and the last
    step: float = 1.0  # days that a date lasts

    @property
    def point(self) -> float:
        """The lower end."""
        return self.possible.low[0]


class Token(NamedTuple):
    """A word, a punctuation mark or a value, and its characters ``[start, end)``."""

    word: str  # normalised; empty for values
    start: int
    end: int
    value: Value | None = None


def decide(claimed: Value, stated: Value) -> str | None:
    """Return what a stated value does to a claimed one: a label, or None if it does not decide.

    The same amount in the same unit, or one inside the claimed range, entails the claim. Amounts
    that cannot be equal contradict it, unless one may be the other after rounding.
    """
    if claimed.kind != stated.kind or claimed.sure is None:
        return None
    if claimed.unit != stated.unit and not claimed.bounded and not stated.bounded:
        if claimed.kind == "money":  # the same number of another currency
            alike = claimed.unit.endswith(stated.unit) or stated.unit.endswith(claimed.unit)
            return "contradiction" if claimed.point == stated.point and not alike else None
        largest = max(abs(claimed.point), abs(stated.point))
        difference = abs(claimed.point - stated.point) / largest if largest else 0.0
        if difference <= _SAME_AFTER_CONVERSION:
            return "entailment"
        return "contradiction" if difference > _DIFFERENT_AFTER_CONVERSION else None
    if claimed.kind == "money" and claimed.unit != stated.unit:
        return None
    if claimed.possible == stated.possible or _same(claimed.possible, stated.sure):
        return "entailment"
    # A reign from 1900 to 1912 is not one that lies somewhere between these years.
    if not claimed.ends and claimed.sure.contains(stated.possible):
        return "entailment"
    if claimed.possible.meets(stated.possible) or _is_rounded(claimed, stated):
        return None
    return "contradiction"


def tokens(text: str) -> list[Token]:
    """Return the words, punctuation marks and values of a text."""
    form = canonical(text)
    read: list[Token] = []
    for match in _TOKEN.finditer(form.text):
        begin, end = form.original(*match.span())
        value = _value(match)
        parts = ("",) if value else _parts(match[0])
        read += [Token(part, begin, end, value) for part in parts]
    for at, token in enumerate(read):
        if token.value and token.value.kind == "number" and _is_year(text, read, at):
            read[at] = token._replace(value=_date(token.value.point, 0, 0))
        elif token.word == "one" and read[at + 1 : at + 2] and read[at + 1].word != "of":
            read[at] = token._replace(word="", value=_point("number", 1.0))
    return _merged(read)


def duration(dates: Value) -> Value | None:
    """Return how long a span of dates lasts, or None if its ends are not told alike.

    What begins and ends in known years lasts the difference, up to a year more or less; the same
    holds of months.
    """
    if dates.kind != "date" or not dates.ends or dates.ends[0].step != dates.ends[1].step:
        return None
    first, last = dates.ends
    difference, step = last.point - first.point, first.step
    possible = Amounts((difference - step, 0), (difference + step, 0))
    span = Amounts((difference, 0), (difference, 0))
    return Value("time", span, possible, "days", bounded=True)


def later(dated: Value, time: Value) -> Value | None:
    """Return the year that lies whole years after a date, or None."""
    if dated.kind != "date" or dated.ends or time.unit not in ("year", "years") or time.bounded:
        return None
    return _date(dated.point // _YEAR + round(time.point / _YEAR), 0, 0)


def change(levels: Value) -> Value | None:
    """Return by how much an amount changes that goes from one to another, or None."""
    if not levels.ends or levels.kind == "date":
        return None
    first, last = levels.ends
    unit = "percentage points" if levels.kind == "%" else levels.unit
    kind = unit if levels.kind == "%" else levels.kind
    return _point(kind, abs(last.point - first.point), unit)


def _same(claimed: Amounts, stated: Amounts | None) -> bool:
    return stated is not None and stated.contains(claimed) and claimed.contains(stated)


def _is_rounded(claimed: Value, stated: Value) -> bool:
    if claimed.bounded or stated.bounded or claimed.kind in ("date", "day", "clock", "rank"):
        return False
    coarser = max(claimed.round_to, stated.round_to)
    # "5" and "6" are different counts, "5 million" and "5.3 million" may be the same.
    return coarser > 1 and abs(claimed.point - stated.point) < coarser


def _parts(token: str) -> Sequence[str]:
    """Return a word in lower case, and what is contracted with it."""
    if not token[0].isalnum():
        return (token,)
    # `normalise` drops the possessive ending, which decides who did it.
    possessive = token.endswith(("'s", "’s"))
    word = normalise(token) or token.lower()
    if word.endswith("n't") and len(word) > 3:
        return (word[:-3], "not") if word != "can't" else ("can", "not")
    if word == "cannot":
        return ("can", "not")
    return (word, "'s") if possessive and len(word) > 0 else (word,)


def _value(match: re.Match[str]) -> Value | None:
    """Return the value of a token, or None."""
    if match["date"]:
        month, day = int(match["month"]), int(match["day"] or 0)
        return (
            _point("day", 31.0 * month + day)
            if match["year"] == "-"
            else _date(int(match["year"]), month, day)
        )
    if match["clock"]:
        return _point("clock", 60.0 * int(match["clock"][:2]) + int(match["clock"][3:]))
    if match["decade"]:
        first = int(match["decade"])
        decade = _dates(_year(first), _year(first + 10))
        # "The 1900s" may be a decade or a century.
        return (
            decade if first % 100 else replace(_dates(_year(first), _year(first + 100)), sure=None)
        )
    if match["rank"]:
        number = {"first": 1, "second": 2}.get(match["rank"].lower()) or int(match["rank"][:-2])
        if not match["century"]:
            return _point("rank", float(number))
        # Whether 1800 and 1900 belong to the nineteenth century is disputed.
        inner = _dates(_year(100 * number - 99), _year(100 * number))
        outer = _dates(_year(100 * number - 100), _year(100 * number + 1))
        return replace(inner, possible=outer.possible)
    if match["amount"]:
        unit = (match["unit"] or "").lower()
        unit = unit if unit in _UNITS else match["unit"] or ""
        kind, size = _UNITS.get(unit, ("number", 1.0))
        return _point(kind, float(match["amount"]) * size, unit)
    return None


def _point(kind: str, amount: float, unit: str = "") -> Value:
    amounts = Amounts((amount, 0), (amount, 0))
    place = 0.0
    if amount and amount == int(amount):
        digits = str(abs(int(amount)))
        place = 10.0 ** (len(digits) - len(digits.rstrip("0")))
    return Value(kind, amounts, amounts, unit, place)


def _year(year: float) -> float:
    return year * _YEAR


def _dates(first: float, end: float) -> Value:
    amounts = Amounts((first, 0), (end, -1))
    return Value("date", amounts, amounts, step=end - first)


def _date(year: float, month: int, day: int) -> Value:
    if not month:
        return _dates(_year(year), _year(year + 1))
    first = _year(year) + (month - 1) * _MONTH
    if not day:
        return _dates(first, first + _MONTH)
    amounts = Amounts((first + day - 1, 0), (first + day - 1, 0))
    return Value("date", amounts, amounts)


def _is_year(text: str, read: Sequence[Token], at: int) -> bool:
    """Return whether a number of four digits is a year rather than a count ("1932 people")."""
    if not _YEAR_LIKE.fullmatch(text[read[at].start : read[at].end]):
        return False
    before = read[at - 1].word if at else ""
    following = read[at + 1] if at + 1 < len(read) else Token(".", 0, 0)
    if before in _BEFORE_YEARS or not following.word[:1].isalpha():
        return True
    is_noun = following.word.endswith("s") or following.word == "people"
    return text[following.start].isupper() or not is_noun


def _merged(read: Sequence[Token]) -> list[Token]:
    """Return tokens, each value with the words that make it a bound, a range or vague."""
    kept: list[Token] = []
    at = 0
    while at < len(read):
        token, at = read[at], at + 1
        following = read[at : at + 3]
        if len(following) == 3 and following[1].word in _JOINTS.get(token.word, ()):
            if value := _range(token.word, following[0].value, following[2].value):
                token, at = Token("", token.start, following[2].end, value), at + 3
        elif value := token.value:
            lengths = range(min(_LONGEST_MODIFIER, len(kept)), 0, -1)
            words = [tuple(one.word for one in kept[-length:]) for length in lengths]
            if modifier := next((one for one in words if one in _MODIFIERS), None):
                start = kept[-len(modifier)].start
                del kept[-len(modifier) :]
                token = Token("", start, token.end, _bounded(value, _MODIFIERS[modifier]))
            for suffix, kind in () if modifier else _SUFFIXES:
                if [one.word for one in following[: len(suffix)]] == suffix:
                    end = following[len(suffix) - 1].end
                    token, at = Token("", token.start, end, _bounded(value, kind)), at + len(suffix)
        kept.append(token)
    return kept


def _range(word: str, low: Value | None, high: Value | None) -> Value | None:
    """Return the range of "between 3 and 5" or "from 1900 to 1912", or None."""
    if low is None or high is None:
        return None
    if low.kind == "number" and high.unit:  # "between 3 and 5 km"
        low = _point(high.kind, low.point * _UNITS[high.unit][1], high.unit)
    if low.kind != high.kind or low.bounded or high.bounded:
        return None
    ends = () if word == "between" else (low, high)
    if low.point > high.point:
        if not ends or low.kind == "date":
            return None
        low, high = high, low
    amounts = Amounts(low.possible.low, high.possible.high)
    return Value(low.kind, amounts, amounts, high.unit, bounded=True, ends=ends)


def _bounded(value: Value, kind: str) -> Value:
    if kind == EXACTLY or value.bounded:
        return value
    if kind == _VAGUE or value.kind == "rank" or value.sure is None:
        return replace(value, sure=None, possible=Amounts())
    if kind in (_JUST_OVER, _JUST_UNDER):
        possible = bounded(value.possible, MORE if kind == _JUST_OVER else FEWER)
        return replace(value, sure=None, possible=possible, bounded=True)
    amounts = bounded(value.possible, kind)
    return replace(value, sure=amounts, possible=amounts, bounded=True)
