"""Quantifiers: how many of the things that a span is about it speaks of.

"Every", "most", "some" and "no" say which share of them; "at least seven" and "fewer than seven"
say how many. Both name a set of possibilities, and two such sets stand in one of the relations of
natural logic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs.lexicons.values import number
from proofs.logic.operators import NatOp

# A share of the things is none, a minority, a majority, or all of them: one bit for each.
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
#: Words that quantifiers are made of.
QUANTIFYING = frozenset(_SHARES).union(*_MODIFIERS)
# A bound is a number and the side of it where the amounts end: just below, at, or just above it.
Bound = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts from `low` to `high`, both included; not negative."""

    low: Bound = (0.0, 0)
    high: Bound = (float("inf"), 0)


@dataclass(frozen=True, slots=True)
class Share:
    """A set of shares of all things, as bits."""

    bits: int


Quantifier = Amounts | Share


def quantifier(norms: Sequence[str]) -> tuple[Quantifier | None, list[str]]:
    """Return the first quantifier of a span, if it has one, and the other words.

    A number without a modifier is none, since it may be a date or part of a name; see `amount`.
    """
    for at in range(len(norms)):
        for modifier, kind in _MODIFIERS.items():
            end = at + len(modifier)
            named = number(norms[end]) if end < len(norms) else None
            if named is not None and tuple(norms[at:end]) == modifier:
                return _amounts(kind, named), [*norms[:at], *norms[end + 1 :]]
        share = _SHARES.get(norms[at])
        if share is not None:
            denied = at > 0 and norms[at - 1] == "not"
            bits = _EVERYTHING ^ share if denied else share
            return Share(bits), [*norms[: at - denied], *norms[at + 1 :]]
    return None, list(norms)


def amount(norms: Sequence[str]) -> tuple[Amounts | None, list[str]]:
    """Return the amount that a span names by its only number, and the other words."""
    places = [at for at, norm in enumerate(norms) if number(norm) is not None]
    if len(places) != 1:
        return None, list(norms)
    (at,) = places
    named = number(norms[at])
    assert named is not None
    return _amounts(_EXACTLY, named), [*norms[:at], *norms[at + 1 :]]


def relation(claim: Quantifier, evidence: Quantifier) -> NatOp | None:
    """Return how a claim's quantifier is related to the evidence's, None if that says nothing."""
    if isinstance(claim, Share) and isinstance(evidence, Share):
        return _of_shares(claim.bits, evidence.bits)
    if isinstance(claim, Amounts) and isinstance(evidence, Amounts):
        return _of_amounts(claim, evidence)
    return None


def _amounts(kind: int, named: float) -> Amounts:
    low, high = Amounts().low, Amounts().high
    if kind in (_AT_LEAST, _EXACTLY):
        low = named, 0
    if kind in (_AT_MOST, _EXACTLY):
        high = named, 0
    if kind == _MORE:
        low = named, 1
    if kind == _FEWER:
        high = named, -1
    return Amounts(low, high)


def _of_shares(claim: int, evidence: int) -> NatOp | None:
    if claim == evidence:
        return NatOp.EQUIVALENCE
    if not claim & evidence:
        whole = claim | evidence == _EVERYTHING
        return NatOp.NEGATION if whole else NatOp.ALTERNATION
    if claim & evidence == evidence:
        return NatOp.FORWARD
    return NatOp.REVERSE if claim & evidence == claim else None


def _of_amounts(claim: Amounts, evidence: Amounts) -> NatOp | None:
    if claim == evidence:
        return NatOp.EQUIVALENCE
    lower, upper = sorted((claim, evidence), key=lambda one: one.low)
    if upper.low > lower.high:
        touching = upper.low[0] == lower.high[0] and upper.low[1] - lower.high[1] == 1
        whole = lower.low == Amounts().low and upper.high == Amounts().high
        return NatOp.NEGATION if touching and whole else NatOp.ALTERNATION
    if claim.low <= evidence.low and evidence.high <= claim.high:
        return NatOp.FORWARD
    inside = evidence.low <= claim.low and claim.high <= evidence.high
    return NatOp.REVERSE if inside else None
