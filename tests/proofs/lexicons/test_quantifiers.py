"""Quantifiers compared with the sets that they denote."""

from itertools import product

import pytest

from proofs.lexicons.quantifiers import Amounts, Share, amount, quantifier, relation
from proofs.logic.operators import NatOp

TEXTS = [
    *(f"{words} {n}" for n in (2, 3, 4) for words in ("at least", "at most", "more than",
      "fewer than", "less than", "over", "under", "up to", "exactly", "no fewer than",
      "no more than")),
]  # fmt: skip
# Halves represent the numbers between whole numbers.
POSSIBLE = [n / 2 for n in range(18)]


def holds(quantity, n):
    (low, above), (high, below) = quantity.low, quantity.high
    return (n > low if above else n >= low) and (n < high if below else n <= high)


def relation_of(claim, evidence, everything):
    """Return the relation of evidence and claim by the definitions of natural logic."""
    if claim == evidence:
        return NatOp.EQUIVALENCE
    if evidence < claim:
        return NatOp.FORWARD
    if claim < evidence:
        return NatOp.REVERSE
    if not claim & evidence:
        return NatOp.NEGATION if claim | evidence == everything else NatOp.ALTERNATION
    return None


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("at least 3", {3, 3.5, 4}),
        ("at most 3", {2, 2.5, 3}),
        ("up to 3", {2, 2.5, 3}),
        ("more than 3", {3.5, 4}),
        ("over 3", {3.5, 4}),
        ("fewer than 3", {2, 2.5}),
        ("less than 3", {2, 2.5}),
        ("under 3", {2, 2.5}),
        ("exactly 3", {3}),
        ("no more than 3", {2, 2.5, 3}),
        ("no fewer than 3", {3, 3.5, 4}),
    ],
)
def test_amounts_hold_what_their_words_say(text, holding):
    quantity = read(text)
    assert isinstance(quantity, Amounts)
    assert {n for n in (2, 2.5, 3, 3.5, 4) if holds(quantity, n)} == holding


def read(text):
    quantity, rest = quantifier([*text.split(), "things"])
    assert quantity is not None
    assert rest == ["things"]
    return quantity


def test_amount_relations_equal_set_relations():
    for left, right in product(TEXTS, repeat=2):
        claim, evidence = read(left), read(right)
        assert isinstance(claim, Amounts)
        assert isinstance(evidence, Amounts)
        sets = [{n for n in POSSIBLE if holds(q, n)} for q in (claim, evidence)]
        assert relation(claim, evidence) is relation_of(*sets, set(POSSIBLE)), (left, right)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("all", {5}),
        ("every", {5}),
        ("each", {5}),
        ("no", {0}),
        ("none", {0}),
        ("some", {1, 2, 3, 4, 5}),
        ("several", {1, 2, 3, 4, 5}),
        ("most", {3, 4, 5}),
        ("not all", {0, 1, 2, 3, 4}),
        ("not most", {0, 1, 2}),
    ],
)
def test_share_relations_equal_set_relations(text, shares):
    everything = set(range(6))
    sets_of_words = {"all": {5}, "no": {0}, "some": everything - {0}, "most": {3, 4, 5}}
    for right, counts in sets_of_words.items():
        expected = relation_of(shares, counts, everything)
        assert relation(read(text), read(right)) is expected, (text, right)


def test_other_words_are_no_quantifiers():
    assert quantifier(["over", "things"]) == (None, ["over", "things"])
    assert quantifier(["in", "1873"]) == (None, ["in", "1873"])
    assert amount(["seven", "things"])[1] == ["things"]
    assert amount(["seven", "of", "9"])[0] is None
    assert relation(Share(1), Amounts()) is None
