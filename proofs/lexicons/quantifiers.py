"""Quantifiers: the share or the number of things that a span speaks of.

"Every", "most", "some" and "no" state a share; "at least seven" and "fewer than seven" state a
number. Either is a set of possibilities, and the relation of two quantifiers is that of their sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs.lexicons.values import number
from proofs.logic.operators import NatOp

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
