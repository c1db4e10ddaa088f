"""Words that name one value among others: numbers, years, ordinals, nationalities.

Two different values of one kind exclude each other ("born in 1973", "born in 1980"), which is what
the alternation operator says.
"""

from __future__ import annotations

import re
from functools import lru_cache

from proofs.words import word_list


def _numbered(names: str, first: int) -> dict[str, str]:
    return {name: str(number) for number, name in enumerate(names.split(), first)}


_CARDINALS = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty",
    0,
)
_ORDINALS = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", 1
)
_NUMBER = re.compile(r"[0-9]{1,12}(?:,[0-9]{3})*(?:\.[0-9]{1,6})?")
_ORDINAL = re.compile(r"([0-9]{1,6})(?:st|nd|rd|th)")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_MONTHS = word_list(
    "january february march april june july august september october november december"
)
NATIONALITIES = word_list(
    """
    afghan albanian algerian american angolan argentine argentinian armenian australian austrian
    azerbaijani bangladeshi belarusian belgian bolivian bosnian brazilian british bulgarian
    cambodian cameroonian canadian chilean chinese colombian congolese croatian cuban cypriot czech
    danish dutch ecuadorian egyptian english estonian ethiopian filipino finnish french georgian
    german ghanaian greek guatemalan haitian honduran hungarian icelandic indian indonesian iranian
    iraqi irish israeli italian jamaican japanese jordanian kazakh kenyan korean kuwaiti latvian
    lebanese liberian libyan lithuanian luxembourgish macedonian malaysian maltese mexican moldovan
    mongolian moroccan namibian nepalese nicaraguan nigerian norwegian pakistani palestinian
    panamanian paraguayan persian peruvian polish portuguese qatari romanian russian rwandan
    salvadoran scottish senegalese serbian singaporean slovak slovene slovenian somali spanish
    sudanese swedish swiss syrian taiwanese tanzanian thai tunisian turkish ugandan ukrainian
    uruguayan uzbek venezuelan vietnamese welsh yemeni zambian zimbabwean
    """
)


@lru_cache(maxsize=65536)
def value(norm: str) -> tuple[str, str] | None:
    """Return the kind and the value that a normalised word names, or None.

    Kinds are ``year``, ``ordinal``, ``number``, ``month`` and ``nationality``: ``"3rd"`` and
    ``"third"`` have the same value, ``("ordinal", "3")``.
    """
    if _YEAR.fullmatch(norm):
        return "year", norm
    if norm in _CARDINALS:
        return "number", _CARDINALS[norm]
    if norm in _ORDINALS:
        return "ordinal", _ORDINALS[norm]
    if match := _ORDINAL.fullmatch(norm):
        return "ordinal", match[1].lstrip("0") or "0"
    if _NUMBER.fullmatch(norm):
        return "number", norm.replace(",", "")
    if norm in _MONTHS:
        return "month", norm
    if norm in NATIONALITIES:
        return "nationality", norm
    return None


def excludes(claim: str, evidence: str) -> bool:
    """Whether two normalised words name different values of one kind.

    "One" is left out: it is a pronoun as often as a number. So are pairs of nationalities of which
    one includes the other.
    """
    mine, other = value(claim), value(evidence)
    if mine is None or other is None or "one" in (claim, evidence):
        return False
    return mine[0] == other[0] and mine[1] != other[1] and {claim, evidence} not in _COMPATIBLE


def same_value(claim: str, evidence: str) -> bool:
    """Whether two normalised words name the same value ("3rd", "third")."""
    mine = value(claim)
    return mine is not None and mine == value(evidence)


_COMPATIBLE = [{"british", part} for part in ("english", "scottish", "welsh", "irish")] + [
    {"iranian", "persian"},
    {"slovene", "slovenian"},
    {"argentine", "argentinian"},
]
