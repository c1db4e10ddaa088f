"""Values that a text states, read in their canonical form: each is an interval of amounts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from proofs.lexicons.values import Amounts, Bound
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

_MORE, _AT_LEAST, _FEWER, _AT_MOST, _EXACTLY, _JUST_OVER, _JUST_UNDER, _VAGUE = range(8)
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
        _JUST_OVER: "just over/slightly more than/slightly over",
        _JUST_UNDER: "just under/slightly less than/slightly under/nearly/almost",
        _VAGUE: "about/around/approximately/roughly/circa/c/ca/some/estimated/close to/virtually/"
        "an estimated/well over/another/every/per/early/late/mid/a further/an additional/"
        "additional/first/last/next/other/least/most/extra/top/these/those/each/~/≈",
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
    if claimed.ends:
        # A reign from 1900 to 1912 is not one that lies somewhere between these years.
        return None if _meet(claimed.possible, stated.possible) else "contradiction"
    if _contains(claimed.sure, stated.possible):
        return "entailment"
    if _meet(claimed.possible, stated.possible) or _is_rounded(claimed, stated):
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
    return list(_merged(read))


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


def _same(first: Amounts, second: Amounts | None) -> bool:
    return second is not None and _contains(first, second) and _contains(second, first)


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


def _merged(read: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens, each value with the words that make it a bound, a range or vague."""
    kept: list[Token] = []
    at = 0
    while at < len(read):
        token, at = read[at], at + 1
        joints = _JOINTS.get(token.word, ())
        if joints and at + 2 < len(read) and read[at + 1].word in joints:
            found = _range(token.word, read[at].value, read[at + 2].value)
            if found:
                token = Token("", token.start, read[at + 2].end, found)
                at += 3
        elif token.value:
            for length in range(min(_LONGEST_MODIFIER, len(kept)), 0, -1):
                kind = _MODIFIERS.get(tuple(one.word for one in kept[-length:]))
                if kind is not None:
                    token = Token("", kept[-length].start, token.end, _bounded(token.value, kind))
                    del kept[-length:]
                    break
            else:
                for suffix, kind in _SUFFIXES.items():
                    following = read[at : at + len(suffix)]
                    if tuple(one.word for one in following) == suffix:
                        value = _bounded(token.value, kind)
                        token = Token("", token.start, following[-1].end, value)
                        at += len(suffix)
                        break
        kept.append(token)
    yield from kept


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


def _bounded(value: Value, kind: int) -> Value:
    (low, below), (high, above) = value.possible.low, value.possible.high
    if kind == _EXACTLY or value.bounded:
        return value
    if kind == _VAGUE or value.kind == "rank" or value.sure is None:
        return replace(value, sure=None, possible=Amounts((-math.inf, 0), (math.inf, 0)))
    amounts = {
        _MORE: Amounts((high, above + 1), (math.inf, 0)),
        _AT_LEAST: Amounts((low, below), (math.inf, 0)),
        _FEWER: Amounts((-math.inf, 0), (low, below - 1)),
        _AT_MOST: Amounts((-math.inf, 0), (high, above)),
    }
    if kind in (_JUST_OVER, _JUST_UNDER):
        possible = amounts[_MORE if kind == _JUST_OVER else _FEWER]
        return replace(value, sure=None, possible=possible, bounded=True)
    return replace(value, sure=amounts[kind], possible=amounts[kind], bounded=True)
