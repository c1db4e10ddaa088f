"""Words and spellings of numbers, ranks and months in English."""

from __future__ import annotations

import re


def _numbered(names: str, first: int, step: int = 1) -> dict[str, int]:
    return {name: first + step * at for at, name in enumerate(names.split())}


#: Numbers below 20, and tens.
SMALL = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    0,
)
TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ORDINALS = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    1,
)
MONTHS = _numbered(
    "january february march april may june july august september october november december", 1
)
#: ``3rd``, ``1932`` and ``1930s``; the group of a rank is its number.
ORDINAL = re.compile(r"([0-9]{1,6})(?:st|nd|rd|th)")
YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
DECADE = re.compile(r"(?:1[0-9]|20)[0-9]0s")
