"""Write the numbers and dates of a workbook as its reader sees them, by their number formats.

Whole dates are written as in ISO 8601, whatever the order of their parts in the format.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

_MOST_DIGITS = 15  # that a workbook stores
_MOST_DECIMALS = 30
_LONGEST_FORMAT = 255  # characters, as in Excel
_BETWEEN_SECTIONS = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
# Text, signs of currencies, and what only changes the look: colours, and spaces as wide as a sign.
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].')
_DIGITS = re.compile(r"[#0?](?:[#0?,]*[#0?])?(,*)(?:\.([#0?]*))?(,*)(E[+-]0+)?")
_CONDITION = re.compile(r"\[[<>=]")
_TIME_OF_DAY = re.compile(r"am/pm|a/p")
_MINUTES = re.compile(r"(?<=h)([^a-z]*)m+|m+(?=[^a-z]*s)")
_DAY = re.compile(r"(?<!d)dd?(?!d)")


def shown_number(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a cell shows it; a number without a format has all its digits.

    Parameters
    ----------
    value
        The number; of a date, its days since the beginning of 1900 or 1904.
    code
        The number format, such as ``#,##0.00 "EUR"``.
    since_1904
        Whether the workbook counts days from 1904 on.
    """
    if len(code) > _LONGEST_FORMAT or _CONDITION.search(code):
        return _plain(value)
    if is_date_format(code):
        try:
            return _shown_date(value, code, since_1904) or _plain(value)
        except (ValueError, OverflowError):  # no date that there is
            return _plain(value)
    sections = _BETWEEN_SECTIONS.split(code)
    if value < 0 and len(sections) > 1:
        return _section(sections[1]).shown(-value)
    return _section(sections[2 if not value and len(sections) > 2 else 0]).shown(value)


class _Section(NamedTuple):
    """A section of a format, for positive numbers, negative ones or zero."""

    before: str = ""
    after: str = ""
    is_plain: bool = False
    fewest_digits: int = 0
    fewest_decimals: int = 0
    most_decimals: int = 0
    has_groups: bool = False
    power: int = 0  # of ten, by which the number is multiplied
    is_scientific: bool = False
    has_digits: bool = True

    def shown(self, value: float) -> str:
        if self.is_plain:
            return f"{self.before}{_plain(value)}{self.after}".strip()
        if not self.has_digits:
            return self.before.strip()
        number = Decimal(repr(value)).scaleb(self.power)
        if self.is_scientific:
            written = f"{abs(number):.{self.most_decimals}E}"
        else:
            try:
                number = number.quantize(Decimal(1).scaleb(-self.most_decimals), ROUND_HALF_UP)
            except InvalidOperation:  # too many digits
                return _plain(value)
            width = self.fewest_digits + self.most_decimals + bool(self.most_decimals)
            written = f"{abs(number):{',' if self.has_groups else f'0{max(width, 1)}'}f}"
            for _ in range(self.most_decimals - self.fewest_decimals):
                written = written.removesuffix("0")
            written = written.removesuffix(".")
        sign = "-" if number < 0 else ""
        return f"{sign}{self.before}{written}{self.after}".strip()


@lru_cache(maxsize=1024)
def _section(code: str) -> _Section:
    literals: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        literals.append(next(filter(None, match.groups()), ""))
        return chr(0xE000 + len(literals) - 1)

    def literal(text: str) -> str:
        return re.sub("[\ue000-\ue0ff]", lambda m: literals[ord(m[0]) - 0xE000], text)

    marked = _LITERAL.sub(hidden, re.sub("[\ue000-\ue0ff]", "", code))
    general = re.search("general|@", marked, re.IGNORECASE)
    digits = _DIGITS.search(marked)
    if general:
        return _Section(
            literal(marked[: general.start()]), literal(marked[general.end() :]), is_plain=True
        )
    if digits is None:
        return _Section(literal(marked), has_digits=False)
    after = marked[digits.end() :]
    # A fraction, or a number with signs between its digits.
    if re.search("[#0?]", after) or len(digits[2] or "") > _MOST_DECIMALS:
        return _Section(is_plain=True)
    return _Section(
        literal(marked[: digits.start()]),
        literal(after),
        fewest_digits=digits[0].partition(".")[0].count("0"),
        fewest_decimals=(digits[2] or "").count("0"),
        most_decimals=len(digits[2] or ""),
        has_groups="," in digits[0].partition(".")[0].rstrip(","),
        power=2 * ("%" in marked) - 3 * (len(digits[1]) + len(digits[3])),
        is_scientific=bool(digits[4]),
    )


def _plain(value: float) -> str:
    """Return a number with the digits that a workbook stores."""
    written = f"{value:.{_MOST_DIGITS}g}"
    if "e" not in written:
        return written
    number = Decimal(written)
    return f"{number:f}" if abs(number.adjusted()) < 2 * _MOST_DIGITS else written.upper()


def _shown_date(value: float, code: str, since_1904: bool) -> str:
    epoch = MAC_EPOCH if since_1904 else WINDOWS_EPOCH
    if is_timedelta_format(code):
        minutes = round(timedelta(value).total_seconds() / 60)
        return f"{'-' if minutes < 0 else ''}{abs(minutes) // 60}:{abs(minutes) % 60:02}"
    if value < 0:
        return ""
    moment = from_excel(value, epoch)
    parts = _LITERAL.sub("", code.partition(";")[0]).lower()
    parts = _TIME_OF_DAY.sub("", parts)
    without_minutes = _MINUTES.sub("", parts)
    clock = ""
    if "h" in parts or "s" in parts:
        clock = f"{moment:%H:%M:%S}" if "s" in parts else f"{moment:%H:%M}"
    if isinstance(moment, time):
        return clock
    assert isinstance(moment, datetime)
    has_day, has_month = bool(_DAY.search(parts)), "m" in without_minutes
    if has_day and has_month and "y" in parts:
        day = f"{moment:%Y-%m-%d}"
    else:
        names = [
            f"{moment:%A}" if "ddd" in parts else "",
            str(moment.day) if has_day else "",
            f"{moment:%B}" if has_month else "",
            f"{moment:%Y}" if "y" in parts else "",
        ]
        day = " ".join(filter(None, names))
    return f"{day} {clock}".strip()
