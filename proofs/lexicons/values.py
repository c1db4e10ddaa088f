"""Words with a value (numbers, years, months, nationalities and so on) and quantifiers.

Different values of one kind exclude each other ("born in 1973", "born in 1980"), which is the
alternation operator. "Every", "most", "some" and "no" state a share; "at least seven" and "fewer
than seven" state a number. Either is a set of possibilities, and the relation of two quantifiers is
that of their sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

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


def _nations(part: int) -> dict[str, str]:
    entries = [entry.split(";") for entry in WORDS["nations"].split("/")]
    return {
        name.replace("_", " "): entry[0].split()[0].replace("_", " ")
        for entry in entries
        for name in entry[part].split()
    }


#: Nationality -> nation, and country -> nation. A nation is identified by its first adjective.
NATIONALITIES, COUNTRIES = _nations(0), _nations(1)
_NAMES_OF_TWO_WORDS = frozenset(name for name in (*NATIONALITIES, *COUNTRIES) if " " in name)
_INCLUDED = [{"british", each} for each in ("english", "scottish", "welsh", "irish")]
_INCLUDED += [{"korean", each} for each in ("north korean", "south korean")]
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
    return claimed[1] != stated[1] and {claimed[1], stated[1]} not in _INCLUDED


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
        length = 1 + rest.count(" ", 0, spelled[1]) if spelled else 1
        scale = SCALES.get(norms[at + 1], 1) if at + 1 < len(norms) else 1
        if spelled and length > 1:
            words.append(_digits(spelled[0]))
        elif scale > 100 and _NUMBER.fullmatch(norms[at]):
            words.append(_digits(float(norms[at].replace(",", "")) * scale))
            length = 2
        elif " ".join(norms[at : at + 2]) in _NAMES_OF_TWO_WORDS:
            words.append(" ".join(norms[at : at + 2]))
            length = 2
        else:
            beside = {*norms[max(at - 1, 0) : at], *norms[at + 1 : at + 2]}
            is_day = _DAY.fullmatch(norms[at]) and beside & MONTHS.keys()
            words.append(f"{int(norms[at])}th" if is_day else norms[at])
        at += length
    return words


def _digits(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _number(norm: str) -> float | None:
    spelled = number_in_words(norm, 0)
    if spelled and spelled[1] == len(norm):
        return float(spelled[0])
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


# A number and where the amounts end: just below it (-1), at it (0) or just above it (1).
Bound = tuple[float, int]


def _sign(first: Bound, second: Bound) -> int:
    """Return the sign of a difference; sums of floats may differ in the last digit."""
    if math.isclose(first[0], second[0], rel_tol=1e-9):
        return (first[1] > second[1]) - (first[1] < second[1])
    return (first > second) - (first < second)


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts from `low` to `high`, both inclusive."""

    low: Bound = (-math.inf, 0)
    high: Bound = (math.inf, 0)

    def contains(self, other: Amounts) -> bool:
        """Return whether all amounts of another one are of this one."""
        return _sign(self.low, other.low) <= 0 <= _sign(self.high, other.high)

    def meets(self, other: Amounts) -> bool:
        """Return whether an amount is of both."""
        return _sign(self.low, other.high) <= 0 <= _sign(self.high, other.low)

    def exhausts(self, other: Amounts) -> bool:
        """Return whether all amounts are of one of two that do not meet."""
        lower, upper = sorted((self, other), key=lambda amounts: amounts.low)
        adjacent = upper.low[0] == lower.high[0] and upper.low[1] - lower.high[1] == 1
        return adjacent and lower.low == Amounts().low and upper.high == Amounts().high


MORE, AT_LEAST, FEWER, AT_MOST, EXACTLY = ">", ">=", "<", "<=", "="
#: Words before a number that make it a bound.
MODIFIERS = {
    tuple(phrase.split()): kind
    for kind, phrases in {
        AT_LEAST: "at least/no fewer than/no less than",
        AT_MOST: "at most/up to/no more than",
        MORE: "more than/over",
        FEWER: "fewer than/less than/under",
        EXACTLY: "exactly",
    }.items()
    for phrase in phrases.split("/")
}


def bounded(amounts: Amounts, kind: str) -> Amounts:
    """Return the amounts of "more than" some amounts, or another kind of bound."""
    (low, below), (high, above) = amounts.low, amounts.high
    bounds = {
        MORE: Amounts(low=(high, above + 1)),
        AT_LEAST: Amounts(low=amounts.low),
        FEWER: Amounts(high=(low, below - 1)),
        AT_MOST: Amounts(high=amounts.high),
    }
    return bounds.get(kind, amounts)


# The possible shares of all things: none, a minority, a majority, all.
_SHARES = {"no": 0b0001, "none": 0b0001, "some": 0b1110, "several": 0b1110, "most": 0b1100}
_SHARES |= dict.fromkeys(("all", "every", "each"), 0b1000)
_EVERYTHING = 0b1111
#: The words that quantifiers consist of.
QUANTIFIER_WORDS = frozenset(_SHARES).union(*MODIFIERS)


@dataclass(frozen=True, slots=True)
class Share:
    """A set of shares of all things, one bit each."""

    bits: int

    def contains(self, other: Share) -> bool:
        """Return whether all shares of another one are of this one."""
        return self.bits & other.bits == other.bits

    def meets(self, other: Share) -> bool:
        """Return whether a share is of both."""
        return self.bits & other.bits != 0

    def exhausts(self, other: Share) -> bool:
        """Return whether all shares are of one of two."""
        return self.bits | other.bits == _EVERYTHING


Quantifier = Amounts | Share


def quantifier(norms: Sequence[str]) -> tuple[Quantifier | None, list[str]]:
    """Return the first quantifier of a span, or None, and the other words.

    A number without a modifier is not a quantifier here, since it may be a date or part of a name;
    see `amount`.
    """
    for at in range(len(norms)):
        for modifier, kind in MODIFIERS.items():
            end = at + len(modifier)
            quantity = number(norms[end]) if end < len(norms) else None
            if quantity is not None and tuple(norms[at:end]) == modifier:
                return bounded(_exactly(quantity), kind), [*norms[:at], *norms[end + 1 :]]
        share = _SHARES.get(norms[at])
        if share is not None:
            negated = at > 0 and norms[at - 1] == "not"
            bits = _EVERYTHING ^ share if negated else share
            return Share(bits), [*norms[: at - negated], *norms[at + 1 :]]
    return None, list(norms)


def amount(norms: Sequence[str]) -> tuple[Amounts | None, list[str]]:
    """Return the amount that the only number of a span states, or None, and the other words."""
    found = [(at, known) for at, norm in enumerate(norms) if (known := number(norm)) is not None]
    if len(found) != 1:
        return None, list(norms)
    ((at, quantity),) = found
    return _exactly(quantity), [*norms[:at], *norms[at + 1 :]]


def _exactly(quantity: float) -> Amounts:
    return Amounts((quantity, 0), (quantity, 0))


def relation(claim: Quantifier, evidence: Quantifier) -> NatOp | None:
    """Return the relation of the claim's quantifier to the evidence's, or None if it is unknown."""
    one: Any = claim
    other: Any = evidence
    if type(one) is not type(other):
        return None
    if one == other:
        return NatOp.EQUIVALENCE
    if not one.meets(other):
        return NatOp.NEGATION if one.exhausts(other) else NatOp.ALTERNATION
    if one.contains(other):
        return NatOp.FORWARD
    return NatOp.REVERSE if other.contains(one) else None
