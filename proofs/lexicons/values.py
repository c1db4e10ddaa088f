"""Words with a value (numbers, years, months, nationalities and so on) and quantifiers.

Different values of one kind exclude each other ("born in 1973", "born in 1980"), which is the
alternation operator. "Every", "most", "some" and "no" state a share; "at least seven" and "fewer
than seven" state a number. Either is a set of possibilities, and the relation of two quantifiers is
that of their sets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from proofs.logic import NatOp


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


# Adjectives of a nation; names of its country. Underscores stand for spaces.
_TABLE = """
afghan; afghanistan / albanian; albania / algerian; algeria / american; united_states usa u.s u.s.a
america / angolan; angola / argentine argentinian; argentina / armenian; armenia /
australian; australia / austrian; austria / azerbaijani; azerbaijan / bangladeshi; bangladesh /
belarusian; belarus / belgian; belgium / bolivian; bolivia / bosnian; bosnia / brazilian; brazil /
british; united_kingdom uk u.k britain great_britain / bulgarian; bulgaria / cambodian; cambodia /
cameroonian; cameroon / canadian; canada / chilean; chile / chinese; china / colombian; colombia /
congolese; congo / croatian; croatia / cuban; cuba / cypriot; cyprus /
czech; czech_republic czechia / danish; denmark / dutch; netherlands holland /
ecuadorian; ecuador / egyptian; egypt / english; england / estonian; estonia / ethiopian; ethiopia /
filipino philippine; philippines / finnish; finland / french; france / georgian; georgia /
german; germany / ghanaian; ghana / greek; greece / guatemalan; guatemala / haitian; haiti /
honduran; honduras / hungarian; hungary / icelandic; iceland / indian; india /
indonesian; indonesia / iranian persian; iran / iraqi; iraq / irish; ireland / israeli; israel /
italian; italy / jamaican; jamaica / japanese; japan / jordanian; jordan / kazakh; kazakhstan /
kenyan; kenya / korean; korea / kuwaiti; kuwait / latvian; latvia / lebanese; lebanon /
liberian; liberia / libyan; libya / lithuanian; lithuania / luxembourgish; luxembourg /
macedonian; macedonia / malaysian; malaysia / maltese; malta / mexican; mexico /
moldovan; moldova / mongolian; mongolia / moroccan; morocco / namibian; namibia / nepalese; nepal /
new_zealander; new_zealand / nicaraguan; nicaragua / nigerian; nigeria /
north_korean; north_korea / norwegian; norway / pakistani; pakistan / palestinian; palestine /
panamanian; panama / paraguayan; paraguay / peruvian; peru / polish; poland /
portuguese; portugal / qatari; qatar / romanian; romania / russian; russia / rwandan; rwanda /
salvadoran; el_salvador / saudi; saudi_arabia / scottish; scotland / senegalese; senegal /
serbian; serbia / singaporean; singapore / slovak; slovakia / slovene slovenian; slovenia /
somali; somalia / south_african; south_africa / south_korean; south_korea / spanish; spain /
sri_lankan; sri_lanka / sudanese; sudan / swedish; sweden / swiss; switzerland / syrian; syria /
taiwanese; taiwan / tanzanian; tanzania / thai; thailand / tunisian; tunisia / turkish; turkey /
ugandan; uganda / ukrainian; ukraine / uruguayan; uruguay / uzbek; uzbekistan /
venezuelan; venezuela / vietnamese; vietnam / welsh; wales / yemeni; yemen / zambian; zambia /
zimbabwean; zimbabwe
"""
_INCLUDES = {
    "british": ("english", "scottish", "welsh", "irish"),
    "korean": ("north korean", "south korean"),
}


def _read() -> tuple[dict[str, str], dict[str, str]]:
    adjectives: dict[str, str] = {}
    countries: dict[str, str] = {}
    for entry in _TABLE.split("/"):
        adjective, _, country = entry.partition(";")
        forms = [word.replace("_", " ") for word in adjective.split()]
        names = [word.replace("_", " ") for word in country.split()]
        adjectives |= dict.fromkeys(forms, forms[0])
        countries |= dict.fromkeys(names, forms[0])
    return adjectives, countries


#: Nationality -> nation, and country -> nation. A nation is identified by its first adjective.
NATIONALITIES, COUNTRIES = _read()
#: The nationalities and countries of more than one word.
MULTIWORD_NAMES = frozenset(name for name in (*NATIONALITIES, *COUNTRIES) if " " in name)


def overlap(left: str, right: str) -> bool:
    """Return whether one of two nations includes the other."""
    return right in _INCLUDES.get(left, ()) or left in _INCLUDES.get(right, ())


_SMALL = SMALL | TENS
_SMALL |= {f"{ten}-{unit}": TENS[ten] + SMALL[unit] for ten in TENS for unit in list(SMALL)[1:10]}
_NUMBER = re.compile(r"[0-9]{1,12}(?:,[0-9]{3})*(?:\.[0-9]{1,6})?")
_DAY = re.compile(r"[12]?[0-9]|3[01]")


@lru_cache(maxsize=65536)
def value(norm: str) -> tuple[str, str] | None:
    """Return the kind and the value of a normalised word, or None if it has no value.

    Kinds are ``year``, ``decade``, ``ordinal``, ``number``, ``month``, ``nationality`` and
    ``country``: ``"3rd"`` and ``"third"`` have the same value, ``("ordinal", "3")``.
    """
    if YEAR.fullmatch(norm):
        return "year", norm
    if DECADE.fullmatch(norm):
        return "decade", norm
    if norm in ORDINALS:
        return "ordinal", str(ORDINALS[norm])
    if match := ORDINAL.fullmatch(norm):
        return "ordinal", match[1].lstrip("0") or "0"
    if (number := _number(norm)) is not None:
        return "number", f"{number:.6f}".rstrip("0").rstrip(".")
    if norm in MONTHS:
        return "month", norm
    if norm in NATIONALITIES:
        return "nationality", NATIONALITIES[norm]
    if norm in COUNTRIES:
        return "country", COUNTRIES[norm]
    return None


def number(norm: str) -> float | None:
    """Return the number or year that a normalised word states, or None."""
    return float(norm) if YEAR.fullmatch(norm) else _number(norm)


def excludes(claim: str, evidence: str) -> bool:
    """Return whether two normalised words have different values of one kind.

    "One" excludes nothing, since it is a pronoun as often as a number. Nor do countries, since one
    thing can involve several, or nationalities of which one includes the other.
    """
    claimed, stated = value(claim), value(evidence)
    if claimed is None or stated is None or "one" in (claim, evidence):
        return False
    if {claimed[0], stated[0]} == {"decade", "year"}:
        return not is_year_of(claim, evidence) and not is_year_of(evidence, claim)
    if claimed[0] != stated[0] or claimed[0] == "country":
        return False
    return claimed[1] != stated[1] and not overlap(claimed[1], stated[1])


def same_value(claim: str, evidence: str) -> bool:
    """Return whether two normalised words have the same value ("3rd", "third"; "Iraqi", "Iraq")."""
    claimed, stated = value(claim), value(evidence)
    if claimed is None or stated is None or claimed[1] != stated[1]:
        return False
    return claimed[0] == stated[0] or {claimed[0], stated[0]} in _COMPARABLE_KINDS


def is_year_of(year: str, decade: str) -> bool:
    """Return whether the first normalised word is a year of the second, a decade."""
    return bool(YEAR.fullmatch(year) and DECADE.fullmatch(decade)) and year[:3] == decade[:3]


_COMPARABLE_KINDS = ({"nationality", "country"}, {"number", "year"})


def merge_values(norms: Sequence[str]) -> list[str]:
    """Return the words of a span with each value of several words merged into one word.

    Spelled numbers become digits ("two hundred", "200"), days beside a month become ordinals ("28",
    "28th"), and names of countries keep their space ("united states").
    """
    words: list[str] = []
    at = 0
    while at < len(norms):
        end, amount = _read_number(norms, at)
        if end > at + 1:
            words.append(f"{amount:.6f}".rstrip("0").rstrip("."))
        elif " ".join(norms[at : at + 2]) in MULTIWORD_NAMES:
            end = at + 2
            words.append(" ".join(norms[at:end]))
        else:
            beside = (*norms[max(at - 1, 0) : at], *norms[at + 1 : at + 2])
            day = _DAY.fullmatch(norms[at]) and not MONTHS.keys().isdisjoint(beside)
            words.append(f"{int(norms[at])}th" if day else norms[at])
            end = at + 1
        at = end
    return words


def _number(norm: str) -> float | None:
    if norm in _SMALL:
        return float(_SMALL[norm])
    return float(norm.replace(",", "")) if _NUMBER.fullmatch(norm) else None


def _read_number(norms: Sequence[str], at: int) -> tuple[int, float]:
    """Return the end and the value of the number that begins at word `at`; end `at` if none."""
    total, part, end = 0.0, 0.0, at
    last_scale = float("inf")  # scales must decrease: millions before thousands
    while end < len(norms):
        amount, scale = _number(norms[end]), SCALES.get(norms[end])
        if scale == 100 and 0 < part < 10:
            part *= 100
        elif scale is not None and scale > 100 and part and scale < last_scale:
            total, part, last_scale = total + part * scale, 0.0, scale
        elif amount is not None and _continues(
            norms[end], part, amount, first=end == at, last_scale=last_scale
        ):
            part += amount
        elif norms[end] == "and" and end > at and norms[end - 1] in SCALES:
            following = _number(norms[end + 1]) if end + 1 < len(norms) else None
            if following is None or following >= 100:
                break
        else:
            break
        end += 1
    return end, total + part


def _continues(norm: str, part: float, amount: float, *, first: bool, last_scale: float) -> bool:
    """Return whether a word can continue a number whose value is `part` ("forty", then "two")."""
    if first:
        return True
    if norm not in _SMALL or amount == 0:
        return False
    if part == 0:
        return amount < last_scale
    if part % 100 == 0:
        return amount < 100
    return part % 10 == 0 and part % 100 >= 20 and amount < 10


# A share is a set of four possibilities, one bit each: none, a minority, a majority, all.
_SHARES = {
    "no": 0b0001,
    "none": 0b0001,
    "some": 0b1110,
    "several": 0b1110,
    "most": 0b1100,
    "all": 0b1000,
    "every": 0b1000,
    "each": 0b1000,
}
_EVERYTHING = 0b1111
_AT_LEAST, _MORE, _AT_MOST, _FEWER, _EXACTLY = range(5)
_MODIFIERS = {
    ("no", "fewer", "than"): _AT_LEAST,
    ("no", "less", "than"): _AT_LEAST,
    ("no", "more", "than"): _AT_MOST,
    ("at", "least"): _AT_LEAST,
    ("more", "than"): _MORE,
    ("at", "most"): _AT_MOST,
    ("up", "to"): _AT_MOST,
    ("fewer", "than"): _FEWER,
    ("less", "than"): _FEWER,
    ("over",): _MORE,
    ("under",): _FEWER,
    ("exactly",): _EXACTLY,
}
#: The words that quantifiers consist of.
QUANTIFIER_WORDS = frozenset(_SHARES).union(*_MODIFIERS)
# A number and where the amounts end: just below it (-1), at it (0) or just above it (1).
Bound = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Amounts:
    """The non-negative amounts from `low` to `high`, both inclusive."""

    low: Bound = (0.0, 0)
    high: Bound = (float("inf"), 0)


@dataclass(frozen=True, slots=True)
class Share:
    """A set of shares of all things, one bit each."""

    bits: int


Quantifier = Amounts | Share


def quantifier(norms: Sequence[str]) -> tuple[Quantifier | None, list[str]]:
    """Return the first quantifier of a span, or None, and the other words.

    A number without a modifier is not a quantifier here, since it may be a date or part of a name;
    see `amount`.
    """
    for at in range(len(norms)):
        for modifier, kind in _MODIFIERS.items():
            end = at + len(modifier)
            quantity = number(norms[end]) if end < len(norms) else None
            if quantity is not None and tuple(norms[at:end]) == modifier:
                return _amounts(kind, quantity), [*norms[:at], *norms[end + 1 :]]
        share = _SHARES.get(norms[at])
        if share is not None:
            negated = at > 0 and norms[at - 1] == "not"
            bits = _EVERYTHING ^ share if negated else share
            return Share(bits), [*norms[: at - negated], *norms[at + 1 :]]
    return None, list(norms)


def amount(norms: Sequence[str]) -> tuple[Amounts | None, list[str]]:
    """Return the amount that the only number of a span states, or None, and the other words."""
    places = [at for at, norm in enumerate(norms) if number(norm) is not None]
    if len(places) != 1:
        return None, list(norms)
    (at,) = places
    quantity = number(norms[at])
    assert quantity is not None
    return _amounts(_EXACTLY, quantity), [*norms[:at], *norms[at + 1 :]]


def relation(claim: Quantifier, evidence: Quantifier) -> NatOp | None:
    """Return the relation of the claim's quantifier to the evidence's, or None if it is unknown."""
    if isinstance(claim, Share) and isinstance(evidence, Share):
        return _share_relation(claim.bits, evidence.bits)
    if isinstance(claim, Amounts) and isinstance(evidence, Amounts):
        return _amount_relation(claim, evidence)
    return None


def _amounts(kind: int, quantity: float) -> Amounts:
    low, high = Amounts().low, Amounts().high
    if kind in (_AT_LEAST, _EXACTLY):
        low = quantity, 0
    if kind in (_AT_MOST, _EXACTLY):
        high = quantity, 0
    if kind == _MORE:
        low = quantity, 1
    if kind == _FEWER:
        high = quantity, -1
    return Amounts(low, high)


def _share_relation(claim: int, evidence: int) -> NatOp | None:
    if claim == evidence:
        return NatOp.EQUIVALENCE
    if not claim & evidence:
        exhaustive = claim | evidence == _EVERYTHING
        return NatOp.NEGATION if exhaustive else NatOp.ALTERNATION
    if claim & evidence == evidence:
        return NatOp.FORWARD
    return NatOp.REVERSE if claim & evidence == claim else None


def _amount_relation(claim: Amounts, evidence: Amounts) -> NatOp | None:
    if claim == evidence:
        return NatOp.EQUIVALENCE
    lower, upper = sorted((claim, evidence), key=lambda amounts: amounts.low)
    if upper.low > lower.high:
        adjacent = upper.low[0] == lower.high[0] and upper.low[1] - lower.high[1] == 1
        exhaustive = lower.low == Amounts().low and upper.high == Amounts().high
        return NatOp.NEGATION if adjacent and exhaustive else NatOp.ALTERNATION
    if claim.low <= evidence.low and evidence.high <= claim.high:
        return NatOp.FORWARD
    inside = evidence.low <= claim.low and claim.high <= evidence.high
    return NatOp.REVERSE if inside else None
