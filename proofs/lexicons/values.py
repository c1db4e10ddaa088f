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
from importlib import resources

import yaml

from proofs.logic import NatOp

#: Lists of words.
WORDS: dict[str, str] = yaml.safe_load(
    (resources.files(__package__) / "words.yaml").read_text(encoding="utf-8")
)


def _numbered(names: str, first: int, step: int = 1) -> dict[str, int]:
    return {name: first + step * at for at, name in enumerate(names.split())}


#: Numbers below 20, and tens.
SMALL = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    0,
)
TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
SMALL_AND_TENS = SMALL | TENS
SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "lakh": 10**5, "million": 10**6}
SCALES |= {"crore": 10**7, "billion": 10**9, "trillion": 10**12}
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


_INCLUDES = {
    "british": ("english", "scottish", "welsh", "irish"),
    "korean": ("north korean", "south korean"),
}


def _read() -> tuple[dict[str, str], dict[str, str]]:
    adjectives: dict[str, str] = {}
    countries: dict[str, str] = {}
    for entry in WORDS["nations"].split("/"):
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


_SPELLED = SMALL_AND_TENS.copy()
_SPELLED |= {f"{ten}-{unit}": TENS[ten] + SMALL[unit] for ten in TENS for unit in list(SMALL)[1:10]}
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
        return "number", _digits(number)
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
        rest = " ".join(norms[at : at + _LONGEST_NUMBER])
        spelled = number_in_words(rest, 0, _LONGEST_NUMBER)
        scale = SCALES.get(norms[at + 1], 1) if at + 1 < len(norms) else 1
        digits = _NUMBER.fullmatch(norms[at])
        end = at + 1
        if spelled and " " in (read := rest[: spelled[1]]):
            words.append(_digits(float(spelled[0])))
            end = at + 1 + read.count(" ")
        elif digits and scale > 100:
            words.append(_digits(float(norms[at].replace(",", "")) * scale))
            end = at + 2
        elif " ".join(norms[at : at + 2]) in MULTIWORD_NAMES:
            words.append(" ".join(norms[at : at + 2]))
            end = at + 2
        else:
            beside = (*norms[max(at - 1, 0) : at], *norms[at + 1 : at + 2])
            day = _DAY.fullmatch(norms[at]) and not MONTHS.keys().isdisjoint(beside)
            words.append(f"{int(norms[at])}th" if day else norms[at])
        at = end
    return words


def _digits(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _number(norm: str) -> float | None:
    if norm in _SPELLED:
        return float(_SPELLED[norm])
    return float(norm.replace(",", "")) if _NUMBER.fullmatch(norm) else None


_LONGEST_NUMBER = 30
_WORD = re.compile(r"( and |[ -])?([A-Za-z]{1,12})(?!\w)")


def number_in_words(text: str, at: int, longest: int = 12) -> tuple[int, int, int] | None:
    """Return the number that words state from a place on, where it ends, and its last scale.

    The scale is that of the last word, as in "two or three hundred". None if there is no number.
    `longest`: how many words are read at most.
    """
    total, part, largest, last, end = 0, 0, 10**15, "", -1
    if text[at : at + 3].lower() == "an " or text[at : at + 2].lower() == "a ":
        at, part, last = text.index(" ", at) + 1, 1, "a"
    for _ in range(longest):
        match = _WORD.match(text, at)
        word = match[2].lower() if match else ""
        if not match or (match[1] if not last or last == "a" else not match[1]):
            break
        if match[1] == " and " and (last not in SCALES or word in SCALES or last == "dozen"):
            break
        if word in SCALES:
            scale = SCALES[word]
            if scale <= 100 and 0 < part < 100 and last != "dozen":
                part *= scale
            elif 100 < scale < largest and part:
                total, part, largest = total + part * scale, 0, scale
            else:
                break
        else:
            small, before = SMALL_AND_TENS.get(word), SMALL_AND_TENS.get(last, 0)
            if small is None or last in ("a", "dozen"):
                break
            if not last or last in SCALES or 0 < small < 10 <= 20 <= before:
                part += small
            elif 12 < before < 20 <= small and part == before and not total:
                part = 100 * part + small  # a year: nineteen eighty
            else:
                break
        last, at = word, match.end()
        end = at
    return (total + part, end, SCALES.get(last, 1)) if end > 0 else None


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
