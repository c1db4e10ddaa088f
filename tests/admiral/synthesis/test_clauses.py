"""Clause boundaries, removal of parentheses, and joining of clauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.synthesis.clauses import (
    clause_ends,
    is_parsable,
    join_parts,
    strip_parentheses,
    to_sentence,
)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (
            "an American comedian, writer and host who was born in Evanston",
            [
                "an American comedian",
                "an American comedian, writer and host",
                "an American comedian, writer and host who was born in Evanston",
            ],
        ),
        ("a film directed by Ada Brook", ["a film", "a film directed by Ada Brook"]),
        ("was released in 1990", ["was released in 1990"]),  # not "was released"
        (
            "won on April 3, 1990, in Rome",
            ["won on April 3, 1990", "won on April 3, 1990, in Rome"],
        ),
        ('sang "Go, in, on" twice', ['sang "Go, in, on" twice']),
        (
            "led the town and founded a school",
            ["led the town", "led the town and founded a school"],
        ),
        ("a state that, with", ["a state"]),
        ("", []),
    ],
)
def test_clause_ends(text, pieces):
    assert [text[:end] for end in clause_ends(text)] == pieces


def test_parentheses_and_punctuation():
    text = "Ada (born 1941 (in Rome), a town), is\n a painter [1] , they say ."
    assert strip_parentheses(text) == "Ada, is a painter, they say."
    assert join_parts("a film", "", ", made by", "Ada ,", ", and") == "a film, made by Ada, and"
    assert to_sentence("the film won,;") == "The film won."
    assert not is_parsable('it is "open')
    assert not is_parsable("a state that, with others, won")
    assert is_parsable("Ada is a painter, and a teacher")


@given(st.text(max_size=200))
def test_clause_functions_accept_any_text(text):
    plain = strip_parentheses(text)
    ends = list(clause_ends(plain))
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(plain) for end in ends)
    assert join_parts(join_parts(plain, plain)) == join_parts(plain, plain)
