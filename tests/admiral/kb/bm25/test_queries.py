"""Unusual queries: syntax, control characters, great length, empty fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb.bm25 import BACKENDS, TEXT_WEIGHT, TITLE_WEIGHT, RowIndex, build_bm25, jvm
from admiral.kb.bm25.analysis import MAX_WORD, clean_index_text, terms
from tests.admiral.kb.bm25.conftest import numbered

DOCUMENTS = [
    ("Harbour lamp", "A lamp that stands in a harbour."),
    ("title", "contents AND lamp OR singing"),
    ("", ""),
    ("[x] </s> \x00\ud800", "\x00 \ud800 \x1f"),
    ("Only a title", ""),
]


def test_surrogates_and_controls_separate_words(backend, make):
    with make(backend, DOCUMENTS) as index:
        plain = index.search(["harbour lamp"], 10)
        assert index.search(["harbour\x00lamp\ud83d"], 10) == plain != [[]]


@pytest.mark.parametrize("backend", BACKENDS)
@given(queries=st.lists(st.text(st.characters(codec=None)), max_size=4), k=st.integers(1, 9))
def test_no_query_raises(backend, shared, queries, k):
    results = shared[backend].search(queries, k)
    assert len(results) == len(queries)
    for hits in results:
        assert len(hits) <= k
        assert all(0 <= row < len(DOCUMENTS) and score > 0 for row, score in hits)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    indexes = {}
    for backend in BACKENDS:
        directory = tmp_path_factory.mktemp("shared") / backend
        build_bm25(backend, numbered(DOCUMENTS), directory)
        indexes[backend] = RowIndex(directory)
    yield indexes
    for index in indexes.values():
        index.close()


def test_numbers_with_and_without_commas_are_the_same(backend, make):
    pairs = [("a", "1,250,000 people"), ("b", "1250000 people"), ("c", "1,25,0 people")]
    with make(backend, [*pairs, ("d", "In 1,250 of 10,000,00.")]) as index:
        for query in ("1,250,000", "1250000"):
            assert [row for row, _ in index.search([query], 5)[0]] == [0, 1]
        assert [row for row, _ in index.search(["1250"], 5)[0]] == [3]


def test_letters_with_signs_are_terms(backend, make):
    pairs = [("C", "C is old."), ("C Sharp", "C# is like C++."), ("C++", "C++ is fast.")]
    with make(backend, pairs) as index:
        found = [[row for row, _ in hits] for hits in index.search(["c++", "C#", "C"], 5)]
    assert found == [[2, 1], [1], [0, 1]]


@pytest.mark.parametrize("field", [0, 1])
def test_a_field_may_be_empty_in_all_documents(backend, make, field):
    pair = ("lamp", "") if field == 0 else ("", "lamp")
    with make(backend, [pair, ("", ""), pair]) as index:
        assert [row for row, _ in index.search(["lamp"], 1000)[0]] == [0, 2]


def test_a_field_of_weight_zero_is_not_searched(backend, make):
    with make(backend, [("lamp", "x"), ("x", "lamp")], 0.0, 1.0) as index:
        assert [row for row, _ in index.search(["lamp"], 5)[0]] == [1]


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(backend, make, k):
    with make(backend, DOCUMENTS) as index, pytest.raises(AdmiralError, match="at least 1"):
        index.search(["lamp"], k)


@pytest.mark.parametrize("pair", [(0, 0), (-1, 1), (1, float("nan")), (float("inf"), 1)])
def test_invalid_weights(backend, make, pair):
    with pytest.raises(AdmiralError, match="weight"):
        make(backend, DOCUMENTS, *pair)


def test_default_weights_equal_those_of_the_configuration():
    config = RetrievalConfig()
    assert (config.title_weight, config.text_weight) == (TITLE_WEIGHT, TEXT_WEIGHT)


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
