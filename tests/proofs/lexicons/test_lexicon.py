"""Tests of the built-in lexicon and its relations of spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import BuiltinLexicon, NatOp, default_lexicon
from proofs.logic.words import normalise


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("was hosted", "hosts", "="),
        ("The Port Merrow lighthouse", "Port Merrow's Lighthouse,", "="),
        ("the third lighthouse", "the 3rd lighthouse", "="),
        ("twelve engineers", "12 engineers", "="),
        ("born in 1873", "born in 1874", "|"),
        ("1,000 engineers", "2000 engineers", None),  # 2000 reads as a year
        ("2,000 engineers", "2000 engineers", "="),
        ("two hundred and five engineers", "205 engineers", "="),
        ("1.5 million engineers", "1,500,000 engineers", "="),
        ("twenty-one engineers", "22 engineers", "|"),
        ("on December 28, 1973", "December 28th 1973", "="),
        ("on 3 May", "the third of May", "="),
        ("in the 1870s", "in 1873", "<"),
        ("in 1873", "in the 1870s", ">"),
        ("in the 1870s", "in 1883", "|"),
        ("from Iraq", "Iraqi", "="),
        ("of the United States", "an American", "="),
        ("in New Zealand", "in Zealand", None),
        ("in Iraq", "in Iran", None),
        ("not an Irish engineer", "an Italian engineer", "<"),
        ("an Irish engineer", "not an Italian engineer", ">"),
        ("all engineers", "some engineers", ">"),
        ("some engineers", "all engineers", "<"),
        ("most engineers", "no engineers", "|"),
        ("some engineers", "no engineers", "!"),
        ("not all engineers", "all engineers", "!"),
        ("no engineers", "no engineers", "="),
        ("at least five engineers", "7 engineers", "<"),
        ("7 engineers", "at least five engineers", ">"),
        ("at most five engineers", "7 engineers", "|"),
        ("at most five engineers", "more than 5 engineers", "!"),
        ("more than five engineers", "fewer than 9 engineers", None),
        ("exactly five engineers", "five engineers", "="),
        ("at least five comedians", "7 engineers", None),
        ("1,000 engineers", "900 engineers", "|"),
        ("the third lighthouse", "the second lighthouse", "|"),
        ("an Irish engineer", "an Italian engineer", "|"),
        ("an English engineer", "a British engineer", None),
        ("was an engineer", "was not an engineer", "!"),
        ("never an engineer", "an engineer", "!"),
        ("was not an engineer", "was not an engineer", "="),
        ("one engineer", "two engineers", None),
        ("an engineer", "a comedian", None),
        ("an Irish engineer born in 1873", "an Irish engineer", None),
        ("of the", "of the", None),
        ("an engineer", "", None),
    ],
)
def test_builtin_relations(claim: str, evidence: str, expected: str | None) -> None:
    relation = default_lexicon().relation(claim, evidence)
    assert (relation and relation.value) == expected


WORDS = ["irish", "ireland", "british", "1873", "1,873", "1870s", "1880s", "third", "3rd", "three",
         "may", "engineer", "engineers", "united states", "one", "2", "not", "\x16"]  # fmt: skip
words = st.sampled_from(WORDS) | st.text(min_size=1, max_size=6).map(normalise)
CONVERSE = {NatOp.FORWARD: NatOp.REVERSE, NatOp.REVERSE: NatOp.FORWARD}


@given(words, words)
def test_word_relations_have_converses(left: str, right: str) -> None:
    lexicon = BuiltinLexicon()
    forth, back = lexicon.word_relation(left, right), lexicon.word_relation(right, left)
    assert back == CONVERSE.get(forth, forth)
    assert lexicon.word_relation(left, left) is NatOp.EQUIVALENCE


@given(st.lists(st.sampled_from([*WORDS, "at", "least", "no", "all", "some"]), max_size=5))
def test_span_is_equivalent_to_itself_or_unknown(parts: list[str]) -> None:
    span = " ".join(parts)
    assert default_lexicon().relation(span, span) in (NatOp.EQUIVALENCE, None)
