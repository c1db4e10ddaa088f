"""Questions for uncovered spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.logic.questions import question


@pytest.mark.parametrize(
    ("before", "span", "expected"),
    [
        ("It was hosted", "by a Belgian comedian", "Which Belgian comedian?"),
        ("", "A film that Bo Lind starred", None),  # something follows
        ("", "A songwriter", "Which songwriter?"),
        ("She sang", "for a band that Bo Lind founded", None),
        ("She sang", "for a band that toured Peru", "Which band that toured Peru?"),
        ("Bo was born", "on 3 May 1874.", "When?"),
        ("Bo was born", "in May", "When?"),
        ("She met", "the author of Rain of Glass,", "Who is the author of Rain of Glass?"),
        ("It stands in", "the capital of Peru", "What is the capital of Peru?"),
        ("She met", 'the author of "Rain', None),  # cut within a title
        ("She met", "the author of a novel", None),
        ("Bo Lind", "is a Belgian comedian", None),
        ("Bo Lind is", "a Belgian comedian", None),  # that he is one is in question, not which
        ("She won", "a lot of prizes", None),
        ("It is", "in a the house", None),
        ("It lasted", "for a long time", None),
        ("She played", "with May", None),
        ("It lies in", "the south of Peru", None),
        ("Bo", "died", None),
        ("", "Bo Lind", None),
        ("", "...", None),
    ],
)
def test_questions(before: str, span: str, expected: str | None) -> None:
    assert question(before, span) == expected


@given(st.text(), st.text(min_size=1))
def test_any_span_has_a_question_or_none(before: str, span: str) -> None:
    asked = question(before, span)
    assert asked is None or asked.endswith("?")
