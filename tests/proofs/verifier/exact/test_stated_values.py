"""Numbers in every spelling, and bounds beside an oracle that tries all amounts."""

from itertools import product

import pytest

from proofs.verifier.stated_values import decide
from proofs.verifier.statements import read_clause

BOUNDS = {
    "": lambda amount, number: amount == number,
    "exactly": lambda amount, number: amount == number,
    "more than": lambda amount, number: amount > number,
    "over": lambda amount, number: amount > number,
    "at least": lambda amount, number: amount >= number,
    "no fewer than": lambda amount, number: amount >= number,
    "fewer than": lambda amount, number: amount < number,
    "at most": lambda amount, number: amount <= number,
    "no more than": lambda amount, number: amount <= number,
    "up to": lambda amount, number: amount <= number,
}


def only_value(text):
    values = [item.value for item in read_clause(text).items if item.value is not None]
    assert len(values) == 1, text
    return values[0]


def test_bounds_decide_as_all_amounts_do():
    first = 7
    for claim, stated, second in product(BOUNDS, BOUNDS, (4, 6, 7, 8, 12)):
        label = decide(
            only_value(f"They sold {claim} {first} tickets."),
            only_value(f"They sold {stated} {second} tickets."),
        )
        possible = [half / 2 for half in range(80) if BOUNDS[stated](half / 2, second)]
        true = [BOUNDS[claim](amount, first) for amount in possible]
        expected = "entailment" if all(true) else None if any(true) else "contradiction"
        assert label == expected, (claim, stated, second)


def test_years_of_a_century():
    for number, offset, mark in product(range(12, 21), (-1, 0, 1, 50, 99, 100, 101), " -"):
        claimed = only_value(f"It fell in the {number}th{mark}century.")
        label = decide(claimed, only_value(f"It fell in {100 * (number - 1) + offset}."))
        disputed = offset in (0, 100)
        inside = 0 < offset < 100
        assert label == (None if disputed else "entailment" if inside else "contradiction")


@pytest.mark.parametrize(
    ("first", "second", "label"),
    [
        ("48 hours", "two days", "entailment"),
        ("3 kilograms", "3,000 g", "entailment"),
        ("5 miles", "8 km", "entailment"),
        ("5 miles", "5 km", "contradiction"),
        ("5 miles", "5 kg", None),
        ("fifty-metre", "50 m", "entailment"),
        ("6 feet 2 inches", "6 feet", "contradiction"),
        ("$5 million", "5 million dollars", "entailment"),
        ("$5 million", "5 million euros", "contradiction"),
        ("$5 million", "6 million euros", None),
        ("$5 million", "US$5 million", None),
        ("the 19th century", "the nineteenth century", "entailment"),
        ("the 1840s", "about 1850", None),
        ("half past 3", "15:30", None),
        ("3:30 p.m.", "15:30", "entailment"),
        ("three quarters of all", "75 % of all", "entailment"),
        ("the third", "3rd", "entailment"),
        ("the third", "the twenty-third", "contradiction"),
        ("May 1932", "12 May 1932", "entailment"),
        ("12 May 1932", "May 1932", None),
        ("12 May", "May 13", "contradiction"),
        ("between 3 and 5 km", "4,000 m", "entailment"),
        ("at least 50 per cent", "60%", "entailment"),
        ("3 or more", "2", "contradiction"),
    ],
)
def test_values(first, second, label):
    values = [
        next(item.value for item in read_clause(f"It is {text}.").items if item.value is not None)
        for text in (first, second)
    ]
    assert decide(*values) == label
