"""The Python analyser gives known terms and those of Lucene."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.bm25 import jvm
from admiral.kb.bm25.analysis import MAX_WORD, terms
from admiral.kb.bm25.parameters import clean_index_text

TEXTS = [
    "The 66th awards were hosted by a comedian's daughter; O'Neil's U.S.A. tour cost 1,000.50.",
    "wi-fi foo_bar 'em rock'n'roll don't L'Oréal d'école dell'arte 'tis '90s a:b 1.a a.1 5,a",
    "possibly ably incredibly assembly apology logy technology psychology sky by relational",
    "日本語 カタカナ ひらがな 한국어 ภาษาไทย naïve",
    "e\u0301 \u0130stanbul ß \u01c5 x\u200dy ab\u00adcd",
    "²x½ ☃ __ ___a _1 ½ 👍 \U0001d4d0\U0001d4d1 ﬁne",
    "caresses ponies ties feed agreed plastered motoring hopping falling fizzed filing happy",
    "x" * (2 * MAX_WORD + 7) + " tail",
]


def test_words_stems_and_stop_words():
    assert terms("The painter's lamps were NOT singing, it is said: 3.14 & Zürich!") == [
        *("painter", "lamp", "were", "sing", "said", "3.14", "zürich")
    ]
    assert terms("") == terms("the of and") == terms(" \t&%$ ") == []


@pytest.mark.parametrize("text", TEXTS)
def test_terms_are_those_of_lucene(text):
    with jvm.java("analysis"):
        analyzer = jvm.load("org.apache.lucene.analysis.en.EnglishAnalyzer")()
        expected = jvm.load("io.anserini.analysis.AnalyzerUtils").analyze(analyzer, text).toArray()
    assert terms(text) == list(expected)


@given(st.text())
def test_any_text_gives_clean_terms(text):
    for term in terms(clean_index_text(text)):
        assert term
        assert not any(map(str.isspace, term))
        term.encode("utf-8")


@given(st.lists(st.text(), max_size=5))
def test_white_space_separates(texts):
    cleaned = [clean_index_text(text) for text in texts]
    assert terms(" ".join(cleaned)) == [term for text in cleaned for term in terms(text)]
