"""Where sentences may end, and what of them is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.synthesis.clauses import joined, piece_ends, readable, sentence, without_parentheses


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
def test_pieces(text: str, pieces: list[str]) -> None:
    assert [text[:end] for end in piece_ends(text)] == pieces


def test_parentheses_and_marks() -> None:
    text = "Ada (born 1941 (in Rome), a town), is\n a painter [1] , they say ."
    assert without_parentheses(text) == "Ada, is a painter, they say."
    assert joined("a film", "", ", made by", "Ada ,", ", and") == "a film, made by Ada, and"
    assert sentence("the film won,;") == "The film won."
    assert not readable('it is "open') and not readable("a state that, with others, won")
    assert readable("Ada is a painter, and a teacher")


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    plain = without_parentheses(text)
    ends = list(piece_ends(plain))
    assert ends == sorted(set(ends)) and all(0 < end <= len(plain) for end in ends)
    assert joined(joined(plain, plain)) == joined(plain, plain)
