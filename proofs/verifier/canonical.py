"""One way of writing each value of a text, so that equal values look equal to a neural verifier.

Each value becomes a number in digits with the base unit of its dimension and system:

| value | canonical form |
|---|---|
| ``70,140``, ``two hundred and five``, ``1.2 billion``, ``0.50`` | ``70140``, ``205``, ... |
| ``4 per cent``; ``a fifth of``, ``one in five`` people | ``4%``; ``20% of`` people |
| ``€5m``, ``5 million euros`` | ``5000000 EUR`` (codes of ISO 4217) |
| ``$5m``, ``5 million dollars``; ``US$5m``, ``USD 5m`` | ``... dollars``; ``... US dollars`` |
| lengths; feet, inches, yards, miles | ``0.04 m``; ``6.1667 ft`` |
| masses; ounces, stones | ``0.25 kg``; ``0.5 lb`` |
| speeds; temperatures | ``90 km/h``, ``60 mph``, ``20 knots``; ``-5 °C``, ``41 °F`` |
| durations | ``90 minutes`` (``75.5 seconds`` unless minutes need two decimals or fewer) |
| days, weeks; months; years, ``ten-year-old`` | ``14 days``; ``18 months``; ``10 years old`` |
| dates | ``2023-01-17``, ``2023-01``, without a year ``--01-17`` |
| ``2:30 p.m.`` | ``14:30`` |
| ``fourteenth``; ``1st``, ``2nd`` | ``14th``; ``first``, ``second`` |
| ``Olav XIV``, ``Olav the Fourteenth`` | ``Olav the 14th`` |

Dollars and rupees of no country keep their word, as do pounds, which may be a mass. What may be
read in two ways is left: ``1,5``, ``01/02/2023``, a lone ``one``, scores, versions, identifiers.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from proofs.lexicons.values import (
    MONTHS,
    ORDINALS,
    SCALES,
    SMALL_AND_TENS,
    TENS,
    WORDS,
    number_in_words,
)


@dataclass(frozen=True, slots=True)
class CanonicalText:
    """A text with its values in canonical form, and where they were."""

    text: str
    # Values in order: the span of the original text, then the span of `text`.
    values: tuple[tuple[int, int, int, int], ...] = ()

    def original(self, begin: int, end: int) -> tuple[int, int]:
        """Return the span of the original text for a span of `text`, with whole values."""
        return _moved(self.values, begin, end, 2, 0)

    def canonical(self, begin: int, end: int) -> tuple[int, int]:
        """Return the span of `text` for a span of the original text, with whole values."""
        return _moved(self.values, begin, end, 0, 2)


@lru_cache(maxsize=8192)
def canonical(text: str) -> CanonicalText:
    """Return a text with its values in canonical form. The canonical form of it is itself.

    A text that has not settled after some rounds, which takes a contrived one, is left as it is.
    """
    result = CanonicalText(text)
    for _ in range(_ROUNDS):
        edits = _edits(result.text)
        if not edits:
            return result
        result = _edited(result, edits)
    return CanonicalText(text)


_ROUNDS = 6
_Values = tuple[tuple[int, int, int, int], ...]
_Edit = tuple[int, int, str]  # the span and what it becomes


def _moved(values: _Values, begin: int, end: int, source: int, target: int) -> tuple[int, int]:
    first = bisect_right(values, begin, key=lambda value: value[source + 1]) - 1
    shift = values[first][target + 1] - values[first][source + 1] if first >= 0 else 0
    new_begin = begin + shift
    if (
        first + 1 < len(values)
        and values[first + 1][source] <= begin < values[first + 1][source + 1]
    ):
        new_begin = values[first + 1][target]
    last = bisect_left(values, end, key=lambda value: value[source]) - 1
    if last < 0 or end >= values[last][source + 1]:
        shift = values[last][target + 1] - values[last][source + 1] if last >= 0 else 0
        return new_begin, end + shift
    return new_begin, values[last][target + 1]


def _edited(before: CanonicalText, edits: list[_Edit]) -> CanonicalText:
    pieces, at, shift = [], 0, 0
    step: list[tuple[int, int, int, int]] = []
    for begin, end, new in edits:
        pieces += [before.text[at:begin], new]
        step.append((begin, end, begin + shift, begin + shift + len(new)))
        shift, at = shift + len(new) - (end - begin), end
    text = "".join([*pieces, before.text[at:]])
    if not before.values:
        return CanonicalText(text, tuple(step))
    spans: list[list[int]] = []  # of the text between the steps, those that overlap merged
    for begin, end in sorted([value[2:] for value in before.values] + [edit[:2] for edit in step]):
        if spans and begin < spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    return CanonicalText(
        text,
        tuple(
            (*before.original(begin, end), *_moved(tuple(step), begin, end, 0, 2))
            for begin, end in spans
        ),
    )


_ORDINALS = ORDINALS | {f"{name[:-1]}ieth": number for name, number in TENS.items()}
_SHORT_SCALES = {"k": 1000, "m": 10**6, "mn": 10**6, "mln": 10**6, "b": 10**9, "bn": 10**9}
_SHORT_SCALES |= {"tn": 10**12, "trn": 10**12, "cr": 10**7, "lakhs": 10**5, "crores": 10**7}
_SOVEREIGNS = WORDS["sovereigns"].split()
# Who there is one in five of.
_PEOPLE = WORDS["people"].replace(" ", "|")
_ROMAN = {
    tens * "X" + units: 10 * tens + at
    for tens in range(4)
    for at, units in enumerate(["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"])
    if tens + len(units) > 1
}


class _Unit(NamedTuple):
    base: str
    factor: Decimal
    name: str = ""


def _units() -> dict[str, _Unit]:
    units = {}
    for entry in WORDS["units"].replace("\n", ";").split(";"):
        base, factor, *names = entry.replace("_", "\0").split()
        for name in names:
            for form in {name, name.replace("metre", "meter")}:
                for word in (form.replace("*", ""), form.replace("*", "s")):
                    word = word.replace("\0", " ")
                    units[word] = _Unit(base.replace("\0", " "), Decimal(factor), word)
    return units


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_UNITS = _units()
#: The units of money.
MONEY = {unit.base for name, unit in _UNITS.items() if name[-1] in "$€£¥₹₽₩" or name == "CHF"}
_IN_TWO_UNITS = ("seconds", "days", "ft", "lb")
_SPACE = "[ \u00a0\u2009\u202f]"
_THING = "(?:deep|high|long|old|tall|thick|wide)"
_PREFIXES = _any(n for n, u in _UNITS.items() if u.base in MONEY and not n[-2:].islower())
_PREFIX = re.compile(rf"(?:({_PREFIXES})|([A-Z]{{0,2}}\$)){_SPACE}?(?=[0-9])")
_UNIT = re.compile(
    rf"(?:{_SPACE}|-)?(?:({_any(n for n in _UNITS if n != '%')})"
    rf"(?:(?![\w/²³^-]| /| 2 \(| per | an? (?:hour|day|week|month|year)\b)|-(?={_THING}\b))|(%))"
)
_DIGITS = re.compile(
    r"(?:[0-9]{1,3}([,'’\u00a0\u2009\u202f])[0-9]{3}(?:\1[0-9]{3}){0,3}"
    r"|[0-9]{1,2}(?:,[0-9]{2}){1,4},[0-9]{3}|[0-9]{1,15})(?:\.[0-9]{1,9})?"
    r"(?![0-9]|[.,'’:/\u00a0\u2009\u202f][0-9])"
)
_NUMERAL = re.compile(r"[IVX]{2,7}(?!\w)")
_EIGHTHS = {"1/2": "0.5", "1/4": "0.25", "3/4": "0.75", "½": "0.5", "¼": "0.25", "¾": "0.75"}
_EIGHTHS |= {"half": "0.5", "quarter": "0.25"}
_AND_PART = re.compile(
    r" and an? (half|quarter)\b|-and-a-(half)\b| ([13]/[24])(?![/0-9])| ?([½¼¾])"
)
_UNIT_AND_PART = re.compile(r" and an? (half|quarter)(?! (?:hundred|thousand|[mb]illion))\b")
_A_UNIT = re.compile(r"[Aa]n?(?= (?:second|minute|hour|day|week|year|mile|kilometre) and a )")
_HALF_A = re.compile(
    r"[Hh]alf(?:[ -]an?)?(?=[ -](?:dozen|hundred|thousand|[mbtr]+illion|lakh|crore|second|minute|"
    r"hour|day|year|inch|foot|mile|met(?:re|er)|kilo\w{0,6}|ounce|ton|tonne|percent)(?![\w-]))"
)
_SCALE = re.compile(
    rf"(?:{_SPACE}|-)?((?i:{_any([*SCALES, 'bn', 'mln', 'lakhs', 'crores'])}))(?!\w)"
    r"|(k)(?!\w)|([MB])(?!\w)"
)
_MONEY_SCALE = re.compile(rf"(?:{_SPACE}|-)?((?i:{_any([*SCALES, *_SHORT_SCALES])}))(?!\w)")
_JOIN = re.compile(r" ?[-–—] ?| to | or | and |-to-")
_NEXT_UNIT = re.compile(r"(?:,? and |,? )?(?=[0-9a-z])")
_MINUS = re.compile(r"−|[Mm]inus ")
_FEET = re.compile(r"([0-9]{1,2})['’′] ?([0-9]{1,2}(?:\.[0-9]{1,2})?)(?:[\"”″]|''|’’)")
_PARTS = {"half": 2, "quarter": 4} | {word: n for word, n in _ORDINALS.items() if 2 < n < 21}
_PART = re.compile(
    rf"(?:[ -]({_any(_PARTS)})s?|/([2-9]|10))(?![\w/])( of (?=\w)(?!an? |July|[0-9]{4}))?"
)
_HALF_OF = re.compile(r"[Hh]alf(?: of (?!an? )| (?=(?:the|its|their|all) ))")
_A_PART = re.compile(rf"[Aa]n?(?= (?:{_any(_PARTS)}) of )")
_NOT_BEFORE_HALF = re.compile(
    r"(?:[Ff]irst|[Ss]econd|last|latter|other|better|ern|er|top|tom|a|[0-9]) $"
)
_RATIO = re.compile(r" (?:in|out of)(?: every)? (?=[0-9a-z])")
_OF_PEOPLE = re.compile(rf" (?:of (?=(?:the|all|its|their) )|(?=(?:{_PEOPLE})\b))")
_ORDINAL = re.compile(r"([0-9]{1,9})(?:st|nd)(?!\w)")
_ORDINAL_WORD = re.compile(rf"((?i:{_any(TENS)})[ -])?((?i:{_any(_ORDINALS)}))(?!\w)")
_BEFORE_RANK = re.compile(rf"\b(?:{_any(_SOVEREIGNS)}) $")
_CLOCK = re.compile(
    r"([01]?[0-9])(?:[:.]([0-5][0-9]))?[ \u00a0\u202f]?(?i:([ap])(?:\.m\.|m)|(noon|midnight))(?!\w)"
)
_MONTHS = {name[:3].capitalize(): number for name, number in MONTHS.items()}
_MONTH = (
    r"(?:(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)(?!\w))"
)
_TO = "(?: ?[-–—] ?| to | and | or )"
_DAYS = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?(?!\w|[.,:/][0-9])"
_DAYS += rf"(?:(?P<join>{_TO}){_DAYS.replace('day', 'other')})?"
_YEAR = r"(?:[12][0-9]{3})(?!\w|[.,:/–-][0-9]| ?BC)"
_NO_YEAR = (
    rf"(?!\.?,?[ –/-]?['’]?[0-9]{{1,4}}(?![0-9]? {_MONTH})|[:%/]"
    r"| (?:[mb]illion|per ?cent|[ap]\.?m\b))"
)
_THEN_YEAR = rf"(?:(?:\.,?|,| of)?[ -](?P<year>{_YEAR})|{_NO_YEAR})"
_DAY_FIRST = re.compile(rf"{_DAYS}[ -](?:of )?(?P<month>{_MONTH}){_THEN_YEAR}")
_MONTH_FIRST = re.compile(rf"(?P<month>{_MONTH})\.? (?:the )?{_DAYS}{_THEN_YEAR}")
_MONTH_YEAR = re.compile(rf"(?:({_MONTH})({_TO}))?({_MONTH})\.?(?:,| of)? ({_YEAR})")
_LABEL = re.compile(r"(?:[A-Z]\w*|[Vv]ersions?|[Rr]elease|v\.?) $")
_AFTER_FEET, _AFTER_STONE = re.compile(r"[ -]?in\b"), re.compile(" pounds?\\b")
_NUMERIC_DATE = re.compile(r"([0-9]{1,4})([/.-])([0-9]{1,2})\2([0-9]{1,4})(?!\w|[/.-][0-9])")
_CODES = _any(name for name in _UNITS if re.fullmatch("[A-Z]{3}", name))
_WORDS = _any({*SMALL_AND_TENS, *_ORDINALS, "half", "minus"} - {"first", "second"})
_START = re.compile(
    rf"(?<![\w.+°])(?<!\w[-–,'’′:/])(?<!--)(?:[0-9$€£¥₹₽₩−]|(?:[A-Z]{{1,3}}|U\.S\.|US )[$¥]"
    rf"|(?:{_CODES}|Rs\.?)(?= ?\$?[0-9])"
    rf"|(?i:{_WORDS})(?!\w)|[Aa]n?(?= (?:{_any([*SCALES, *_PARTS])})\b)"
    rf"|(?<=\w )[IVX]{{2,7}}(?!\w)|{_A_UNIT.pattern}"
    rf"|{_MONTH}(?=[.,]?,? (?:[0-9t]|of)|{_TO}[JFMASOND]))"
)


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _form(number: Decimal, base: str) -> tuple[str, str]:
    """Return the digits of an amount in base units, and its unit with what precedes it."""
    if base in ("ft", "lb"):
        number = round(number / (12 if base == "ft" else 16), 4)
    elif base == "seconds" and number >= 60 and number % Decimal("0.6") == 0:
        number, base = number / 60, "minutes"
    unit = base[:-1] if number == 1 and len(base) > 3 and base[-1] == "s" else base
    return _plain(number), unit if unit in ("", "%") else f" {unit}"


class _Amount(NamedTuple):
    number: Decimal
    end: int
    scale: int = 1
    unit: _Unit | None = None

    @property
    def total(self) -> Decimal:
        return self.number * self.scale * (self.unit.factor if self.unit else 1)


def _number(text: str, at: int) -> _Amount | None:
    if match := _HALF_A.match(text, at) or _A_UNIT.match(text, at):
        return _Amount(Decimal("0.5" if match[0][0] in "hH" else 1), match.end())
    if not (match := _DIGITS.match(text, at)):
        spelled = number_in_words(text, at)
        return _Amount(Decimal(spelled[0]) / spelled[2], *spelled[1:]) if spelled else None
    digits = re.sub("[^0-9.]", "", match[0])
    is_number = digits[0] != "0" or not digits[1:2].isdigit()
    return _Amount(Decimal(digits), match.end()) if is_number else None


def _is_other(unit: str, joiner: str, digits: str, number: Decimal, after: str) -> bool:
    """Return whether what looks like a unit is, after this number, something else."""
    return (
        (unit in ("day", "foot", "second", "stone") and digits.lower() == "one")  # one day: once
        or (unit == "second" and joiner == " " and number > 1)
        or (unit == "s" and ("." not in digits and (digits[-1] == "0" or len(digits) > 3)))
        or (unit == "g" and not joiner and 2 <= number <= 6)  # networks
        or (unit == "h" and digits[-3:-2] == ".")  # 14.30 h is a time
        or (unit in ("hours", "hrs") and len(digits) == 4 and digits.isdigit())  # so is 1430 hours
        or (unit == "pc" and joiner != "")
        or (unit == "stone" and not after.strip().isdigit())
    )


def _amount(text: str, at: int, money: _Unit | None = None) -> _Amount | None:
    """Read a number with its scale and its unit, whose currency may precede it."""
    if prefix := _PREFIX.match(text, at):
        money = _UNITS[prefix[1]] if prefix[1] else _Unit(prefix[2], Decimal(1))
        at = prefix.end()
    if not (found := _number(text, at)):
        return None
    number, end, scale, _ = found
    if match := _AND_PART.match(text, end):
        number, end = number + Decimal(_EIGHTHS[match[match.lastindex or 1]]), match.end()
    for _ in range(2):
        if not (match := (_MONEY_SCALE if money else _SCALE).match(text, end)):
            break
        name = match[match.lastindex or 1].lower()
        if match.lastindex == 3 and "." not in text[at:end]:
            break  # 3M
        end, scale = match.end(), scale * (SCALES.get(name) or _SHORT_SCALES[name])
    unit = money
    if match := _UNIT.match(text, end):
        named, joiner = _UNITS[match[1] or "%"], text[end : match.start(match.lastindex or 1)]
        if money and ({named.base, money.base} <= MONEY):
            unit, end = (money if named.base == "dollars" else named), match.end()
        elif named.name == "m" and not joiner and _OF_PEOPLE.match(text, match.end()):
            return _Amount(number, match.end(), 10**6)
        elif not money and not _is_other(
            named.name, joiner, text[at:end], number, text[match.end() : match.end() + 2]
        ):
            unit, end = named, match.end()
    return _Amount(number, end, scale, unit)


def _quantity(text: str, at: int) -> _Edit | None:
    """Read an amount, two that share a unit, or a share of something."""
    begin, sign = at, ""
    if minus := _MINUS.match(text, at):
        if at > 1 and text[at - 2].isdigit():
            return None
        at, sign = minus.end(), "-"
    first = _amount(text, at)
    if not first:
        return _share(text, at)
    if not first.unit and first.scale == 1 and (share := _share(text, at)):
        return share
    end, unit, total = first.end, first.unit, first.total
    written = text[at:end]
    if first.scale == 1 and (not unit or unit.base in MONEY) and (join := _JOIN.match(text, end)):
        second = _amount(text, join.end(), unit)
        tight = join[0][-1] != " "
        is_year = written.isdigit() and 1000 <= first.number < 2200
        if second and not is_year and first.number < 10 * second.number:
            is_range = join[0] != " and " or text[max(begin - 8, 0) : begin].lower() == "between "
            is_range &= not unit or (second.unit is not None and second.unit.base == unit.base)
            if is_range and (second.scale > 1 or (tight if unit else second.unit)):
                scaled = first._replace(scale=second.scale, unit=second.unit or unit).total
                return begin, second.end, sign + _range(scaled, join[0], second)
        if tight and not unit and (second or text[join.end() : join.end() + 1].isdigit()):
            if not second or second.unit or second.scale > 1 or not _ends(text, second.end):
                return begin, join.end(), text[begin : join.end()]  # 2023-10, 747-400B
            if text[second.end : second.end + 1] in ("-", "–") or "." in text[at : second.end]:
                return begin, second.end, text[begin : second.end]
            return begin, second.end, sign + _range(first.number, join[0], second)
    if not _ends(text, end) or (written.lower() == "one"):
        return None
    if not unit:
        stays = (
            "." in written
            and (  # a version, a time, a score, thousands with a point
                _LABEL.search(text, max(at - 20, 0), at)
                or text[end : end + 2] in (" h", " (")
                or written[-4:-3] == "."
            )
        )
        return begin, end, sign + (written if stays and first.scale == 1 else _plain(total))
    last = unit
    while unit.base in _IN_TWO_UNITS and (match := _NEXT_UNIT.match(text, end)):
        more = _amount(text, match.end())
        if not more or more.scale > 1:
            break
        of_more, stop = more.unit, more.end
        if not of_more and last.factor == 12 and (match := _AFTER_FEET.match(text, stop)):
            of_more, stop = _UNITS["inch"], match.end()
        elif not of_more and last.factor == 224 and (match := _AFTER_STONE.match(text, stop)):
            of_more, stop = _UNITS["lb"], match.end()
        elif of_more and of_more.name == "m" and unit.base == "seconds":
            of_more = _UNITS["min"]
        if not of_more or of_more.base != unit.base or of_more.factor >= last.factor:
            if of_more and of_more.base == "seconds" and last.factor == 1:
                # "60 seconds, 5 seconds" must not become "1 minute, 5 seconds".
                return begin, end, sign + _plain(total) + (" second" if total == 1 else " seconds")
            break
        total, end, last = total + more.number * of_more.factor, stop, of_more
    if unit.base not in MONEY and (match := _UNIT_AND_PART.match(text, end)):
        total, end = total + Decimal(_EIGHTHS[match[1]]) * unit.factor, match.end()
    space = " " if text[end - 1] == "-" else ""  # five-year-old
    return begin, end, sign + "".join(_form(total, unit.base)) + space


def _range(first: Decimal, join: str, second: _Amount) -> str:
    base = second.unit.base if second.unit else ""
    (low, low_unit), (high, unit) = _form(first, base), _form(second.total, base)
    return low + (low_unit if unit.rstrip("s") != low_unit.rstrip("s") else "") + join + high + unit


def _ends(text: str, end: int) -> bool:
    after = text[end : end + 1]
    return not (text[end - 1].isalnum() and (after.isalnum() or after == "_"))


def _share(text: str, at: int) -> _Edit | None:
    """Read a fraction, such as "a fifth of", or a ratio of people, such as "one in five"."""
    if match := _HALF_OF.match(text, at):
        is_period = _NOT_BEFORE_HALF.search(text, max(at - 7, 0), at)
        return None if is_period else (at, match.end(), "50% of ")
    if match := _A_PART.match(text, at):
        count, end = Decimal(1), match.end()
    elif text[at + 1 : at + 2] == "/" and "1" <= text[at] <= "9":
        count, end = Decimal(text[at]), at + 1
    elif found := _number(text, at):
        count, end = found.total, found.end
    else:
        return None
    if match := _PART.match(text, end):
        parts = Decimal(_PARTS[match[1]] if match[1] else match[2])
        is_share = match[3] and count < parts
        new = f"{100 * count / parts:.3g}% of " if is_share else text[at : match.end()]
        return at, match.end(), new
    if match := _RATIO.match(text, end):
        whole = _number(text, match.end())
        people = _OF_PEOPLE.match(text, whole.end) if whole else None
        if whole and people and 0 < count < whole.total <= 1000:
            return at, people.end(), f"{100 * count / whole.total:.3g}% of "
    return None


def _iso(year: str | None, month: str, day: str) -> str:
    """Return a date in the form of ISO 8601, without a year if it has none; raise ValueError."""
    number = int(month) if month.isdigit() else _MONTHS[month[:3]]
    form = date(int(year or 2000), number, int(day)).isoformat()
    return form if year else "-" + form[4:]


def _date(text: str, at: int) -> _Edit | None:
    begin = at - 4 if text[max(at - 5, 0) : at].lower() in (" the ", "the ") else at
    if match := _MONTH_YEAR.match(text, at):
        first, join, month, year = match.groups()
        new = f"{year}-{_MONTHS[month[:3]]:02}"
        if first:
            new = f"{year}-{_MONTHS[first[:3]]:02}{_spelled(join)}{new}"
        return at, match.end(), new
    for pattern in (_NUMERIC_DATE, _DAY_FIRST, _MONTH_FIRST):
        if match := pattern.match(text, at):
            try:
                new = _day(text, match)
            except ValueError:  # there is no such day
                new = ""
            return (begin, match.end(), new) if new else (at, match.end(), match[0])
    return None


def _day(text: str, match: re.Match[str]) -> str:
    """Return a day or a range of days, or an empty text if it may not be one."""
    if match.re is _NUMERIC_DATE:
        first, mark, second, year = match.groups()
        if len(first) == 4 and mark != "-" and len(year) < 3:
            return _iso(first, second, year)
        if len(year) < 4 or (max(int(first), int(second)) < 13 and first != second):
            return ""
        return _iso(year, *((second, first) if int(first) > 12 else (first, second)))
    day, join, other, month, year = match.group("day", "join", "other", "month", "year")
    if (
        not year
        and match.re is _MONTH_FIRST
        and text[max(match.start() - 3, 0) : match.start()].lower() == "in "
    ):
        return ""
    to = None if year else _JOIN.match(text, match.end())
    if to and (end := match.re.match(text, to.end())) and end["year"]:  # 28 May to 3 June 2023
        year = str(int(end["year"]) - (_MONTHS[month[:3]] > _MONTHS[end["month"][:3]]))
    until = _spelled(join) + _iso(year, month, other) if other else ""
    return _iso(year, month, day) + until


def _spelled(join: str) -> str:
    return " to " if re.search("[-–—]", join) else join


def _ordinal(text: str, at: int) -> _Edit | None:
    if not (match := _ORDINAL_WORD.match(text, at)):
        return None
    tens, unit = (match[1] or "").lower().strip(" -"), match[2].lower()
    number = TENS.get(tens, 0) + _ORDINALS[unit]
    if number < 3 or (tens and _ORDINALS[unit] > 9):
        return None
    if unit == "second" and not (match[2][0] == "S" or text[at - 4 : at].lower() == "the "):
        return at, match.end(), match[0]  # a twenty-second pause
    return at, match.end(), _ranked(number)


def _ranked(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else ending}"


def _clock(match: re.Match[str]) -> str | None:
    hour, half = int(match[1]), (match[3] or "").lower()
    if not 1 <= hour <= 12 or (match[4] and (hour < 12 or match[2])):
        return None
    hour = hour % 12 + 12 * (half == "p" or match[4] == "noon")
    return f"{hour:02}:{match[2] or '00'}"


def _read(text: str, at: int) -> _Edit | None:
    """Return the value that begins at a place as an edit, which may leave the text as it is."""
    if text[at].isdigit():
        if (match := _CLOCK.match(text, at)) and (time := _clock(match)):
            return at, match.end(), time
        if match := _FEET.match(text, at):
            return at, match.end(), "".join(_form(12 * Decimal(match[1]) + Decimal(match[2]), "ft"))
        if match := _ORDINAL.match(text, at):
            new = {"1st": "first", "2nd": "second"}.get(match[0], match[0])
            return _date(text, at) or (at, match.end(), new)
        return _date(text, at) or _quantity(text, at)
    if text[at] in "IVX":
        numeral = _NUMERAL.match(text, at)
        rank = _ROMAN.get(numeral[0], 0) if numeral else 0
        if not numeral or not rank or not _BEFORE_RANK.search(text, max(at - 20, 0), at):
            return None
        return at, numeral.end(), "the " + (_ranked(rank) if rank > 2 else "Second")
    if text[at : at + 3] in _MONTHS and (found := _date(text, at)):
        return found
    return _ordinal(text, at) or _quantity(text, at)


def _edits(text: str) -> list[_Edit]:
    edits: list[_Edit] = []
    done = 0
    for match in _START.finditer(text):
        if match.start() < done:
            continue
        found = _read(text, match.start())
        if found and found[0] >= done:
            done = found[1]
            if text[found[0] : done] != found[2]:
                edits.append(found)
    return edits
